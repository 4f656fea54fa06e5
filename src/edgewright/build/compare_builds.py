"""What changed between two builds: verdict, figures, precision, sizes, layers, options, versions, files."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewright.analyse.records import Layer
from edgewright.build.records import RECORD, BuildRecord
from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.plain import from_plain
from edgewright.core.quantities import format_bytes
from edgewright.evaluate.records import Accuracy
from edgewright.evaluate.verdict import MET, MISSED, NO_LIMIT, NOT_PROVEN

LARGEST_RECORD = 1 << 29
# Better words first; without a limit nothing can be worse.
ORDER = (MET, NOT_PROVEN, MISSED)
# A layer that moved by less did not change.
LAYER_DB = 0.5
BETTER, WORSE, OTHER = "better", "worse", "other"
NOTHING = "-"


@dataclass(frozen=True)
class Change:
    """One thing that differs, in words: in the first build, in the second, and whether that is better."""

    what: str
    first: str
    second: str
    tone: str = OTHER


@dataclass(frozen=True)
class LayerChange:
    """A layer that got better or worse, in dB to the float model: on the emulator where both have that."""

    source: str
    op: str
    backend: str
    first_db: float
    second_db: float


@dataclass(frozen=True)
class BuildComparison:
    """Two builds side by side; lists hold what differs."""

    first: str
    second: str
    title: str
    # Why figures of the two are not for the same thing; empty where they are.
    warnings: tuple[str, ...]
    # Verdict, loss, precision, size, cost and time: always all of them.
    summary: tuple[Change, ...]
    figures: tuple[Change, ...]
    candidates: tuple[Change, ...]
    # The largest changes first.
    layers: tuple[LayerChange, ...]
    options: tuple[Change, ...]
    versions: tuple[Change, ...]
    artifacts: tuple[Change, ...]
    # The verdict got worse, or more is lost than chance explains.
    is_worse: bool = False


def compare_builds(first: str | Path, second: str | Path) -> BuildComparison:
    """What changed from one build to another.

    Args:
        first: the folder of a build, or its report.json.
        second: the other one.
    """
    one, two = read_build_record(first), read_build_record(second)
    return BuildComparison(
        first=str(first),
        second=str(second),
        title=f"{shown(two.source.file)} for {shown(two.target)}",
        warnings=tuple(_list_warnings(one, two)),
        summary=tuple(_list_summary(one, two)),
        figures=tuple(_list_figures(one, two)),
        candidates=tuple(_list_differences(*(_list_candidates(record) for record in (one, two)))),
        layers=_list_layers(one.layers, two.layers),
        options=tuple(_list_differences(*(_list_options(record) for record in (one, two)))),
        versions=tuple(_list_differences(dict(one.versions), dict(two.versions))),
        artifacts=tuple(_list_differences(*(_list_artifacts(record) for record in (one, two)))),
        is_worse=_is_worse(one, two),
    )


def read_build_record(place: str | Path) -> BuildRecord:
    """The record of a build in a folder, or in its report.json."""
    path = Path(place)
    path = path / RECORD if path.is_dir() else path
    if not path.is_file():
        raise BadInput(
            f"'{shown(place)}' has no {RECORD}, expected the folder of a finished build",
            do="give the folder of -o of edgewright build",
        )
    try:
        record = from_plain(BuildRecord, parse_json(bytes(read_limited(path, LARGEST_RECORD))))
        # One of the words that there are; ValueError otherwise.
        (*ORDER, NO_LIMIT).index(record.verdict.word)
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise BadInput(
            f"it is no record of a build of this version: {shown(problem, 200)}",
            Where(file=str(path)),
            do="build again",
        ) from None
    return record


def _list_warnings(one: BuildRecord, two: BuildRecord) -> Iterator[str]:
    if one.source.sha256 != two.source.sha256:
        yield "the source models are not the same"
    if one.metric.name != two.metric.name:
        yield f"figures are of two metrics, {one.metric.short_name} and {two.metric.short_name}"
    if one.samples.judged != two.samples.judged or one.data != two.data:
        yield "they were judged on other samples: differences are those of the samples, too"


def _is_worse(one: BuildRecord, two: BuildRecord) -> bool:
    words = [record.verdict.word for record in (one, two)]
    if NO_LIMIT not in words and ORDER.index(words[1]) > ORDER.index(words[0]):
        return True
    return one.metric.name == two.metric.name and two.verdict.loss.low > one.verdict.loss.high


def _list_summary(one: BuildRecord, two: BuildRecord) -> Iterator[Change]:
    words = [record.verdict.word for record in (one, two)]
    places = [ORDER.index(word) if word in ORDER else 0 for word in words]
    yield _make_change("verdict", words, _judge(*places, is_less_better=True))
    losses = [record.verdict.loss for record in (one, two)]
    apart = losses[0].high < losses[1].low or losses[1].high < losses[0].low
    tone = _judge(losses[0].points, losses[1].points, is_less_better=True) if apart else OTHER
    lost = [f"{loss.points:.2f} ({loss.low:.2f} to {loss.high:.2f})" for loss in losses]
    yield _make_change(f"points of {two.metric.short_name} lost", lost, tone)
    yield _make_change("judged on", [_describe_judges(record) for record in (one, two)])
    yield Change("precision", one.chosen, two.chosen)
    chosen = [next((c for c in record.candidates if c.is_chosen), None) for record in (one, two)]
    sizes = [0 if candidate is None else candidate.weight_bytes for candidate in chosen]
    yield _make_change("weights", [*map(format_bytes, sizes)], _judge(*sizes, is_less_better=True))
    costs = [0.0 if candidate is None else round(candidate.cost, 2) for candidate in chosen]
    yield _make_change(
        "cost (w8a8 is 1)", [f"{cost:.2f}" for cost in costs], _judge(*costs, is_less_better=True)
    )
    times = [sum(stage.seconds for stage in record.stages) for record in (one, two)]
    yield _make_change("build time", [f"{seconds:.0f} s" for seconds in times])


def _make_change(what: str, pair: Sequence[str], tone: str = OTHER) -> Change:
    return Change(what, pair[0], pair[1], tone)


def _describe_judges(record: BuildRecord) -> str:
    loss = record.verdict.loss
    return f"{loss.samples} samples, {loss.backend or NOTHING}"


def _judge(first: float, second: float, *, is_less_better: bool) -> str:
    if first == second:
        return OTHER
    return BETTER if (second < first) == is_less_better else WORSE


def _list_figures(one: BuildRecord, two: BuildRecord) -> Iterator[Change]:
    """Every output on every backend."""
    rows = [_index_figures(record) for record in (one, two)]
    for key in dict.fromkeys((*rows[0], *rows[1])):
        items = [part.get(key) for part in rows]
        texts = [_describe_figure(item) for item in items]
        yield _make_change(" on ".join(key), texts, _judge_figures(*items))


def _index_figures(record: BuildRecord) -> dict[tuple[str, str], Accuracy]:
    """Figures by output and backend; the first of several is that of the most samples."""
    figures: dict[tuple[str, str], Accuracy] = {}
    for item in record.accuracy:
        figures.setdefault((item.output, item.backend), item)
    return figures


def _judge_figures(one: Accuracy | None, two: Accuracy | None) -> str:
    """Better or worse where the intervals say so."""
    if one is None or two is None:
        return OTHER
    if one.low is None or one.high is None or two.low is None or two.high is None:
        return OTHER
    return BETTER if two.low > one.high else WORSE if two.high < one.low else OTHER


def _describe_figure(item: Accuracy | None) -> str:
    if item is None:
        return NOTHING
    noise = "" if item.sqnr_db is None else f", {item.sqnr_db:.1f} dB"
    if item.score is None or item.low is None or item.high is None:
        return f"{NOTHING}{noise}"
    return f"{item.score:.2f} % ({item.low:.2f} to {item.high:.2f}){noise}"


def _list_candidates(record: BuildRecord) -> dict[str, str]:
    return {
        candidate.name: f"{candidate.drop:.2f} lost, cost {candidate.cost:.2f}"
        + ", chosen" * candidate.is_chosen
        for candidate in record.candidates
    }


def _list_options(record: BuildRecord) -> dict[str, str]:
    """What was asked for, then every other word of the command."""
    asked = {
        "model": record.source.file,
        "target": record.target,
        "precision": record.precision,
        "limit": NOTHING if record.max_drop is None else f"{record.max_drop:g}",
        "metric": record.metric.name,
    }
    return asked | _split_command(record.command) | {"data": "; ".join(record.data)}


def _split_command(command: str) -> dict[str, str]:
    options: dict[str, str] = {}
    name = ""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for word in words:
        if word.startswith("-") and not word[1:2].isdigit():
            name = word
            options[name] = ""
        elif name:
            options[name] = f"{options[name]} {word}".strip()
    asked = {"--target", "--precision", "--max-drop", "--metric"}
    return {name: value or "yes" for name, value in options.items() if name not in asked}


def _list_artifacts(record: BuildRecord) -> dict[str, str]:
    return {artifact.path: format_bytes(artifact.size) for artifact in record.artifacts}


def _list_differences(one: Mapping[str, str], two: Mapping[str, str]) -> Iterator[Change]:
    for name in dict.fromkeys((*one, *two)):
        values = one.get(name, NOTHING), two.get(name, NOTHING)
        if values[0] != values[1]:
            yield Change(name, *values)


def _list_layers(one: Sequence[Layer], two: Sequence[Layer]) -> tuple[LayerChange, ...]:
    """Layers of both that moved, the farthest first; on the emulator where both have its figures."""
    backend, read = _choose_backend(one, two)
    before = {layer.source: read(layer) for layer in one}
    changes = []
    for layer in two:
        pair = before.get(layer.source), read(layer)
        if pair[0] is not None and pair[1] is not None and abs(pair[1] - pair[0]) >= LAYER_DB:
            changes.append(LayerChange(layer.source, layer.op, backend, pair[0], pair[1]))
    return tuple(sorted(changes, key=lambda change: -abs(change.second_db - change.first_db)))


def _choose_backend(
    one: Sequence[Layer], two: Sequence[Layer]
) -> tuple[str, Callable[[Layer], float | None]]:
    has_emulator = all(any(layer.emulator_db is not None for layer in layers) for layers in (one, two))
    if has_emulator:
        return "htp-native", lambda layer: layer.emulator_db
    return "htp-sim", lambda layer: layer.sim_db
