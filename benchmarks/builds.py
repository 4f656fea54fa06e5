"""Builds of models of many kinds: verdicts against samples that no build has seen, time against estimates.

``python -m benchmarks.builds --models DIR --data DIR``; what is not there is told and left out.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray

import edgewright as ew
from benchmarks.accuracy import folders_of
from benchmarks.accuracy_models import prepared
from benchmarks.build_kinds import CASCADE, KINDS, MORE, OTHERS, Kind
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from edgewright.config.build import parse_duration
from edgewright.core.errors import EdgewrightError
from edgewright.core.machine_use import count_cores
from edgewright.data.labels import Labels
from edgewright.data.samples import LabelledSamples, SampleSelection
from edgewright.evaluate.evaluator import Evaluator
from edgewright.evaluate.records import Loss
from edgewright.lower.names import spell_io_names
from edgewright.run.compiled_model import CompiledModel, load_context_copies
from edgewright.tasks.versions import list_versions

Array = NDArray[Any]
PAGE = Path(__file__).parents[1] / "docs" / "builds.md"
CHIP, LIMIT = "SM8650", 1.0
TABLE = (*(kind for kind in KINDS if kind not in CASCADE), *MORE)
# What the emulator may take for samples that no build has seen.
UNSEEN_SECONDS = 60.0
# Builds that take so many times as long as they may are named.
LATE = 1.05


INTRODUCTION = """\
# Builds of models of many kinds

`make bench-builds` (after `make bench-models`) builds each model for {chip} with a limit of {limit} point
({samples} samples at most, `--time-limit {time}`), then runs the binary ({backends}) on samples that the
build has not seen ({unseen} at most). "Met" is false where those lose more than the limit and what the
interval of the build lets expect. One float pass is the float model over all samples of the build.
"Estimated" is what the build said of its time before it began.

