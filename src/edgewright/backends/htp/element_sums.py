"""Products of two activations of 8 bits, element by element, as HTP rounds them."""

import numpy as np

from edgewright.backends.cpu.sums import Step, SumForm
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding

# A product's multiplier has so many bits, and at most so many of them lie below a step.
PRODUCT_BITS, MOST_SHIFT = 15, 22
# What is taken off a product, so that it fits 16 bits, is a multiple of this.
CENTRE_UNIT = 256
# Bits of what is added to a product, of which the lower half is lost.
ADDED_BITS, LOST_BITS = 30, 15
LAST = 255


def multiply_elements(a: Encoding, b: Encoding, y: Encoding) -> tuple[Step, ...] | None:
    """Steps from products of whole numbers to steps of the output."""
    single = np.float32
    factor = float(single(a.scales[0])) * float(single(b.scales[0])) / float(single(y.scales[0]))
    if not (np.isfinite(factor) and 0 < factor < 1 << PRODUCT_BITS):
        return None
    middles = [2 * encoding.offsets[0] + LAST for encoding in (a, b)]
    centre = CENTRE_UNIT * int(np.floor(middles[0] * middles[1] / 2 / CENTRE_UNIT + 0.5))
    shift = min(MOST_SHIFT, PRODUCT_BITS - 1 - int(np.floor(np.log2(factor))))
    if abs(centre * factor - y.offsets[0]) >= 2.0 ** (ADDED_BITS - shift):
        shift -= 1
    while np.floor(factor * 2.0**shift + 0.5) >= 1 << PRODUCT_BITS:
        shift -= 1
    whole = float(np.floor(factor * 2.0**shift + 0.5))
    exact = centre * whole - y.offsets[0] * 2.0**shift
    added = np.floor(exact / (1 << LOST_BITS) + 0.5) * (1 << LOST_BITS)
    # Half a step more: the sum is cut, not rounded.
    return shift_down(whole / 2.0**shift, (added - exact) / 2.0**shift + 0.5)


def shift_down(factor: float, added: float) -> tuple[Step, ...]:
    """Whole numbers times a factor, plus a part of a step, cut: more bits than float32 has."""
    return (
        Step("Cast", to=DType.FLOAT_64),
        Step("Mul", np.asarray(factor)),
        Step("Add", np.asarray(added)),
        Step("Floor"),
        Step("Cast", to=DType.FLOAT_32),
    )


def whole_form(inputs: dict[str, Encoding], steps: tuple[Step, ...]) -> SumForm:
    """A form whose inputs are read as whole numbers, their offsets added."""
    whole = {name: Encoding((1.0,), encoding.offsets) for name, encoding in inputs.items()}
    return SumForm(whole, {}, steps)
