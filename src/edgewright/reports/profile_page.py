"""A profile as one HTML file that opens anywhere: a timeline, and tables by kind of op, time and MACs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgewright.api.profile_records import ProfileLog
from edgewright.api.profile_spans import Span, kinds_of_ops, typical_run
from edgewright.api.profile_summary import ProfileSummary
from edgewright.reports.numbers import amount
from edgewright.reports.profile_text import viewer_text

__all__ = ["to_html"]

_TEMPLATE = Path(__file__).with_name("profile.html.jinja")
_WIDTH = 1000.0
# Spans narrower than this are drawn as wide as this, or they could not be seen.
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


def to_html(log: ProfileLog, found: ProfileSummary) -> Iterator[bytes]:
    """The file."""
    from jinja2 import Environment

    spans, unit = typical_run(log)
    colours = _colours(found)
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _TEMPLATE.read_text("utf-8")
    )
    yield page.render(
        found=found,
        unit={"US": "µs", "CYCLES": "cycles"}.get(unit, unit.lower()),
        bars=_bars(spans, colours),
        width=_WIDTH,
        kinds=kinds_of_ops(found),
        colours=colours,
        amount=amount,
        text=viewer_text(found),
        is_emulated="emulator" in found.backend,
        is_simulated="simulation" in found.backend,
    ).encode()


def _colours(found: ProfileSummary) -> dict[str, str]:
    kinds = [kind.op for kind in kinds_of_ops(found)]
    return {op: _COLOURS[min(place, len(_COLOURS) - 1)] for place, op in enumerate(kinds)}


def _bars(spans: list[Span], colours: dict[str, str]) -> list[_Bar]:
    end = max((span.start + span.time for span in spans), default=0) or 1
    return [
        _Bar(
            span.name,
            span.op,
            span.time,
            span.start / end * _WIDTH,
            max(span.time / end * _WIDTH, _NARROWEST),
            colours.get(span.op or "(not told)", _COLOURS[-1]),
        )
        for span in spans
    ]