Built {date} with {versions},
on {cores} cores; the load average when a build began was {load}."""
# The first heading below the table: what follows is written by hand.
STUDY = "\n## "
COLUMNS = (
    *("model", "kind", "measure", "chosen", "verdict", "lost, as the build says"),
    *("lost on unseen samples", "seconds", "estimated", "float passes"),
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * 7}{'---:|' * 3}"


@dataclass(frozen=True)
class Row:
    """One build: what it said, and what became of that on other samples."""

    model: str
    kind: str
    metric: str = ""
    chosen: str = ""
    verdict: str = ""
    points: float = 0.0
    low: float = 0.0
    high: float = 0.0
    unseen: float = 0.0
    unseen_samples: int = 0
    backend: str = ""
    seconds: float = 0.0
    expected: float = 0.0
    passes: float = 0.0
    problem: str = ""
    # When the build began, and the load average then.
    date: str = ""
    load: float = 0.0

    @property
    def is_near(self) -> bool:
        """Whether the estimate was within a factor of 1.5."""
        return 1 / 1.5 <= self.seconds / max(self.expected, 1e-9) <= 1.5

    @property
    def is_false(self) -> bool:
        """Whether "met" was said of a model that loses more elsewhere than its interval lets expect."""
        return self.verdict == "met" and self.unseen > LIMIT + (self.high - self.points)


def main() -> None:
    """Builds one model after the other; each has its row in the results and on the page once it is built."""
    options = _parse_options()
    known = _read_rows(options.results)
    for kind in (*TABLE, *((*CASCADE, *OTHERS) if options.others else ())):
        if options.filter in kind.file and kind.file not in known:
            known[kind.file] = _measure(kind, options)
            print(_format_row(known[kind.file]), flush=True)
            _keep_rows(known, options)
    _keep_rows(known, options)
    for row in known.values():
        if row.is_false:
            print(f"FALSE: {row.model} is said to keep {LIMIT:g} points and loses {row.unseen:.2f} on others")


def _keep_rows(known: Mapping[str, Row], options: argparse.Namespace) -> None:
    """Writes what is built so far: the results, and the page with the text below its table as it is."""
    if options.results:
        options.results.write_text(json.dumps([asdict(each) for each in known.values()], indent=1))
    rows = [known[kind.file] for kind in (*TABLE, *CASCADE, *OTHERS) if kind.file in known]
    options.page.write_text(_make_page(rows, options) + _read_study(), "utf-8")


def _read_study() -> str:
    """What is below the table: other models, and what benchmarks.unseen_kinds found."""
    _, mark, study = PAGE.read_text("utf-8").partition(STUDY)
    return f"{mark}{study}"


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--samples", type=int, default=90, help="samples that a build gets")
    parser.add_argument("--unseen", type=int, default=40, help="samples that it does not get")
    parser.add_argument("--time-limit", default="2m", help="of each build")
    parser.add_argument("--others", action="store_true", help="models that no test has, too")
    parser.add_argument("--results", type=Path, help="a JSON file: what it has is not built again")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    return parser.parse_args()


def _read_rows(path: Path | None) -> dict[str, Row]:
    if path is None or not path.is_file():
        return {}
    names = {field.name for field in fields(Row)}
    rows = [Row(**{key: item[key] for key in item if key in names}) for item in json.loads(path.read_text())]
    return {row.model: row for row in rows}


def _measure(kind: Kind, options: argparse.Namespace) -> Row:
    path = kind.find([*options.models, FETCHED, EXAMPLES])
    if path is None:
        return Row(kind.file, kind.text, problem="left out: the file is not in the folders of --models")
    date, load = f"{datetime.now(UTC):%Y-%m-%d %H:%M}", os.getloadavg()[0]
    try:
        with tempfile.TemporaryDirectory() as folder:
            return replace(_build(kind, path, Path(folder), options), date=date, load=load)
    except (EdgewrightError, FileNotFoundError, KeyError) as problem:
        what = problem.what if isinstance(problem, EdgewrightError) else str(problem)
        return Row(kind.file, kind.text, problem=" ".join(what.split()), date=date, load=load)


def _build(kind: Kind, path: Path, folder: Path, options: argparse.Namespace) -> Row:
    given = Material(tuple(options.data), is_calibrating=True)
    others = Material(tuple(options.data))
    feeds = list(kind.make_feeds(given, options.samples, path))
    unseen = list(kind.make_feeds(others, options.unseen, path))
    labels = [m.labels(options.samples) if kind.has_labels else None for m in (given, others)]
    if kind.task is not None:
        model = folder / "model.onnx"
        onnx.save(prepared(kind.task, path, feeds[0]), model)
    else:
        model = path
    shapes = {name: array.shape for name, array in feeds[0].items()} if path.suffix == ".onnx" else None
    record = ew.build(
        model,
        feeds,
        target=CHIP,
        output=folder / "out",
        max_drop=LIMIT,
        labels=labels[0],
        input_shapes=shapes,
        time_limit=options.time_limit,
    )
    graph = ew.convert(model, input_shapes=shapes).fixed_graph()
    known = None if labels[1] is None else Labels(labels[1][: len(unseen)])
    held_out = LabelledSamples(SampleSelection(unseen, range(len(unseen))), known)
    names = spell_io_names(graph.inputs, graph.outputs)
    # The report has the names of the binary.
    judged = tuple(name for name in graph.outputs if names[name] in record.metric.outputs)
    evaluator = Evaluator(graph, held_out, replace(record.metric, outputs=judged))
    loss = _measure_unseen(evaluator, folder, names)
    said = record.verdict.loss
    return Row(
        *(kind.file, kind.text, record.metric.name, record.chosen, record.verdict.word),
        *(said.points, said.low, said.high, loss.points, loss.samples, loss.backend),
        *(record.seconds, record.preflight.expected_seconds, record.passes),
    )


def _measure_unseen(evaluator: Evaluator, folder: Path, names: Mapping[str, str]) -> Loss:
    """What the binary that was written loses on samples that the build has not seen."""
    copies = load_context_copies(folder / "out" / "context_binaries" / "htp_context.bin", 2)

    def make_runner(compiled: CompiledModel) -> Callable[[Mapping[str, Array]], dict[str, Array]]:
        def run(sample: Mapping[str, Array]) -> dict[str, Array]:
            results = compiled.run({names[name]: array for name, array in sample.items()})
            return {name: results[spelled] for name, spelled in names.items() if spelled in results}

        return run

    backend = copies[0].info.backend
    runners = [make_runner(each) for each in copies]
    return evaluator.measure_loss(evaluator.measure_runners(runners, backend, seconds=UNSEEN_SECONDS))


def _format_row(row: Row) -> str:
    if row.problem:
        return f"| {row.model} | {row.kind} | {row.problem} | | | | | | | |"
    mark = " **FALSE**" if row.is_false else ""
    said = f"{row.points:.2f} ({row.low:.2f} to {row.high:.2f})"
    unseen = f"{row.unseen:.2f} on {row.unseen_samples}{mark}"
    times = f"{row.seconds:.0f} | {row.expected:.0f} | {row.passes:.1f}"
    return (
        f"| {row.model} | {row.kind} | {row.metric} | {row.chosen} | {row.verdict} | {said} | {unseen} | "
        f"{times} |"
    )


def _make_page(rows: list[Row], options: argparse.Namespace) -> str:
    built = [row for row in rows if not row.problem]
    settings = {
        "chip": CHIP,
        "limit": f"{LIMIT:g}",
        "samples": options.samples,
        "unseen": options.unseen,
        "time": options.time_limit,
        "backends": " and ".join(sorted({row.backend for row in built})),
        "date": _describe_span(sorted({row.date for row in built if row.date})),
        "versions": ", ".join(f"{name} {version}" for name, version in list_versions()),
        "cores": count_cores(),
        "load": _describe_load([row.load for row in built]),
    }
    table = "\n".join([HEAD, *map(_format_row, rows)])
    return "\n\n".join([INTRODUCTION.format(**settings), _summarise(built, options), table]) + "\n"


def _describe_load(loads: list[float]) -> str:
    return f"{min(loads, default=0):.0f} to {max(loads, default=0):.0f}"


def _describe_span(dates: list[str]) -> str:
    if not dates:
        return ""
    return f"on {dates[0]} UTC" if len(dates) == 1 else f"from {dates[0]} to {dates[-1]} UTC"


def _summarise(built: list[Row], options: argparse.Namespace) -> str:
    """What the rows come to: false verdicts, passes, estimates, and builds that took longer than they may."""
    false, limit = [row.model for row in built if row.is_false], parse_duration(options.time_limit)
    far = [
        f"{row.model} ({row.seconds:.0f} s, {row.expected:.0f} estimated)" for row in built if not row.is_near
    ]
    late = [f"{row.model} ({row.seconds:.0f} s)" for row in built if row.seconds > LATE * limit]
    lines = [
        f"**False verdicts: {', '.join(false)}.**" if false else 'No verdict "met" is false.',
        f"The largest number of passes is {max((row.passes for row in built), default=0.0):.1f}.",
        f"{len(built) - len(far)} of {len(built)} builds took what was estimated, within a factor of 1.5.",
    ]
    lines += [f"Others: {', '.join(far)}."] if far else []
    lines += [f"Longer than the limit by more than 5 %: {', '.join(late)}."] if late else []
    return "\n".join(lines)


if __name__ == "__main__":
    main()
