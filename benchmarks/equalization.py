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
from benchmarks.conditions import describe_conditions
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.peers import Feed

EVALUATING = 100


def main() -> None:
    """Prints a row for each model: dB without, dB with, what was done."""
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--evaluate", type=int, default=EVALUATING, help="number of inputs")
    parser.add_argument("--bits", type=int, default=8, help="width of activations")
    # What the HTP asks of weights.
    parser.add_argument("--param_quantizer", default="symmetric", help="how weights are laid out")
    options = parser.parse_args()
    print("| model | none dB | cle dB | gain | chains |\n|---|---|---|---|---|")
    for task in TASKS:
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None or options.filter not in task.name:
            continue
        try:
            print(_row(task, path, options), flush=True)
        except FileNotFoundError as missing:
            print(f"| {task.name} | left out, {missing} |")
    print(describe_conditions())


def _row(task: Task, path: Path, options: argparse.Namespace) -> str:
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
            said = _quantized(model, calibrating, target, algorithms, options)
            results.append(scored(expected, outputs_of(target, evaluating)).sqnr_db)
    none, cle = results
    return f"| {task.name} | {none:.2f} | {cle:.2f} | {cle - none:+.2f} | {said} |"


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
