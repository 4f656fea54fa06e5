"""The state of a build between its stages: what is finished stays finished when the process ends."""

import hashlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from edgewright.build.records import Stage
from edgewright.build.request import BuildRequest
from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, UsageError, Where, shown
from edgewright.core.events import announce_progress
from edgewright.core.files import write_whole
from edgewright.core.json_text import parse_json
from edgewright.core.plain import from_plain, to_json, to_plain
from edgewright.data.open_samples import Data
from edgewright.evaluate.metrics.own_function import read_own_source
from edgewright.model.shared_files import list_model_files
from edgewright.tasks.versions import list_versions

FOLDER, STATE = ".build", "state.json"
CHUNK = 1 << 20
# The form of the state; another one is not read.
FORM = 4
T = TypeVar("T")


@dataclass(frozen=True)
class _Entry:
    """A stage that was finished: its time, its peak of memory, its passes over the samples, its result."""

    seconds: float
    peak_mb: float
    passes: float
    result: Any


class Ledger:
    """Finished stages with their results; each is on disk before the next one starts."""

    def __init__(
        self, output: Path, fingerprint: Mapping[str, str], finished: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = output / FOLDER
        self._fingerprint = dict(fingerprint)
        self._finished: dict[str, Any] = dict(finished or {})
        self._resumed = frozenset(self._finished)
        self.stages: list[Stage] = []
        # What a stage has run, in passes over the samples.
        self._count_passes: Callable[[str], float] = lambda _: 0.0

    @property
    def resumed(self) -> tuple[str, ...]:
        """The stages that were taken over, in their order."""
        return tuple(name for name in self._finished if name in self._resumed)

    def count_passes_with(self, count: Callable[[str], float]) -> None:
        """Has the passes of a stage counted from now on."""
        self._count_passes = count

    @classmethod
    def open(cls, request: BuildRequest, fingerprint: Mapping[str, str]) -> "tuple[Ledger, list[str]]":
        """The ledger of an output folder, and notes about an interrupted build there."""
        folder = request.output / FOLDER
        state = _read_state(folder)
        changed = [part for part in fingerprint if state.get("print", {}).get(part) != fingerprint[part]]
        if request.is_resumed and state and not changed:
            # Partial files of a process that was killed.
            for part in folder.rglob(".*.part"):
                part.unlink(missing_ok=True)
            return cls(request.output, fingerprint, state["stages"]), []
        notes = []
        if request.is_resumed:
            why = f"{' and '.join(changed)} changed" if state else "there is no interrupted build"
            notes = [f"started from the beginning: {why}"]
        elif state:
            option = spell_option("resume")
            notes = [f"an interrupted build was there and is started over; {option} would have continued it"]
        shutil.rmtree(folder, ignore_errors=True)
        return cls(request.output, fingerprint), notes

    def run_stage(self, name: str, kind: type[T], work: Callable[[], T]) -> T:
        """The result of a stage; one that an earlier run finished is not computed again."""
        if name in self._finished:
            entry = from_plain(_Entry, self._finished[name])
            is_resumed = name in self._resumed
            self.stages.append(Stage(name, entry.seconds, entry.peak_mb, is_resumed, entry.passes))
            return self._take_result(name, kind)
        start = time.monotonic()
        with announce_progress(name):
            result = work()
        seconds, peak, passes = time.monotonic() - start, read_peak_memory(), self._count_passes(name)
        self._finished[name] = {
            "seconds": seconds,
            "peak_mb": peak,
            "passes": passes,
            "result": to_plain(result),
        }
        self._save()
        self.stages.append(Stage(name, seconds, peak, passes=passes))
        # As a resumed run would have it.
        return from_plain(kind, self._finished[name]["result"])

    def _take_result(self, name: str, kind: type[T]) -> T:
        """What a stage of an earlier run left, which anyone may have changed meanwhile."""
        try:
            return from_plain(kind, self._finished[name]["result"])
        except (ValueError, TypeError, KeyError) as problem:
            raise BadInput(
                f"the result of stage '{shown(name)}' is damaged: {shown(problem, 200)}",
                Where(file=str(self.folder / STATE)),
                do=f"build again without {spell_option('resume')}",
            ) from None

    def close(self) -> None:
        """Nothing is left to resume: the build is complete, or cannot be done at all."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _save(self) -> None:
        state = {"form": FORM, "print": self._fingerprint, "stages": self._finished}
        write_whole(self.folder / STATE, [to_json(state)])


def take_fingerprint(request: BuildRequest) -> dict[str, str]:
    """What the result depends on: the model's bytes, the data, the options, the versions."""
    data = request.data
    options = {
        name: getattr(request, name)
        for name in ("target", "precision", "max_drop", "metric", "shapes", "outputs")
    } | {
        name: getattr(data, name)
        for name in ("calibration_samples", "evaluation_samples", "preprocessing", "sample_rate")
    }
    labels = data.labels
    sources = [data.data, data.eval_data, labels if isinstance(labels, str | Path) else None]
    held = () if labels is None or isinstance(labels, str | Path) else labels
    numbers = [_hash_label(each) for each in held]
    metric = read_own_source(request.metric)
    overrides = request.overrides
    given = Path(overrides).read_text("utf-8") if isinstance(overrides, str | Path) else str(overrides)
    return {
        "the model": _hash_texts([*map(_hash_file, list_model_files(request.model))]),
        "the data": _hash_texts([*map(_hash_data, sources), str(numbers)]),
        "an option": _hash_texts([json.dumps(to_plain(options), sort_keys=True), given, metric]),
        "a version": _hash_texts([str(list_versions())]),
    }


def has_state(output: Path) -> bool:
    """Whether an interrupted build is in a folder."""
    return bool(_read_state(output / FOLDER))


def hash_model(path: Path) -> str:
    """Of a file's content, or of all files of a folder."""
    files = list_model_files(path) if path.is_dir() else [path]
    return _hash_file(files[0]) if len(files) == 1 else _hash_texts([_hash_file(file) for file in files])


def read_peak_memory() -> float:
    """The largest memory of this process so far; 0 where the system does not say."""
    try:
        import resource  # not on Windows
    except ImportError:
        return 0.0
    # Kilobytes on Linux, bytes on macOS.
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


def _read_state(folder: Path) -> dict[str, Any]:
    """The state of an interrupted build; empty where it cannot be read."""
    try:
        state = parse_json((folder / STATE).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(state, dict) or state.get("form") != FORM:
        return {}
    try:
        from_plain(dict[str, str], state.get("print"))
        from_plain(dict[str, _Entry], state.get("stages"))
    except (ValueError, TypeError):
        return {}
    return state


def _hash_data(data: Data | None) -> str:
    """Files by name, size and time: hashing gigabytes of images would cost more than it saves."""
    if data is None:
        return ""
    if isinstance(data, str | Path):
        path = Path(data)
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        stats = [(str(file), file.stat()) for file in files if file.is_file()]
        return _hash_texts([f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats])
    if isinstance(data, Mapping):
        return _hash_texts([f"{name} {_hash_array(array)}" for name, array in data.items()])
    if hasattr(data, "__array__"):
        return _hash_array(data)
    if isinstance(data, Sequence):
        return _hash_texts([_hash_data(item) for item in data])
    raise UsageError(
        f"the data is a {type(data).__name__}, which can be walked only once",
        do="give a list of samples, stacked arrays or a path",
    )


def _hash_label(label: object) -> str:
    return label if isinstance(label, str) else _hash_array(label)


def _hash_array(array: Any) -> str:
    plain = np.ascontiguousarray(array)
    return f"{plain.dtype} {plain.shape} {hashlib.sha256(plain.tobytes()).hexdigest()}"


def _hash_file(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            digest.update(part)
    return digest.hexdigest()


def _hash_texts(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
