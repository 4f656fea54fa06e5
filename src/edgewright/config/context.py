"""The options of the commands about context binaries, targets and error codes."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Excludes


def _parse_version(text: str) -> tuple[int, ...]:
    parts = text.removeprefix("v").split(".")
    if not 2 <= len(parts) <= 4 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError("a version such as 2.40 or 2.40.0")
    return tuple(int(part) for part in parts)


@dataclass(frozen=True)
class CodeName(OptionGroup):
    """Which code is meant."""

    title = "Code"

    code: str | None = opt(
        "CODE", help="a code of QNN (1002, 0x3ea), of Edgewright (bad-input) or an exit code; all without it"
    )


@dataclass(frozen=True)
class TargetName(OptionGroup):
    """Which chip is meant."""

    title = "Target"

    name: str | None = opt(
        "NAME",
        help="a chip (SM8650, 'Snapdragon 8 Gen 3'), a device ('Galaxy S24'), an architecture (v75) or a SoC "
        "number; all chips without it",
    )


@dataclass(frozen=True)
class Target(OptionGroup):
    """What a context is compiled for."""

    title = "Target"

    target: str | None = opt(
        metavar="CHIP",
        example="--target SM8650",
        help="the chip to compile for: SM8650, 'Snapdragon 8 Gen 3', v75 or a SoC number; edgewright targets "
        "lists them",
    )


DEVICE_VERSION = opt(
    type=_parse_version,
    metavar="X.Y",
    example="--device_version 2.40",
    help="the version of the QNN libraries on the device, for a context binary",
)


@dataclass(frozen=True)
class EpContext(OptionGroup):
    """The ONNX file around a context binary."""

    title = "ONNX wrapper"
    rules = (Excludes("--embed", "--copy"),)

    context_binary: str = opt("BINARY", help="a context binary of the genuine HTP library")
    output_path: str | None = opt(
        also="-o",
        metavar="FILE",
        help="the ONNX file to write, in the folder of the binary; named after it otherwise",
    )
    graph: str | None = opt(metavar="NAME", help="the graph to run, where the binary has several")
    embed: bool = opt(help="put the binary into the ONNX file")
    copy: bool = opt(help="copy the binary beside the ONNX file in another folder")
    float_io: bool = opt(
        help="inputs and outputs of fixed point and half precision are float32, converted on the CPU"
    )


@dataclass(frozen=True)
class ContextFile(OptionGroup):
    """The context binary to describe."""

    title = "Context binary"

    context_binary: str = opt(metavar="FILE", help="the context binary to read and validate")
    json_file: str | None = opt(
        metavar="FILE", help="write the description there as JSON; its folder must exist"
    )
