"""Simulation, float model and genuine emulator on the same inputs.

``python -m benchmarks.emulator``: every model is quantized at our defaults, compiled
for each chip and run on inputs that did not calibrate.
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
from benchmarks.conditions import describe_conditions
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.peers import Feed

__all__ = ["Gap", "measure"]

CALIBRATING, EVALUATING = 100, 50
CHIPS = ("SM8650", "SM8550")
# Where the float model is this sure, the answer has to be the same.
CLEAR = 0.3

Outputs = list[dict[str, Any]]


@dataclass(frozen=True)
class Gap:
    """Decibels between three runs (means over outputs), equal answers, seconds of one run."""

    model: str
    chip: str
    float_db: float
    simulation_db: float
    is_equal: bool
    answers: tuple[int, int]
    emulator_s: float
    # Exact and fast.
    simulations_s: tuple[float, float]

    def __str__(self) -> str:
        same, clear = self.answers
        simulated = "identical" if self.is_equal else f"{self.simulation_db:.1f}"
        answers = f"{same} of {clear}" if clear else "-"
        ratios = " | ".join(f"{self.emulator_s / seconds:.0f}" for seconds in self.simulations_s)
        return (
            f"| {self.model} | {self.chip} | {self.float_db:.1f} | {simulated} | {answers} "
            f"| {self.emulator_s * 1000:.0f} | {ratios} |"
        )


def measure(task: Task, path: Path, folders: tuple[Path, ...], bits: int, count: int) -> list[Gap]:
    """One model on all chips."""
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
        gaps = []
        for chip in CHIPS:
            compiled = ew.compile(fixed, Path(folder) / f"{chip}.bin", target=chip, backend="htp-native")
            narrow = [{name: _narrowed(array) for name, array in feed.items()} for feed in feeds]
            given, emulator_s = _timed(compiled.run, narrow)
            # A binary has the names of outputs as C can spell them.
            found = [dict(zip(real[0], run.values(), strict=True)) for run in given]
            names = [name for name in real[0] if real[0][name].dtype == np.float32]
            float_db, _ = _distance(found, real, names)
            simulation_db, is_equal = _distance(found, simulated, names)
            answers = _answers(real, found, simulated, names[0])
            gaps.append(
                Gap(
                    task.name, chip, float_db, simulation_db, is_equal, answers, emulator_s, (exact_s, fast_s)
                )
            )
        return gaps


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
    """Prints a row for each model and chip as it comes, then what it comes to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of ONNX files")
    parser.add_argument("--data", action="append", type=Path, default=[], help="a folder of real data")
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    parser.add_argument("--bits", type=int, default=8, help="width of activations")
    parser.add_argument("--evaluate", type=int, default=EVALUATING, help="number of inputs")
    options = parser.parse_args()
    columns = ("model", "chip", "float to emulator dB", "simulation to emulator dB", "same clear answers")
    print(f"| {' | '.join(columns)} | emulator ms | emulator / htp-sim | emulator / htp-sim-fast |")
    print("|---|---|---|---|---|---|---|---|")
    rows: list[Gap] = []
    for task in TASKS:
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None or options.filter not in task.name:
            continue
        try:
            found = measure(task, path, tuple(options.data), options.bits, options.evaluate)
        except (FileNotFoundError, ew.EdgewrightError) as problem:
            print(f"| {task.name} | {' '.join(str(problem).split())[:300]} |", flush=True)
            continue
        rows += found
        print("\n".join(str(gap) for gap in found), flush=True)
    _verdict(rows)
    print(describe_conditions())


def _verdict(rows: Sequence[Gap]) -> None:
    if rows:
        gains = [row.simulation_db - row.float_db for row in rows]
        print(f"\nsimulation over float: {np.mean(gains):.1f} dB on average, {min(gains):.1f} at least")
        print(f"identical: {sum(row.is_equal for row in rows)} of {len(rows)}")


if __name__ == "__main__":
    main()
