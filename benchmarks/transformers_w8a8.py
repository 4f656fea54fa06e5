"""Transformers in w8a8: what values that stay in 16 bits bring, and what they cost.

``python -m benchmarks.transformers_w8a8``; --models DIR --data DIR name other folders than .cache/bench.
"""

import argparse
import tempfile
from pathlib import Path

import onnx

import edgewright as ew
from benchmarks.accuracy import CALIBRATING, EVALUATING, folders_of
from benchmarks.accuracy_metrics import outputs_of, scored
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.tables import Table, add_write_option
from edgewright.quantize.cost import compute_relative_cost

__all__ = ["main"]

NAMES = (
    *("g2p_id_bert_mlm", "phi3_tiny_dynamo", "whisper_encoder", "tinyphi"),
    *("vit_tiny", "paraphrase-MiniLM-L3-v2"),
)


def main() -> None:
    """Prints a row for each model: dB at our defaults, their cost, dB with all activations in 8 bits."""
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    add_write_option(parser)
    options = parser.parse_args()
    table = Table("transformers", ("model", "edgewright dB", "cost", "uniform 8 bits dB"), options)
    for task in (task for task in TASKS if task.name in NAMES and options.filter in task.name):
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None:
            print(f"{task.name}: left out, there is no such file", flush=True)
            continue
        ours, cost, uniform = _measure(task, path, tuple(options.data))
        table.add(task.name, f"{ours:.1f}", f"{cost:.2f}", f"{uniform:.1f}")
    table.finish()


def _measure(task: Task, path: Path, folders: tuple[Path, ...]) -> tuple[float, float, float]:
    feeds = list(task.feeds(Material(folders, is_calibrating=True), CALIBRATING, task, path))
    inputs = list(task.feeds(Material(folders), EVALUATING, task, path))
    with tempfile.TemporaryDirectory() as folder:
        model, target = Path(folder) / "model.onnx", Path(folder) / "fixed.onnx"
        onnx.save(prepared(task, path, inputs[0]), model)
        expected, source = outputs_of(model, inputs), ew.convert(model)
        decibels, costs = [], []
        for is_uniform in (False, True):
            quantized = ew.quantize(source, feeds, uniform=is_uniform, threads=1)
            quantized.save(target)
            decibels.append(scored(expected, outputs_of(target, inputs)).sqnr_db)
            costs.append(compute_relative_cost(quantized.fixed_graph(), source.fixed_graph()))
    return decibels[0], costs[0], decibels[1]


if __name__ == "__main__":
    main()
