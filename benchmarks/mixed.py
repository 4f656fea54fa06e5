"""Mixed precision against uniform ones: points lost and cost in bits x MACs, and how well sensitivity ranks.

``python -m benchmarks.mixed``; --models DIR --data DIR name other folders than .cache/bench.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

import edgewright as ew
from benchmarks.accuracy import folders_of
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.conditions import describe_conditions
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from edgewright.backends.executor import CpuExecutor
from edgewright.build.candidate_builder import CandidateBuilder
from edgewright.build.candidates import (
    CandidateResult,
    SearchLimit,
    choose_candidate,
    find_mixed_base,
    list_candidates,
)
from edgewright.build.records import Candidate
from edgewright.data.samples import DataRequest, read_samples
from edgewright.evaluate.choose_metric import choose_metric
from edgewright.evaluate.evaluator import Evaluator
from edgewright.quantize.mixed.calibrated import Calibrated
from edgewright.quantize.mixed.cheapest import list_probes, list_watched_values, measure_effects
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.sensitivity import Effort, measure_sensitivity

__all__ = ["prepare_builder"]

LIMIT = 1.0
COLUMNS = ("w8a8", "w8a8+algorithms", "mixed", "w8a16", "fp16")
# The ranking that others are held against: every part on each of so many samples.
TRUE_SAMPLES = 16
THOROUGH = Effort(passes=1 << 20, runs=TRUE_SAMPLES)


def main() -> None:
    """Prints the candidates of each model, then the table."""
    options = _options()
    rows = []
    for task in TASKS:
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None or not any(word in task.name for word in options.filter.split(",")):
            continue
        try:
            builder = prepare_builder(task, path, tuple(options.data), options.calibrate, options.evaluate)
        except FileNotFoundError as missing:
            print(f"{task.name}: left out, {missing}")
            continue
        print(f"{task.name}: {builder.evaluator.metric.name}", flush=True)
        if options.only != "ranks":
            rows.append(_row(task.name, _search(builder)))
        if options.only != "candidates":
            print(f"  rank correlation {_ranks(builder):.3f}", flush=True)
    print("\n".join([f"| model | {' | '.join(COLUMNS)} | chosen |", "|---" * 7 + "|", *rows]))
    print(describe_conditions())


def prepare_builder(
    task: Task, path: Path, folders: tuple[Path, ...], calibrate: int, evaluate: int
) -> CandidateBuilder:
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
    samples = read_samples(graph, DataRequest(data=feeds, eval_data=apart, labels=labels))
    metric = choose_metric(graph, samples.labels)
    evaluator = Evaluator(graph, samples.judging, metric)
    return CandidateBuilder(graph, frozenset(model.source_tensors), samples, evaluator, LIMIT)


def _search(builder: CandidateBuilder) -> Sequence[Candidate]:
    """Every candidate, also those that a build would leave out, one of them chosen."""
    results: list[CandidateResult] = []
    for name in list_candidates("auto"):
        _, result = builder.build(name, find_mixed_base(results, SearchLimit(LIMIT)))
        results.append(result)
        candidate = result.candidate
        figures = f"{candidate.drop:6.2f} points {candidate.sqnr_db:5.1f} dB  cost {candidate.cost:.2f}"
        size = f"{candidate.weight_bytes / 1e3:.0f} kB {candidate.seconds:.0f} s"
        print(f"  {name:16s} {figures}  {size}  {candidate.text}", flush=True)
        for note in candidate.notes[:2] if name == "mixed" else ():
            print(f"    {note}")
    return [result.candidate for result in choose_candidate(results, LIMIT)]


def _row(model: str, candidates: Sequence[Candidate]) -> str:
    cells = {each.name: f"{each.drop:.2f} at {each.cost:.2f}" for each in candidates}
    chosen = next(candidate.name for candidate in candidates if candidate.is_chosen)
    return f"| {model} | {' | '.join(cells[name] for name in COLUMNS)} | {chosen} |"


def _ranks(builder: CandidateBuilder) -> float:
    """Rank correlation between the quick sensitivity and the one of each part on many samples."""
    executor, samples = CpuExecutor(1), builder.samples.calibration
    base = quantize_graph(builder.source, QuantizationRequest(per_row=True), samples, executor)
    calibrated = Calibrated(base, samples, executor)
    _, quick = measure_effects(calibrated, samples, executor)
    print(f"  sensitivity of {len(quick.effects)} parts: {quick.runs} runs, {quick.passes:.1f} passes")
    graph, few = calibrated.graph, samples.select(TRUE_SAMPLES)
    values = list_watched_values(graph)
    slow = measure_sensitivity(graph, list_probes(calibrated), values, few, executor, THOROUGH)
    pairs = np.array([(quick.effects[name], effect) for name, effect in slow.effects.items()])
    orders = pairs.argsort(0).argsort(0)
    return float(np.corrcoef(orders.T)[0, 1])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--calibrate", type=int, default=48, help="samples that calibrate")
    parser.add_argument("--evaluate", type=int, default=200, help="samples that judge")
    parser.add_argument("--only", choices=("candidates", "ranks"), help="one of the two measurements")
    return parser.parse_args()


if __name__ == "__main__":
    main()
