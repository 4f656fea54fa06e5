"""Mixed precision against uniform ones: points lost and cost in bits x MACs, and how well sensitivity ranks.

``python -m benchmarks.mixed --models DIR --data DIR``; without folders, on the digits of the repository.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx

import edgewright as ew
from benchmarks.accuracy import folders_of
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.data import Material
from benchmarks.models import EXAMPLES
from edgewright.analyse.evaluate import Evaluator
from edgewright.analyse.metric import choose_metric
from edgewright.backends.executor import CpuExecutor
from edgewright.build.ladder import climb
from edgewright.build.records import Rung
from edgewright.build.rungs import Tried, Workbench
from edgewright.data.samples import DataWishes, build_samples
from edgewright.ir.graph import Graph
from edgewright.quantize.mixed.calibrated import Calibrated
from edgewright.quantize.mixed.cheapest import effects_of, probes_of, watched_values
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.sensitivity import Effort, sensitivity

__all__ = ["workbench"]

LIMIT = 1.0
# The ranking that others are held against: every part on each of so many samples.
TRUE_SAMPLES = 16
THOROUGH = Effort(passes=1 << 20, runs=TRUE_SAMPLES)


def main() -> None:
    """Prints the ladder of each model, then the table."""
    options = _options()
    rows = []
    for task in TASKS:
        path = task.find([*options.models, EXAMPLES])
        if path is None or not any(word in task.name for word in options.filter.split(",")):
            continue
        try:
            bench = workbench(task, path, tuple(options.data), options.calibrate, options.evaluate)
        except FileNotFoundError as missing:
            print(f"{task.name}: left out, {missing}")
            continue
        print(f"{task.name}: {bench.evaluator.metric.name}", flush=True)
        if options.only != "ranks":
            rows.append(_row(task.name, _climbed(bench)))
        if options.only != "ladder":
            print(f"  rank correlation {_ranks(bench):.3f}", flush=True)
    print("\n".join(["| model | w8a8 | w8a8+algorithms | mixed | w8a16 | fp16 | chosen |", *rows]))


def workbench(task: Task, path: Path, folders: tuple[Path, ...], calibrate: int, evaluate: int) -> Workbench:
    """A model with samples that calibrate and others that judge, as a build has them."""
    known, others = Material(folders, is_calibrating=True), Material(folders)
    feeds = list(task.feeds(known, calibrate, task, path))
    apart = list(task.feeds(others, evaluate, task, path))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{task.name}.onnx"
        onnx.save(prepared(task, path, feeds[0]), file)
        model = ew.convert(file)
        graph = model.fixed_graph()
        graph.constants = {name: np.array(array) for name, array in graph.constants.items()}
    labels = others.labels(len(apart)) if "mnist" in task.name else None
    samples = build_samples(graph, DataWishes(data=feeds, eval_data=apart, labels=labels))
    metric = choose_metric(graph, samples.labels)
    judge = Evaluator(graph, samples, metric)
    return Workbench(graph, frozenset(model.source_tensors), samples, judge, LIMIT)


def _climbed(bench: Workbench) -> Sequence[Rung]:
    def step(name: str, work: Callable[[], tuple[Graph, Tried]]) -> Tried:
        _, tried = work()
        rung = tried.rung
        print(f"  {name:16s} {rung.drop:6.2f} points {rung.sqnr_db:5.1f} dB  cost {rung.cost:.2f}", end="")
        print(f"  {rung.weight_bytes / 1e3:.0f} kB {rung.seconds:.0f} s  {rung.text}", flush=True)
        for note in rung.notes[:2] if name == "mixed" else ():
            print(f"    {note}")
        return tried

    return [tried.rung for tried in climb(bench, "auto", LIMIT, step)]


def _row(name: str, rungs: Sequence[Rung]) -> str:
    cells = [f"{rung.drop:.2f} at {rung.cost:.2f}" for rung in rungs]
    chosen = next(rung.name for rung in rungs if rung.is_chosen)
    return f"| {name} | {' | '.join(cells)} | {chosen} |"


def _ranks(bench: Workbench) -> float:
    """Rank correlation between the quick sensitivity and the one of each part on many samples."""
    executor, samples, request = CpuExecutor(1), bench.samples.calibration, QuantizationRequest(per_row=True)
    base = quantize_graph(bench.source, request, samples, executor)
    calibrated = Calibrated(base, samples, executor)
    _, quick = effects_of(calibrated, samples, executor)
    print(f"  sensitivity of {len(quick.effects)} parts: {quick.runs} runs, {quick.passes:.1f} passes")
    graph, few = calibrated.graph, samples.first(TRUE_SAMPLES)
    values = watched_values(graph)
    slow = sensitivity(graph, probes_of(calibrated), values, few, executor, THOROUGH)
    pairs = np.array([(quick.effects[name], effect) for name, effect in slow.effects.items()])
    orders = pairs.argsort(0).argsort(0)
    return float(np.corrcoef(orders.T)[0, 1])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--calibrate", type=int, default=48, help="samples that calibrate")
    parser.add_argument("--evaluate", type=int, default=200, help="samples that judge")
    parser.add_argument("--only", choices=("ladder", "ranks"), help="one of the two measurements")
    return parser.parse_args()


if __name__ == "__main__":
    main()
