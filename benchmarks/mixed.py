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
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.tables import Table, add_write_option
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
# The models, and how many samples judge each.
INPUTS = {
    "mnist_cntk": 1000,
    "rnet": 400,
    "onet": 400,
    "g2p_id_bert_mlm": 400,
    "ch_ppocr_mobile_v2.0_cls_infer": 200,
    "magika_v3_3": 100,
    "mobilenet_v2_imagenet": 128,
}
COLUMNS = ("w8a8", "w8a8+algorithms", "mixed", "w8a16", "fp16")
# The ranking that others are held against: every part on each of so many samples.
TRUE_SAMPLES = 16
THOROUGH = Effort(passes=1 << 20, runs=TRUE_SAMPLES)


def main() -> None:
    """Prints the candidates of each model, then the table."""
    options = _options()
    table = Table("mixed", ("model", "N", *COLUMNS, "chosen", "passes", "rank"), options)
    for task in (task for task in TASKS if task.name in INPUTS and options.filter in task.name):
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None:
            continue
        try:
            count = options.evaluate or INPUTS[task.name]
            builder = prepare_builder(task, path, tuple(options.data), options.calibrate, count)
        except FileNotFoundError as missing:
            print(f"{task.name}: left out, {missing}", flush=True)
            continue
        cells = _list_cells(_search(builder))
        table.add(f"{task.name} ({builder.evaluator.metric.name})", count, *cells, *_rank(builder))
    table.finish()


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


def _list_cells(candidates: Sequence[Candidate]) -> list[str]:
    """Points and cost of each precision, the chosen one bold, and its name."""
    chosen = next(candidate.name for candidate in candidates if candidate.is_chosen)
    cells = {each.name: f"{each.drop:.2f} at {each.cost:.2f}" for each in candidates}
    return [*(f"**{cells[name]}**" if name == chosen else cells[name] for name in COLUMNS), chosen]


def _rank(builder: CandidateBuilder) -> tuple[str, str]:
    """Passes of the quick sensitivity, and its rank correlation with that of each part on many samples."""
    executor, samples = CpuExecutor(1), builder.samples.calibration
    base = quantize_graph(builder.source, QuantizationRequest(per_row=True), samples, executor)
    calibrated = Calibrated(base, samples, executor)
    _, quick = measure_effects(calibrated, samples, executor)
    graph, few = calibrated.graph, samples.select(TRUE_SAMPLES)
    values = list_watched_values(graph)
    slow = measure_sensitivity(graph, list_probes(calibrated), values, few, executor, THOROUGH)
    pairs = np.array([(quick.effects[name], effect) for name, effect in slow.effects.items()])
    orders = pairs.argsort(0).argsort(0)
    return f"{quick.passes:.1f}", f"{np.corrcoef(orders.T)[0, 1]:.2f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--calibrate", type=int, default=36, help="samples that calibrate")
    parser.add_argument("--evaluate", type=int, help="samples that judge, if other than those of the table")
    add_write_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
