"""Cross-layer equalization against none, with one encoding for each whole weight.

``python -m benchmarks.equalization``; --models DIR --data DIR name other folders than .cache/bench.
"""

import argparse
import tempfile
from pathlib import Path

import onnx

import edgewright as ew
from benchmarks.accuracy import CALIBRATING, folders_of
from benchmarks.accuracy_metrics import outputs_of, scored
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.peers import Feed
from benchmarks.tables import Table, add_write_option

EVALUATING = 100


def main() -> None:
    """Prints a row for each model: dB without, dB with, what was done."""
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--evaluate", type=int, default=EVALUATING, help="number of inputs")
    parser.add_argument("--bits", type=int, default=8, help="width of activations")
    # What the HTP asks of weights.
    parser.add_argument("--param_quantizer", default="symmetric", help="how weights are laid out")
    add_write_option(parser)
    options = parser.parse_args()
    table = Table("equalization", ("model", "none dB", "cle dB", "gain", "what was done"), options)
    without_chains = list[str]()
    for task in TASKS:
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None or options.filter not in task.name:
            continue
        try:
            none, cle, note = _measure(task, path, options)
        except FileNotFoundError as missing:
            print(f"{task.name}: left out, {missing}", flush=True)
            continue
        if "no chain" not in note:
            table.add(task.name, f"{none:.2f}", f"{cle:.2f}", f"{cle - none:+.2f}", note)
        else:
            without_chains.append(task.name)
    table.finish(f"Without a chain of convolutions: {', '.join(without_chains) or 'none'}.")


def _measure(task: Task, path: Path, options: argparse.Namespace) -> tuple[float, float, str]:
    """Decibels without and with it, and what the quantizer says of it."""
    folders = tuple(options.data)
    calibrating = list(task.feeds(Material(folders, is_calibrating=True), CALIBRATING, task, path))
    evaluating = list(task.feeds(Material(folders), options.evaluate, task, path))
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.onnx"
        onnx.save(prepared(task, path, evaluating[0]), model)
        expected = outputs_of(model, evaluating)
        results = []
        for algorithms in ((), ("cle",)):
            target = Path(folder) / "fixed.onnx"
            note = _quantized(model, calibrating, target, algorithms, options)
            results.append(scored(expected, outputs_of(target, evaluating)).sqnr_db)
    return *results, note


def _quantized(
    model: Path, feeds: list[Feed], target: Path, algorithms: tuple[str, ...], options: argparse.Namespace
) -> str:
    quantized = ew.quantize(
        model,
        feeds,
        act_bw=options.bits,
        per_channel=False,
        act_quantizer="tf",
        param_quantizer=options.param_quantizer,
        algorithms=algorithms,
        threads=1,
    )
    quantized.save(target)
    return next((note.removeprefix("cle: ") for note in quantized.report.notes if note.startswith("cle")), "")


if __name__ == "__main__":
    main()
