"""The digit classifier on all digits there are: python -m benchmarks.digits.

Without MNIST, which `make bench-models` brings, on the digits of the repository that do not calibrate.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import edgewright as ew
from benchmarks.accuracy import CALIBRATING, folders_of
from benchmarks.accuracy_metrics import outputs_of
from benchmarks.accuracy_models import TASKS
from benchmarks.data import Material
from benchmarks.models import EXAMPLES
from benchmarks.peers import Feed
from benchmarks.tables import Table, add_write_option

EVERY = 10_000
# Points that a precision may lose.
LIMITS = {(8, 8): 0.1, (4, 8): 0.5}


def main() -> None:
    """Prints the part of right answers of the float model and of each precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    add_write_option(parser)
    options = parser.parse_args()
    folders = tuple(options.data)
    task, path = TASKS[0], TASKS[0].find([EXAMPLES])
    assert path is not None
    calibrating = list(task.feeds(Material(folders, is_calibrating=True), CALIBRATING, task, path))
    evaluating = list(task.feeds(Material(folders), EVERY, task, path))
    labels = Material(folders).labels(EVERY)
    whole = _right(path, evaluating, labels)
    table = Table("digits", ("precision", f"right of {len(labels)}, %", "points", "allowed"), options)
    table.add("float", f"{whole:.2f}", "", "")
    with tempfile.TemporaryDirectory() as folder:
        for (weights, activations), limit in LIMITS.items():
            target = Path(folder) / "fixed.onnx"
            ew.quantize(path, calibrating, weight_bw=weights, act_bw=activations, threads=1).save(target)
            found = _right(target, evaluating, labels)
            table.add(f"w{weights}a{activations}", f"{found:.2f}", f"{found - whole:+.2f}", f"{-limit:+.1f}")
    table.finish()


def _right(model: Path, feeds: list[Feed], labels: list[int]) -> float:
    answers = [int(outputs[0].argmax()) for outputs in outputs_of(model, feeds)]
    return 100 * float(np.mean(np.equal(answers, labels)))


if __name__ == "__main__":
    main()
