"""How the report spells numbers and names."""

import math

from markupsafe import Markup, escape

from edgewright.core.errors import shown
from edgewright.core.quantities import format_amount, format_bytes, format_shape

LONGEST_TEXT, LONGEST_NAME, SHORT_NAME = 2000, 200, 52
# What stands for a figure that is not known.
NOTHING = "\N{EN DASH}"


def format_db(value: float | None) -> str:
    """Decibels."""
    if value is None or math.isnan(value):
        return NOTHING
    return "exact" if value >= 120 else f"{value:.1f} dB"


def format_percent(value: float | None) -> str:
    """A share that is in percent already."""
    if value is None or math.isnan(value):
        return NOTHING
    text = f"{value:.2f}"
    return f"{text.removesuffix('0')} %"


def format_points(value: float | None) -> str:
    """What is lost, in percentage points."""
    if value is None or math.isnan(value):
        return NOTHING
    return "nothing" if abs(value) < 0.005 else f"{value:.2f} points"


def format_limit(value: float) -> str:
    """What may be lost."""
    return f"{value:g} point{'s' * (value != 1)}"


def format_duration(seconds: float) -> str:
    """A time of work."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60):02} s"


def format_name(text: object) -> str:
    """A name from a model, printable and not endless."""
    return shown(text, LONGEST_NAME)


def to_plain_text(text: object) -> str:
    """A sentence with names from a model in it."""
    return shown(text, LONGEST_TEXT)


def shorten(text: object) -> str:
    """The same for a narrow place."""
    return shorten_middle(shown(text, LONGEST_NAME))


def shorten_middle(text: str, longest: int = SHORT_NAME) -> str:
    """A name without its middle: the beginning tells the part of the model, the end tells most."""
    if len(text) <= longest:
        return text
    end = (longest - 1) * 2 // 3
    return f"{text[: longest - 1 - end]}…{text[-end:]}"


def make_breakable(text: str) -> Markup:
    """A name that lines break after its slashes, not within words."""
    return Markup("/<wbr>").join(escape(part) for part in text.split("/"))


def format_number(value: float | None) -> str:
    """A plain number."""
    return NOTHING if value is None else f"{value:.4g}"


def format_signed(value: float) -> str:
    """A change, with its sign; what rounds to nothing has no minus."""
    return f"{round(value, 2) + 0.0:+.2f}"


FILTERS = {
    "breakable": make_breakable,
    "amount": format_amount,
    "bytes": format_bytes,
    "db": format_db,
    "dims": format_shape,
    "duration": format_duration,
    "limit": format_limit,
    "name": format_name,
    "number": format_number,
    "percent": format_percent,
    "plain": to_plain_text,
    "points": format_points,
    "short": shorten,
    "signed": format_signed,
}
