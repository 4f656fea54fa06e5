"""Accuracy of quantized models against their float selves: ours and peers', all run by one ONNX Runtime.

``python -m benchmarks.accuracy``; --models DIR --data DIR name other folders than .cache/bench.
Results are kept in a file for each tool: what is there is not run again, so a run may be cut at any time, and
``--again edgewright`` measures ours anew against peers that stay as they are.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import onnx

from benchmarks.accuracy_metrics import Score, count_products, outputs_of, scored
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.accuracy_ours import quantized
from benchmarks.accuracy_tables import print_tables
from benchmarks.algorithms import print_algorithms
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.peers import PEERS, Feed, Quantized, save_feeds, target_of
from benchmarks.tables import add_write_option
from edgewright.core.version import VERSION

__all__ = ["CALIBRATING", "Result", "folders_of"]

CALIBRATING, EVALUATING = 64, 96
OURS = "edgewright"
RESULTS = Path(__file__).with_name("accuracy_results")


@dataclass(frozen=True)
class Result:
    """One tool on one model: its scores, or why there are none; how many samples calibrated and evaluated."""

    model: str
    precision: str
    tool: str
    seconds: float
    score: Score | None = None
    problem: str = ""
    samples: tuple[int, int] = (0, 0)
    # Products in fixed point, of all; nothing where that was not counted.
    products: tuple[int, int] | None = None
    # When, and with what version of the tool.
    date: str = ""
    version: str = ""


def main() -> None:
    """Measures, prints a line for each result as it comes, then the tables."""
    options = _options()
    tools = options.tools.split(",")
    kept = Kept(options.results, (options.calibrate, options.evaluate), tools)
    kept.forget(options.again.split(","), options.filter, options.precisions.split(","))
    for task in TASKS:
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None or options.filter not in task.name:
            continue
        try:
            for result in _measured(task, path, options, kept):
                kept.add(result)
                print(_line(result), flush=True)
        except FileNotFoundError as missing:
            print(f"{task.name}: left out, {missing}")
    is_written = options.write and options.results == RESULTS
    print_tables(kept.list_results([task.name for task in TASKS]), OURS, is_written=is_written)
    if options.with_algorithms:
        print_algorithms(options)


class Kept:
    """Results in a folder, one file a tool; those of other numbers of samples count as not there."""

    def __init__(self, folder: Path, samples: tuple[int, int], tools: Sequence[str]) -> None:
        self._folder, self.samples, self._tools = folder, samples, tools
        self._results = {
            (r.model, r.precision, r.tool): r
            for tool in tools
            for r in self._read(tool)
            if r.samples == samples
        }

    def find(self, model: str, precision: str, tool: str) -> Result | None:
        """What is known of a cell."""
        return self._results.get((model, precision, tool))

    def forget(self, tools: Sequence[str], name: str, precisions: Sequence[str]) -> None:
        """Drops what shall be measured again."""
        for key in list(self._results):
            if key[2] in tools and name in key[0] and key[1] in precisions:
                del self._results[key]

    def add(self, result: Result) -> None:
        """Keeps a result, on disk as well."""
        self._results[result.model, result.precision, result.tool] = result
        rows = [asdict(r) for r in self._results.values() if r.tool == result.tool]
        self._folder.mkdir(parents=True, exist_ok=True)
        self._get_path(result.tool).write_text(json.dumps(rows, indent=1) + "\n")

    def list_results(self, models: Sequence[str]) -> list[Result]:
        """All results in the order of models, precisions and tools."""
        return sorted(
            self._results.values(),
            key=lambda r: (models.index(r.model), r.precision, self._tools.index(r.tool)),
        )

    def _get_path(self, tool: str) -> Path:
        return self._folder / f"{tool}.json"

    def _read(self, tool: str) -> list[Result]:
        path = self._get_path(tool)
        rows = json.loads(path.read_text()) if path.exists() else []
        return [_make_result(row) for row in rows]


def _make_result(row: dict[str, Any]) -> Result:
    """A result from its row in a file."""
    products = row.get("products")
    return Result(
        **{
            **row,
            "score": Score(**row["score"]) if row["score"] else None,
            "samples": tuple(row["samples"]),
            "products": tuple(products) if products else None,
        }
    )


def folders_of(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say where models and data are."""
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of models")
    parser.add_argument("--data", action="append", type=Path, default=[], help="a folder of real data")
    parser.add_argument("--filter", default="", help="only models whose name holds this")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--tools", default="edgewright,onnxruntime,nncf,nncf-transformer,aimet")
    parser.add_argument("--precisions", default="w8a8,w8a16,w4a16,w4a8", help="widths, by commas")
    parser.add_argument("--calibrate", type=int, default=CALIBRATING, help="number of samples")
    parser.add_argument("--evaluate", type=int, default=EVALUATING, help="number of inputs")
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="a folder: what it has is not run again"
    )
    parser.add_argument("--again", default="", help="tools that are measured again, by commas")
    add_write_option(parser)
    parser.add_argument("--with-algorithms", action="store_true", help="measure each algorithm alone, too")
    return parser.parse_args()


