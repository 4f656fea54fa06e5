"""What each algorithm of the quantizer brings: a column of dB for each, ranges and calibration data the same.

``python -m benchmarks.algorithms``; ``make bench-accuracy ARGS=--with-algorithms`` runs it at its end.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx

import edgewright as ew
from benchmarks.accuracy_metrics import outputs_of, scored
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.tables import Table, add_write_option

__all__ = ["print_algorithms", "row_of"]

CALIBRATING, EVALUATING = 100, 500
HALF, BALANCE_DB, LOSS_DB = 0.5, 2.0, 0.3
# Models that every algorithm is tried on; others have two kinds of ranges.
EVERY_COLUMN = ("mnist_cntk", "g2p_id_bert_mlm", "phi3_tiny_dynamo", "mobilenet_v2_imagenet")
RANGES = ("w8a8 tf", "w8a8 auto")


@dataclass(frozen=True)
class Column:
    """One way to quantize: widths of weights and activations, ranges, algorithms."""

    weights: int
    ranges: str
    algorithms: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"w{self.weights}a8 {'+'.join(self.algorithms) or self.ranges}"


COLUMNS = (
    Column(8, "tf"),
    Column(8, "auto"),
    Column(8, "tf", ("cle",)),
    Column(8, "tf", ("smooth",)),
    Column(8, "tf", ("bc",)),
    Column(8, "tf", ("adaround",)),
    Column(4, "tf"),
    Column(4, "tf", ("bc",)),
    Column(4, "tf", ("seq_mse",)),
    Column(4, "tf", ("adaround",)),
    Column(4, "tf", ("seq_mse", "adaround")),
)


def main() -> None:
    """Measures and prints."""
    from benchmarks.accuracy import folders_of

    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument(
        "--columns", default="", help="only columns whose name holds one of these words, by commas"
    )
    parser.add_argument("--evaluate", type=int, default=EVALUATING, help="number of inputs")
    parser.add_argument("--samples", type=int, default=CALIBRATING, help="number of inputs that calibrate")
    parser.add_argument("--results", type=Path, help="a JSON file: what it has is not measured again")
    add_write_option(parser)
    options = parser.parse_args()
    if options.write and options.columns:
        parser.error("--write is for tables of all columns")
    print_algorithms(options)


def print_algorithms(options: argparse.Namespace) -> None:
    """A line for each figure as it comes, then a table and whether what was promised holds."""
    words = [word for word in getattr(options, "columns", "").split(",") if word]
    columns = [c for c in COLUMNS if not words or any(word in c.name for word in words)]
    ranges = [c for c in columns if c.name in RANGES]
    path = options.results if hasattr(options, "columns") else None
    rows: dict[str, dict[str, float]] = json.loads(path.read_text()) if path and path.exists() else {}
    for task in TASKS:
        source = task.find([*options.models, FETCHED, EXAMPLES])
        if source is None or options.filter not in task.name:
            continue
        try:
            chosen = columns if task.name in EVERY_COLUMN else ranges
            row_of(task, source, options, chosen, rows.setdefault(task.name, {}))
        except FileNotFoundError as missing:
            print(f"{task.name}: left out, {missing}")
        if path:
            path.write_text(json.dumps(rows, indent=1))
    names = [column.name for column in columns]
    table = Table("algorithms", ("model", *names), options)
    for model, row in rows.items():
        table.add(model, *(f"{row[name]:.1f}" if name in row else "" for name in names))
    table.finish(*_judge(rows))


def row_of(
    task: Task, source: Path, options: argparse.Namespace, columns: list[Column], row: dict[str, float]
) -> None:
    """Fills in the dB of each column for one model."""
    folders, count = tuple(options.data), getattr(options, "samples", CALIBRATING)
    calibrating = list(task.feeds(Material(folders, is_calibrating=True), count, task, source))
    evaluating = list(task.feeds(Material(folders), options.evaluate or EVALUATING, task, source))
    with tempfile.TemporaryDirectory() as folder:
        model, target = Path(folder) / "model.onnx", Path(folder) / "fixed.onnx"
        onnx.save(prepared(task, source, evaluating[0]), model)
        expected, converted = outputs_of(model, evaluating), ew.convert(model)
        for column in (c for c in columns if c.name not in row):
            began = time.process_time()
            found = ew.quantize(
                converted,
                calibrating,
                weight_bw=column.weights,
                act_quantizer=column.ranges,
                algorithms=column.algorithms,
                threads=1,
            )
            seconds = time.process_time() - began
            found.save(target)
            row[column.name] = scored(expected, outputs_of(target, evaluating)).sqnr_db
            said = next((note for note in found.report.notes if note.startswith(column.algorithms)), "")
            print(
                f"{task.name:30s} {column.name:24s} {row[column.name]:6.2f} dB {seconds:6.1f} s  {said}",
                flush=True,
            )


def _judge(rows: dict[str, dict[str, float]]) -> Iterator[str]:
    """What of the loss to 4 bits is recovered, what balance gains, and what ranges by search gain."""
    lines = [f"- {model}: {line}" for model, row in rows.items() for line in _verdicts(row)]
    yield "\n".join(lines)
    both = {model: row for model, row in rows.items() if set(RANGES) <= set(row)}
    gains = {model: row["w8a8 auto"] - row["w8a8 tf"] for model, row in both.items()}
    if gains:
        worst = min(gains, key=lambda model: gains[model])
        yield (
            f"`auto` over `tf`: {sum(gains.values()) / len(gains):+.2f} dB in the mean of {len(gains)}, "
            f"least {gains[worst]:+.2f} dB ({worst}; {-LOSS_DB:+.1f} allowed)."
        )


def _verdicts(row: dict[str, float]) -> list[str]:
    """What of the loss to 4 bits is recovered, and what balance gains."""
    whole, nearest = row.get("w8a8 tf"), row.get("w4a8 tf")
    if whole is None:
        return []
    found = []
    for name in ("w4a8 adaround", "w4a8 seq_mse+adaround"):
        if nearest is not None and name in row and whole > nearest:
            part = 100 * (row[name] - nearest) / (whole - nearest)
            found.append(f"{name} recovers {part:.0f} % of what 4 bits lose ({100 * HALF:.0f} % wanted)")
    if "w8a8 smooth" in row:
        gain = row["w8a8 smooth"] - whole
        found.append(f"smooth gains {gain:+.2f} dB ({BALANCE_DB:+.1f} wanted of transformers)")
    return found


if __name__ == "__main__":
    main()
