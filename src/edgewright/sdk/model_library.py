"""Makes model libraries, as qnn-model-lib-generator does."""

import re
import time
from dataclasses import dataclass
from pathlib import Path

from edgewright.artifacts.model_library.builder import ModelSource, build_library, find_model_source
from edgewright.artifacts.model_library.toolchains import (
    DEFAULT_TARGETS,
    NoToolchain,
    Toolchain,
    find_toolchain,
)
from edgewright.config.model_library import LibraryOutput, LibrarySource
from edgewright.core.errors import EnvironmentProblem, UsageError, shown
from edgewright.core.events import announce_progress
from edgewright.core.files import keep_sources, measure_file

_LIBRARY = ".so"


@dataclass(frozen=True)
class BuiltLibrary:
    """A model library that was written."""

    file: str
    target: str
    compiler: str
    bytes: int
    seconds: float


@dataclass(frozen=True)
class BuiltLibraries:
    """What was built, and which targets were left out for which reason."""

    libraries: tuple[BuiltLibrary, ...]
    skipped: tuple[str, ...] = ()


def generate_libraries(source: LibrarySource, output: LibraryOutput) -> BuiltLibraries:
    """Builds a library for each target that this machine can build for.

    A target that was named and cannot be built is an error, after the others were built.
    """
    toolchains = [find_toolchain(target) for target in dict.fromkeys(output.targets or DEFAULT_TARGETS)]
    model = find_model_source(Path(source.cpp), None if source.bin is None else Path(source.bin))
    chains = [chain for chain in toolchains if isinstance(chain, Toolchain)]
    lacking = [chain for chain in toolchains if isinstance(chain, NoToolchain)]
    places = {chain: _place(output, chain.target, _name(output, model), len(chains)) for chain in chains}
    keep_sources([path for path in (model.cpp, model.bin) if path is not None], places.values())
    with announce_progress("compile", len(places)) as step:
        built = []
        for chain, place in places.items():
            built.append(_build_library(model, chain, place))
            step()
    if lacking and (output.targets or not built):
        raise _make_error(lacking, built)
    return BuiltLibraries(tuple(built), tuple(f"{lack.target}: {lack.reason}" for lack in lacking))


def _build_library(model: ModelSource, chain: Toolchain, place: Path) -> BuiltLibrary:
    started = time.perf_counter()
    build_library(model, chain, place)
    seconds = time.perf_counter() - started
    return BuiltLibrary(str(place), chain.target, chain.compiler, measure_file(place), seconds)


def _name(output: LibraryOutput, model: ModelSource) -> str:
    # Notes of the guide: the source's name, and 'qnn_model' where that is none.
    name = output.lib_name or re.sub(r"[^A-Za-z0-9_.-]", "_", model.cpp.stem) or "qnn_model"
    if Path(name).name != name or name in {".", ".."}:
        raise UsageError(f"'{shown(name)}' is a path, expected the name of a library", do="give it by -o")
    return name


def _place(output: LibraryOutput, target: str, name: str, count: int) -> Path:
    """The course names one file; the guide a folder with one for each target."""
    folder = Path(output.output_dir)
    if folder.suffix != _LIBRARY or folder.is_dir():
        return folder / target / f"lib{name}{_LIBRARY}"
    if count > 1:
        raise UsageError(
            f"-o names one file '{shown(folder)}', but {count} targets are built",
            do="name a folder, or one target with -t",
        )
    return folder


def _make_error(lacking: list[NoToolchain], built: list[BuiltLibrary]) -> EnvironmentProblem:
    reasons = "; ".join(f"{lack.target}: {lack.reason}" for lack in lacking)
    files = ", ".join(library.file for library in built)
    return EnvironmentProblem(
        f"{len(lacking)} of {len(lacking) + len(built)} targets cannot be built here: {reasons}"
        + (f" (built: {files})" if files else ""),
        do="; ".join(dict.fromkeys(lack.do for lack in lacking)),
    )
