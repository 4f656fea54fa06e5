"""How the report spells numbers and names."""

import math

from markupsafe import Markup, escape

from edgewright.core.errors import shown
from edgewright.reports.numbers import format_amount, format_bytes, format_shape

__all__ = ["FILTERS", "db", "duration", "limit", "name", "percent", "points", "short"]

LONGEST_TEXT, LONGEST_NAME, SHORT_NAME = 2000, 200, 52
# What stands for a figure that is not known.
NOTHING = "\N{EN DASH}"


def db(value: float | None) -> str:
    """Decibels."""
    if value is None or math.isnan(value):
        return NOTHING
    return "exact" if value >= 120 else f"{value:.1f} dB"


def percent(value: float | None) -> str:
    """A share that is in percent already."""
    if value is None or math.isnan(value):
        return NOTHING
    text = f"{value:.2f}"
    return f"{text.removesuffix('0')} %"


def points(value: float | None) -> str:
    """What is lost, in percentage points."""
    if value is None or math.isnan(value):
        return NOTHING
    return "nothing" if abs(value) < 0.005 else f"{value:.2f} points"


def limit(value: float) -> str:
    """What may be lost."""
    return f"{value:g} point{'s' * (value != 1)}"


def duration(seconds: float) -> str:
    """A time of work."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60):02} s"


def name(text: object) -> str:
    """A name from a model, printable and not endless."""
    return shown(text, LONGEST_NAME)


def plain(text: object) -> str:
    """A sentence with names from a model in it."""
    return shown(text, LONGEST_TEXT)


def short(text: object) -> str:
    """The same for a narrow place: its end tells most."""
    printable = shown(text, LONGEST_NAME)
    return printable if len(printable) <= SHORT_NAME else f"…{printable[1 - SHORT_NAME :]}"


def breakable(text: str) -> Markup:
    """A name that lines break after its slashes, not within words."""
    return Markup("/<wbr>").join(escape(part) for part in text.split("/"))


def number(value: float | None) -> str:
    """A plain number."""
    return NOTHING if value is None else f"{value:.4g}"


FILTERS = {
    "breakable": breakable,
    "amount": format_amount,
    "bytes": format_bytes,
    "db": db,
    "dims": format_shape,
    "duration": duration,
    "limit": limit,
    "name": name,
    "number": number,
    "percent": percent,
    "plain": plain,
    "points": points,
    "short": short,
}
