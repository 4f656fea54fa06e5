"""Our CPU backend over ONNX Runtime: one thread on both sides, interleaved pairs, medians."""

import gc
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import onnxruntime

import edgewright as ew
from benchmarks.models import inputs_for

__all__ = ["Latency", "interleaved", "measure"]

PAIRS = 30
# Models of less than a millisecond are run several times for one reading.
SHORTEST_READING = 2e-3


@dataclass(frozen=True)
class Latency:
    """Medians in milliseconds: ONNX Runtime, ours as converted, ours loaded from net.json."""

    model: str
    engine_ms: float
    converted_ms: float
    loaded_ms: float | None
    difference: float

    @property
    def ratio(self) -> float:
        """Ours as converted over ONNX Runtime."""
        return self.converted_ms / self.engine_ms

    @property
    def loaded_ratio(self) -> float | None:
        """Ours loaded from net.json over ONNX Runtime."""
        return None if self.loaded_ms is None else self.loaded_ms / self.engine_ms


def measure(path: Path, pairs: int = PAIRS) -> Latency:
    """Runs the three side by side on the same inputs."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    feed = inputs_for(session)
    model = ew.convert(path)
    loaded = _loaded(model)
    calls: list[Callable[[], object]] = [lambda: session.run(None, feed), lambda: model.run(feed, threads=1)]
    if loaded is not None:
        calls.append(lambda: loaded.run(feed, threads=1))
    expected = dict(zip([item.name for item in session.get_outputs()], session.run(None, feed), strict=True))
    difference = _difference(expected, model.run(feed, threads=1))
    times = interleaved(calls, pairs)
    return Latency(path.stem, times[0], times[1], times[2] if loaded is not None else None, difference)


def _loaded(model: ew.Model) -> ew.Model | None:
    """The model after its way through net.json, where it can be saved (no open dimensions)."""
    folder = tempfile.mkdtemp()
    try:
        return ew.load(model.save(Path(folder) / "model.cpp").net_json)
    except ew.EdgewrightError:
        return None


def interleaved(calls: list[Callable[[], object]], pairs: int) -> list[float]:
    """Medians in milliseconds of calls that take turns."""
    repeats = _repeats(calls[0])
    readings: list[list[float]] = [[] for _ in calls]
    gc.disable()
    for round_number in range(pairs + 3):
        order = range(len(calls)) if round_number % 2 else reversed(range(len(calls)))
        for index in order:
            reading = _timed(calls[index], repeats)
            if round_number >= 3:
                readings[index].append(reading)
    gc.enable()
    return [median(items) * 1000 for items in readings]


def _repeats(call: Callable[[], object]) -> int:
    for _ in range(3):
        call()
    return max(1, int(SHORTEST_READING / max(_timed(call, 3), 1e-7)))


def _timed(call: Callable[[], object], repeats: int) -> float:
    """Seconds of the processor: both sides use one thread, and other work on the machine does not count."""
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def _difference(expected: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> float:
    """Largest difference relative to the output's range."""
    worst = 0.0
    for name, array in expected.items():
        if array.size:
            wide = array.astype(np.float64)
            worst = max(worst, float(np.abs(wide - found[name]).max() / max(np.ptp(wide), 1e-9)))
    return worst
