"""Simulation, float model and genuine emulator on the same inputs.

``python -m benchmarks.emulator``: every model is quantized at our defaults, compiled
for the first chip and run on inputs that did not calibrate; the other chip runs some of them.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import edgewright as ew
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.peers import Feed
from benchmarks.tables import Table, add_write_option

__all__ = ["Gap", "measure"]

CALIBRATING, EVALUATING = 100, 50
CHIP, OTHER_CHIP = "SM8650", "SM8550"
# Whether both chips give the same outputs is looked at with so many inputs.
ALIKE = 10
COLUMNS = (
    "model",
    "float to emulator dB",
    "simulation to emulator dB",
    "same answers",
    OTHER_CHIP,
    "ms of emulator, htp-sim, htp-sim-fast",
)
# Where the float model is this sure, the answer has to be the same.
CLEAR = 0.3

Outputs = list[dict[str, Any]]


@dataclass(frozen=True)
class Gap:
    """Decibels between three runs (means over outputs), equal answers, seconds of one run."""

    model: str
    float_db: float
    simulation_db: float
    is_equal: bool
    answers: tuple[int, int]
    are_chips_alike: bool
    # Of the emulator and both simulations, exact and fast.
    seconds: tuple[float, float, float]

    def list_cells(self) -> list[str]:
        """The row of the table."""
        same, clear = self.answers
        return [
            self.model,
            f"{self.float_db:.1f}",
            "**the same integers**" if self.is_equal else f"{self.simulation_db:.1f}",
            f"{same} of {clear}" if clear else "-",
            "the same" if self.are_chips_alike else "**differs**",
            ", ".join(f"{1000 * seconds:.1f}" for seconds in self.seconds),
        ]


def measure(task: Task, path: Path, folders: tuple[Path, ...], bits: int, count: int) -> Gap:
    """One model on the first chip, and some of its inputs on the other."""
    calibrating = list(task.feeds(Material(folders, is_calibrating=True), CALIBRATING, task, path))
    feeds = list(task.feeds(Material(folders), count, task, path))
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.onnx"
        onnx.save(prepared(task, path, feeds[0]), model)
        source = ew.convert(model)
        fixed = ew.quantize(source, calibrating, act_bw=bits)
        real = [source.run(feed) for feed in feeds]
        simulated, exact_s = _timed(lambda feed: fixed.run(feed, backend="htp-sim", threads=1), feeds)
        _, fast_s = _timed(lambda feed: fixed.run(feed, backend="htp-sim-fast", threads=1), feeds)
        found, emulator_s = _emulate(fixed, CHIP, feeds, list(real[0]))
        others, _ = _emulate(fixed, OTHER_CHIP, feeds[:ALIKE], list(real[0]))
    names = [name for name in real[0] if real[0][name].dtype == np.float32]
    float_db, _ = _distance(found, real, names)
    simulation_db, is_equal = _distance(found, simulated, names)
    answers = _answers(real, found, simulated, names[0])
    _, are_alike = _distance(found[:ALIKE], others, names)
    seconds = (emulator_s, exact_s, fast_s)
    return Gap(task.name, float_db, simulation_db, is_equal, answers, are_alike, seconds)


def _emulate(
    model: ew.QuantizedModel, chip: str, feeds: Sequence[Feed], names: Sequence[str]
) -> tuple[Outputs, float]:
    """Outputs of a binary for this chip, and seconds of a run."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = ew.compile(model, Path(folder) / "model.bin", target=chip, backend="htp-native")
        narrow = [{name: _narrowed(array) for name, array in feed.items()} for feed in feeds]
        given, seconds = _timed(compiled.run, narrow)
    # A binary has the names of outputs as C can spell them.
    return [dict(zip(names, run.values(), strict=True)) for run in given], seconds


def _narrowed(array: Any) -> Any:
    """Whole numbers as a chip has them."""
    return array.astype(np.int32) if array.dtype == np.int64 else array


def _timed(run: Callable[[Feed], Any], feeds: Sequence[Feed]) -> tuple[Outputs, float]:
    run(feeds[0])
    began = time.perf_counter()
    return [run(feed) for feed in feeds], (time.perf_counter() - began) / len(feeds)


def _distance(found: Outputs, others: Outputs, names: Sequence[str]) -> tuple[float, bool]:
    decibels, noises = [], []
    for name in names:
        first = np.stack([run[name].reshape(-1) for run in found]).astype(np.float64)
        second = np.stack([run[name].reshape(-1) for run in others]).astype(np.float64)
        signal, noise = float(np.square(first).sum()), float(np.square(first - second).sum())
        noises.append(noise)
        decibels.append(10 * np.log10(signal / max(noise, signal * 1e-12)) if signal else 120.0)
    return float(np.mean(decibels)), not any(noises)


def _answers(real: Outputs, found: Outputs, simulated: Outputs, name: str) -> tuple[int, int]:
    """How often emulator and simulation name the same class, of the inputs with a clear one."""
    same = clear = 0
    for truth, first, second in zip(real, found, simulated, strict=True):
        scores = truth[name].reshape(-1)
        if scores.size < 2:
            continue
        top = np.sort(scores)[-2:]
        if top[1] - top[0] < CLEAR:
            continue
        clear += 1
        same += int(first[name].argmax() == second[name].argmax())
    return same, clear


def main() -> None:
    """Prints a row for each model as it comes, then what it comes to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of ONNX files")
    parser.add_argument("--data", action="append", type=Path, default=[], help="a folder of real data")
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    parser.add_argument("--bits", type=int, default=8, help="width of activations")
    parser.add_argument("--evaluate", type=int, default=EVALUATING, help="number of inputs")
    add_write_option(parser)
    options = parser.parse_args()
    table, gaps = Table("emulator", COLUMNS, options), list[Gap]()
    for task in TASKS:
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None or options.filter not in task.name:
            continue
        try:
            gap = measure(task, path, tuple(options.data), options.bits, options.evaluate)
        except FileNotFoundError as missing:
            print(f"{task.name}: left out, {missing}", flush=True)
        except ew.EdgewrightError as problem:
            table.add(task.name, "-", f"refused: {problem.what}", "-", "-", "-")
        else:
            table.add(*gap.list_cells())
            gaps.append(gap)
    table.finish(_sum_up(gaps))


def _sum_up(gaps: Sequence[Gap]) -> str:
    equal = sum(gap.is_equal for gap in gaps)
    behind = [gap.model for gap in gaps if not gap.is_equal and gap.simulation_db < gap.float_db]
    return (
        f"{equal} of {len(gaps)} have the emulator's integers; nearer to the float model than to the "
        f"simulation: {', '.join(behind) or 'none'}."
    )


if __name__ == "__main__":
    main()
