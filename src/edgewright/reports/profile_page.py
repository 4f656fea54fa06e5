"""A profile as one HTML file that opens anywhere: a timeline, and tables by kind of op, time and MACs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewright.core.quantities import format_amount
from edgewright.model.profile.records import ProfileLog
from edgewright.model.profile.spans import KindOfOp, Span, find_typical_run, sum_by_kind
from edgewright.model.profile.summary import ProfileSummary
from edgewright.reports.profile_text import make_viewer_text

# The style of all pages is there.
_TEMPLATES = Path(__file__).with_name("html")
_WIDTH = 1000.0
# Narrower spans are drawn this wide, to be visible.
_NARROWEST = 0.6
_COLOURS = ("#3b6fb6", "#c4622d", "#4b8f4b", "#8a5aa8", "#b6923b", "#3b9aa0", "#b5446e", "#6b7280")


@dataclass(frozen=True)
class _Bar:
    name: str
    op: str
    time: int
    left: float
    width: float
    colour: str


def to_html(log: ProfileLog, summary: ProfileSummary) -> Iterator[bytes]:
    """The file."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(_TEMPLATES)
    made = Environment(autoescape=True, loader=loader, undefined=StrictUndefined, trim_blocks=True)
    yield (
        made.get_template("profile.html.jinja").render(_make_context(log, summary)).encode("utf-8", "replace")
    )


def _make_context(log: ProfileLog, summary: ProfileSummary) -> dict[str, object]:
    spans, unit = find_typical_run(log)
    word = {"US": "µs", "CYCLES": "cycles"}.get(unit, unit.lower())
    kinds, colours = sum_by_kind(summary), _choose_colours(summary)
    return {
        "summary": summary,
        "unit": word,
        "said": _write_headline(summary, kinds),
        "tiles": _make_tiles(summary, word),
        "bars": _make_bars(spans, colours),
        "width": _WIDTH,
        "kinds": kinds,
        "colours": colours,
        "amount": format_amount,
        "text": make_viewer_text(summary),
        "is_emulated": "emulator" in summary.backend,
        "is_simulated": "simulation" in summary.backend,
    }


def _write_headline(summary: ProfileSummary, kinds: Sequence[KindOfOp]) -> str:
    runs = f"{summary.inferences} inferences were measured at level {summary.level}."
    if not kinds:
        return f"{runs} The log has no times of single ops."
    slowest = summary.ops[0].name.partition(":OpId_")[0]
    return (
        f"{runs} {kinds[0].op} takes {kinds[0].share:.0%} of the time of all ops; the slowest is {slowest}."
    )


def _make_tiles(summary: ProfileSummary, unit: str) -> list[tuple[str, str, str]]:
    tiles = [("Inferences", str(summary.inferences), "")]
    whole = next((item for item in summary.execution if not item.is_part and item.unit == "US"), None)
    if whole is not None:
        low, high = whole.least / 1000, whole.most / 1000
        tiles.append(("One execution", f"{whole.average / 1000:.3g} ms", f"{low:.3g} to {high:.3g} ms"))
    if summary.per_second:
        tiles.append(("Throughput", f"{summary.per_second:.1f} /s", "including files"))
    if summary.ops:
        total = sum(item.average for item in summary.ops)
        tiles.append(("All ops", f"{total:.0f} {unit}", f"{len(summary.ops)} ops"))
    macs = sum(item.macs for item in summary.ops)
    return [*tiles, ("MACs", format_amount(macs), "in one execution")] if macs else tiles


def _choose_colours(summary: ProfileSummary) -> dict[str, str]:
    kinds = [kind.op for kind in sum_by_kind(summary)]
    return {op: _COLOURS[min(place, len(_COLOURS) - 1)] for place, op in enumerate(kinds)}


def _make_bars(spans: list[Span], colours: dict[str, str]) -> list[_Bar]:
    end = max((span.start + span.time for span in spans), default=0) or 1
    return [
        _Bar(
            span.name,
            span.op,
            span.time,
            span.start / end * _WIDTH,
            max(span.time / end * _WIDTH, _NARROWEST),
            colours.get(span.op or "(unknown)", _COLOURS[-1]),
        )
        for span in spans
    ]
