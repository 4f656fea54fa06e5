"""The options of qnn-model-lib-generator."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup


def _parse_targets(text: str) -> tuple[str, ...]:
    """Targets separated by spaces, as the SDK's tool takes them, or by commas."""
    found = tuple(text.replace(",", " ").split())
    if not found:
        raise ValueError("targets separated by spaces, as in 'x86_64-linux-clang aarch64-android'")
    return found


@dataclass(frozen=True)
class LibrarySource(OptionGroup):
    """What is compiled."""

    title = "Model"

    cpp: str = opt("-c", metavar="FILE", help="the model's .cpp, as a converter wrote it")
    bin: str | None = opt("-b", metavar="FILE", help="the model's .bin with its weights")


@dataclass(frozen=True)
class LibraryOutput(OptionGroup):
    """Which libraries are made."""

    title = "Libraries"

    targets: tuple[str, ...] = opt(
        "-t",
        type=_parse_targets,
        metavar="TARGETS",
        example="-t 'x86_64-linux-clang aarch64-ubuntu-gcc9.4'",
        help="targets separated by spaces in one word; without it x86_64-linux-clang and aarch64-android, "
        "as far as this machine can build them",
    )
    lib_name: str | None = opt("-l", metavar="NAME", help="name of the library; the source's name otherwise")
    output_dir: str = opt(
        "-o",
        default="./lib",
        metavar="FOLDER",
        help="where libraries go, as FOLDER/TARGET/libNAME.so; FILE.so is the one file of one target",
    )
    target_backends: str | None = opt(
        metavar="NAMES",
        without_effect="a model library is the same for every backend",
        help="backends that the library is for",
    )


MODEL_LIBRARY: tuple[type[OptionGroup], ...] = (LibrarySource, LibraryOutput)