def _measured(task: Task, path: Path, options: argparse.Namespace, kept: Kept) -> Iterator[Result]:
    missing = {
        tool: [p for p in options.precisions.split(",") if kept.find(task.name, p, tool) is None]
        for tool in options.tools.split(",")
    }
    if not any(missing.values()):
        return
    folders = tuple(options.data)
    calibrating = list(task.feeds(Material(folders, is_calibrating=True), options.calibrate, task, path))
    evaluating = list(task.feeds(Material(folders), options.evaluate * task.times, task, path))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "model.onnx"
        onnx.save(prepared(task, path, evaluating[0]), model)
        save_feeds(folder / "feeds.npz", calibrating)
        float_outputs = outputs_of(model, evaluating)
        for tool, precisions in missing.items():
            for precision, made in _run(tool, model, calibrating, precisions):
                score, problem = None, made.problem
                if not problem:
                    try:
                        outputs = outputs_of(target_of(folder, tool, precision), evaluating)
                        score = scored(float_outputs, outputs, are_scores=task.are_scores)
                    except Exception as failure:  # a peer's model that the engine rejects is a result too
                        problem = f"does not run: {str(failure).splitlines()[0][:120]}"
                products = count_products(target_of(folder, tool, precision)) if score else None
                made_at = (f"{datetime.now(UTC):%Y-%m-%d}", _find_version(tool))
                figures = (made.seconds, score, problem, kept.samples, products)
                yield Result(task.name, precision, tool, *figures, *made_at)


def _find_version(tool: str) -> str:
    return next((peer.find_version() for peer in PEERS if peer.name == tool), f"{OURS} {VERSION}")


def _run(
    tool: str, model: Path, calibrating: list[Feed], precisions: Sequence[str]
) -> Iterator[tuple[str, Quantized]]:
    folder = model.parent
    if tool != OURS:
        peer = next(peer for peer in PEERS if peer.name == tool)
        yield from peer.quantize(model, folder / "feeds.npz", folder, precisions).items()
        return
    for precision in precisions:
        problem, began = "", time.perf_counter()
        try:
            quantized(model, calibrating, target_of(folder, tool, precision), precision)
        except Exception as failure:  # the table shows it; the other models go on
            problem = f"{type(failure).__name__}: {(str(failure).splitlines() or [''])[0][:120]}"
        yield precision, Quantized(time.perf_counter() - began, problem)


def _line(result: Result) -> str:
    head = f"{result.model[:30]:30s} {result.precision:6s} {result.tool:12s} {result.seconds:6.1f} s "
    return head + (str(result.score) if result.score else result.problem)


if __name__ == "__main__":
    main()
