"""The state of a build between its stages: what is finished stays finished when the process ends."""

import hashlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from edgewright.build.opening import model_files
from edgewright.build.order import BuildOrder
from edgewright.build.plain import from_plain, to_json, to_plain
from edgewright.build.records import Stage
from edgewright.core.errors import UsageError
from edgewright.core.events import progress
from edgewright.core.files import write_whole
from edgewright.data.calibration_data import Data

__all__ = ["Ledger", "fingerprint", "has_state", "sha256_of", "versions"]

FOLDER, STATE = ".build", "state.json"
CHUNK = 1 << 20
# The form of the state; another one is not read.
FORM = 1
T = TypeVar("T")


class Ledger:
    """Stages that are done, with their results; each is on disk before the next one begins."""

    def __init__(
        self, output: Path, print_of: Mapping[str, str], done: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = output / FOLDER
        self._print = dict(print_of)
        self._done: dict[str, Any] = dict(done or {})
        self._resumed = frozenset(self._done)
        self.stages: list[Stage] = []

    @classmethod
    def opened(cls, order: BuildOrder, print_of: Mapping[str, str]) -> "tuple[Ledger, list[str]]":
        """The ledger of an output folder, and what was found there."""
        folder = order.output / FOLDER
        state = _state(folder)
        changed = [part for part in print_of if state.get("print", {}).get(part) != print_of[part]]
        if order.is_resumed and state and not changed:
            # Halves of files that nobody could clean up after.
            for part in folder.rglob(".*.part"):
                part.unlink(missing_ok=True)
            return cls(order.output, print_of, state["stages"]), []
        notes = []
        if order.is_resumed:
            why = f"{' and '.join(changed)} changed" if state else "there is no interrupted build"
            notes = [f"started from the beginning: {why}"]
        elif state:
            notes = ["an interrupted build was there and is started over; --resume would have continued it"]
        shutil.rmtree(folder, ignore_errors=True)
        return cls(order.output, print_of), notes

    def is_done(self, name: str) -> bool:
        """Whether a stage was finished, now or in an earlier run."""
        return name in self._done

    def stage(self, name: str, kind: type[T], work: Callable[[], T]) -> T:
        """The result of a stage: taken over where it was finished before, else worked for and kept."""
        if name in self._done:
            entry = self._done[name]
            self.stages.append(Stage(name, entry["seconds"], entry["peak_mb"], name in self._resumed))
            return from_plain(kind, entry["result"])
        began = time.monotonic()
        with progress(name):
            result = work()
        seconds, peak = time.monotonic() - began, peak_mb()
        self._done[name] = {"seconds": seconds, "peak_mb": peak, "result": to_plain(result)}
        self._keep()
        self.stages.append(Stage(name, seconds, peak))
        # As a resumed run would have it.
        return from_plain(kind, self._done[name]["result"])

    def close(self) -> None:
        """The build is whole: nothing is left to resume."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _keep(self) -> None:
        state = {"form": FORM, "print": self._print, "stages": self._done}
        write_whole(self.folder / STATE, [to_json(state)])


def fingerprint(order: BuildOrder) -> dict[str, str]:
    """What the result depends on: the model's bytes, the data, the options, the versions."""
    wishes = order.data
    options = {
        name: getattr(order, name)
        for name in ("target", "precision", "max_drop", "metric", "shapes", "outputs")
    } | {
        name: getattr(wishes, name)
        for name in ("calibration_samples", "evaluation_samples", "preprocessing", "sample_rate")
    }
    labels = wishes.labels
    held = [wishes.data, wishes.eval_data, labels if isinstance(labels, str | Path) else None]
    listed = [] if labels is None or isinstance(labels, str | Path) else list(map(int, labels))
    overrides = order.overrides
    given = Path(overrides).read_text("utf-8") if isinstance(overrides, str | Path) else str(overrides)
    return {
        "the model": _digest([*map(_content, model_files(order.model))]),
        "the data": _digest([*map(_data_print, held), str(listed)]),
        "an option": _digest([json.dumps(to_plain(options), sort_keys=True), given]),
        "a version": _digest([str(versions())]),
    }


def has_state(output: Path) -> bool:
    """Whether an interrupted build is in a folder."""
    return bool(_state(output / FOLDER))


def versions() -> tuple[tuple[str, str], ...]:
    """Packages that have a say in the result, and their versions."""
    names = ("edgewright", "numpy", "onnx", "onnxruntime", "onnxruntime-qnn")
    python = ".".join(map(str, sys.version_info[:3]))
    return (*((name, _version(name)) for name in names), ("python", python))


def sha256_of(path: Path) -> str:
    """Of a file's content, or of all files of a folder."""
    files = model_files(path) if path.is_dir() else [path]
    return _content(files[0]) if len(files) == 1 else _digest([_content(file) for file in files])


def peak_mb() -> float:
    """The largest memory of this process so far; 0 where the system does not say."""
    try:
        import resource  # not on Windows
    except ImportError:
        return 0.0
    # Kilobytes on Linux, bytes on macOS.
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


def _state(folder: Path) -> dict[str, Any]:
    """What an interrupted build left; nothing where it cannot be read."""
    try:
        found = json.loads((folder / STATE).read_bytes())
    except (OSError, ValueError):
        return {}
    is_ours = isinstance(found, dict) and found.get("form") == FORM
    return found if is_ours else {}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _data_print(data: Data | None) -> str:
    """Files by name, size and time: hashing gigabytes of images would cost more than it saves."""
    if data is None:
        return ""
    if isinstance(data, str | Path):
        path = Path(data)
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        stats = [(str(file), file.stat()) for file in files if file.is_file()]
        return _digest([f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats])
    if isinstance(data, Mapping):
        return _digest([f"{name} {_array_print(array)}" for name, array in data.items()])
    if hasattr(data, "__array__"):
        return _array_print(data)
    if isinstance(data, Sequence):
        return _digest([_data_print(item) for item in data])
    raise UsageError(
        f"the data is a {type(data).__name__}, which can be walked only once",
        do="give a list of samples, stacked arrays or a path",
    )


def _array_print(array: Any) -> str:
    plain = np.ascontiguousarray(array)
    return f"{plain.dtype} {plain.shape} {hashlib.sha256(plain.tobytes()).hexdigest()}"


def _content(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            found.update(part)
    return found.hexdigest()


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
