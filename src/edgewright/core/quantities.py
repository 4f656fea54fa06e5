"""Numbers as people read them."""

from collections.abc import Sequence

_STEPS = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def format_amount(number: int) -> str:
    """A count with at most four digits: 12.3 M."""
    for size, letter in _STEPS:
        if number >= size:
            return (
                f"{number / size:.3g} {letter}" if number < 1000 * size else f"{number / size:.0f} {letter}"
            )
    return str(number)


def format_bytes(number: int) -> str:
    """A size in bytes: 25.8 kB."""
    text = format_amount(number)
    return f"{text}B" if " " in text else f"{text} B"


def format_shape(shape: Sequence[int | str]) -> str:
    """A shape: 1,3,224,224; a scalar has none."""
    return ",".join(str(dim) for dim in shape) or "scalar"
