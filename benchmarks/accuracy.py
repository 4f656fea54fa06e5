"""Accuracy of quantized models against their float selves: ours and peers', all run by one ONNX Runtime.

``python -m benchmarks.accuracy --models DIR --data DIR``; without folders, on the digits of the repository.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import onnx

from benchmarks.accuracy_metrics import Score, outputs_of, scored
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.accuracy_ours import quantized
from benchmarks.accuracy_tables import print_tables
from benchmarks.algorithms import print_algorithms
from benchmarks.data import Material
from benchmarks.models import EXAMPLES
from benchmarks.peers import PEERS, Feed, save_feeds

__all__ = ["CALIBRATING", "Result", "folders_of"]

CALIBRATING, EVALUATING = 100, 500
OURS = "edgewright"


@dataclass(frozen=True)
class Result:
    """One tool on one model: its scores, or why there are none."""

    model: str
    precision: str
    tool: str
    seconds: float
    score: Score | None = None
    problem: str = ""


def main() -> None:
    """Measures, prints a line for each result as it comes, then the tables."""
    options = _options()
    done = _known(options.results)
    for task in TASKS:
        path = task.find([*options.models, EXAMPLES])
        if path is None or options.filter not in task.name:
            continue
        try:
            for result in _measured(task, path, options, done):
                done[result.model, result.precision, result.tool] = result
                print(_line(result), flush=True)
                if options.results:
                    options.results.write_text(json.dumps([asdict(r) for r in done.values()], indent=1))
        except FileNotFoundError as missing:
            print(f"{task.name}: left out, {missing}")
    print_tables(list(done.values()), OURS)
    if not options.without_algorithms:
        print_algorithms(options)


def folders_of(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say where models and data are."""
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of ONNX files")
    parser.add_argument("--data", action="append", type=Path, default=[], help="a folder of real data")
    parser.add_argument("--filter", default="", help="only models whose name holds this")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--tools", default="edgewright,onnxruntime,nncf,aimet")
    parser.add_argument("--precisions", default="w8a8,w8a16,w4a16,w4a8", help="widths, by commas")
    parser.add_argument("--calibrate", type=int, default=CALIBRATING, help="number of samples")
    parser.add_argument("--evaluate", type=int, default=EVALUATING, help="number of inputs")
    parser.add_argument("--results", type=Path, help="a JSON file: what it has is not run again")
    parser.add_argument(
        "--without-algorithms", action="store_true", help="leave out the columns of algorithms"
    )
    return parser.parse_args()


def _measured(
    task: Task, path: Path, options: argparse.Namespace, done: dict[tuple[str, str, str], Result]
) -> Iterator[Result]:
    asked = [(task.name, p, t) for p in options.precisions.split(",") for t in options.tools.split(",")]
    if all(key in done for key in asked):
        return
    folders = tuple(options.data)
    calibrating = list(task.feeds(Material(folders, is_calibrating=True), options.calibrate, task, path))
    evaluating = list(task.feeds(Material(folders), options.evaluate or EVALUATING, task, path))
    with tempfile.TemporaryDirectory() as folder:
        model, feeds = Path(folder) / "model.onnx", Path(folder) / "feeds.npz"
        onnx.save(prepared(task, path, evaluating[0]), model)
        save_feeds(feeds, calibrating)
        float_outputs = outputs_of(model, evaluating)
        for precision in options.precisions.split(","):
            for tool in options.tools.split(","):
                key = (task.name, precision, tool)
                if key in done:
                    continue
                target = Path(folder) / f"{tool}_{precision}.onnx"
                began = time.perf_counter()
                problem = _run(tool, model, feeds, target, precision, calibrating)
                seconds = time.perf_counter() - began
                score = None
                if not problem:
                    try:
                        score = scored(
                            float_outputs, outputs_of(target, evaluating), are_scores=task.are_scores
                        )
                    except Exception as failure:  # a peer's model that the engine rejects is a result too
                        problem = f"does not run: {str(failure).splitlines()[0][:120]}"
                yield Result(*key, seconds, score, problem)


def _run(tool: str, model: Path, feeds: Path, target: Path, precision: str, calibrating: list[Feed]) -> str:
    if tool != OURS:
        return next(peer for peer in PEERS if peer.name == tool).quantize(model, feeds, target, precision)
    try:
        quantized(model, calibrating, target, precision)
    except Exception as failure:  # the table shows it; the other models go on
        return f"{type(failure).__name__}: {(str(failure).splitlines() or [''])[0][:120]}"
    return ""


def _known(path: Path | None) -> dict[tuple[str, str, str], Result]:
    if path is None or not path.exists():
        return {}
    rows = json.loads(path.read_text())
    found = [Result(**{**row, "score": Score(**row["score"]) if row["score"] else None}) for row in rows]
    return {(r.model, r.precision, r.tool): r for r in found}


def _line(result: Result) -> str:
    head = f"{result.model[:30]:30s} {result.precision:6s} {result.tool:12s} {result.seconds:6.1f} s "
    return head + (str(result.score) if result.score else result.problem)


if __name__ == "__main__":
    main()
