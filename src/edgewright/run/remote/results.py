"""What a device wrote: checked, and put where a run of this machine would have put it."""

import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from edgewright.artifacts.profile_log.reader import read_log
from edgewright.core.errors import BackendCrash, UsageError, shown
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.lower.names import NameTable

PROFILE_FILE = "qnn-profiling-data_0.log"
_RESULT = re.compile(r"Result_(\d{1,9})")


@dataclass(frozen=True)
class Times:
    """What a profile says of a run, in microseconds; zeros where nothing was measured."""

    init: int = 0
    measured: int = 0
    total: int = 0
    least: int = 0
    most: int = 0
    # From the first execution to the last, with their files.
    wall: int = 0


@contextmanager
def stage_folder(folder: Path) -> Iterator[Path]:
    """A folder whose files appear in ``folder`` at the end, or not at all."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"output folder '{shown(folder)}' is a file, expected a folder")
    # In the folder itself where it is there: it may be '.', or the root of a file system.
    place = folder if folder.is_dir() else folder.parent
    place.mkdir(parents=True, exist_ok=True)
    staged = place / f".{folder.name[:64]}.{secrets.token_hex(4)}.part"
    staged.mkdir()
    try:
        yield staged
        folder.mkdir(exist_ok=True)
        for item in sorted(staged.iterdir()):
            _replace(item, folder / item.name)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def list_results(folder: Path) -> list[Path]:
    """The folders of single runs, in their order; one that is missing in between is a failed run."""
    if not folder.is_dir():
        raise BackendCrash(
            f"the device wrote no folder '{shown(folder.name)}'", do="see what its program says"
        )
    numbered = [(match, path) for path in folder.iterdir() if (match := _RESULT.fullmatch(path.name))]
    results = [path for match, path in sorted(numbered, key=lambda pair: int(pair[0][1]))]
    for number, path in enumerate(results):
        if path.name != f"Result_{number}" or not path.is_dir():
            raise BackendCrash(f"the device wrote '{path.name}', expected a folder Result_{number}")
    return results


def read_results(folder: Path, graph: Graph, is_native: Mapping[str, bool]) -> dict[str, Array]:
    """The outputs of one run by the names of the graph, each in the type of its file."""
    spell = NameTable(graph.outputs)
    return {
        name: _read_output(folder / spell(name), graph.types[name], is_native=is_native[name])
        for name in graph.outputs
    }


def read_times(folder: Path) -> Times:
    """What the profile in a folder says."""
    file = folder / PROFILE_FILE
    if not file.is_file():
        return Times()
    log = read_log(file)
    roots = [event for event in log.events if event.level == "ROOT" and event.unit == "US"]
    setups = [event.time for event in roots if event.message in {"INIT", "COMPOSE_GRAPHS", "FINALIZE"}]
    runs = [event.time for event in roots if event.message == "EXECUTE" and event.source == "NETRUN"]
    runs = runs or [event.time for event in roots if event.message == "EXECUTE"]
    spread = min(runs, default=0), max(runs, default=0)
    return Times(sum(setups[:1]), len(runs), sum(runs), *spread, log.wall or sum(runs))


def needs_native_file(dtype: DType) -> bool:
    """Whether float32 would not hold its values."""
    return not (dtype.is_float or dtype.is_fixed_point)


def _read_output(path: Path, tensor_type: TensorType, *, is_native: bool) -> Array:
    file = path.with_name(f"{path.name}{'_native' if is_native else ''}.raw")
    dtype = tensor_type.dtype.numpy if is_native else np.dtype(np.float32)
    expected = prod(tensor_type.static_shape()) * dtype.itemsize
    size = file.stat().st_size if file.is_file() else -1
    if size != expected:
        state = "is missing" if size < 0 else f"has {size} bytes"
        raise BackendCrash(
            f"output '{shown(path.name)}' of the device {state}, expected {expected} bytes",
            do="see whether the device has the same model",
        )
    values: Array = np.fromfile(file, dtype).reshape(tensor_type.static_shape())
    return values


def _replace(item: Path, target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        old = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        target.rename(old)
        try:
            item.rename(target)
        finally:
            with suppress(OSError):
                shutil.rmtree(old)
    else:
        item.replace(target)
