"""Which kernel HTP has for a depthwise convolution: each rounds its sums in another way."""

from enum import Enum, auto

# Strides whose sums are cut, and a kernel of which they are at another one.
CUT_STRIDES, CUT_ALONE = frozenset({(1, 1), (1, 2), (2, 1), (3, 3)}), ((3, 3), (4, 4))
# Of those that halve an image: places along an axis of kernels that multiply whole sums, and smaller ones
# that cut them.
HALVING, WHOLE_SIZES, SMALL = (2, 2), range(3, 8), frozenset({(1, 1), (2, 2)})
# Strides at which sums are gated or bent, in kernels of at most so many places along an axis.
BENDING_STRIDES, MOST_PLACES = frozenset({(1, 1), (3, 3)}), 8


class Kernel(Enum):
    """What becomes of sums: cut to parts of a step, multiplied whole, or rounded in the ordinary way."""

    CUT = auto()
    WHOLE = auto()
    ORDINARY = auto()


def find_kernel(size: tuple[int, ...], stride: tuple[int, ...]) -> Kernel:
    """By the places of the kernel and the stride, in rows and columns."""
    if stride in CUT_STRIDES or (size, stride) == CUT_ALONE:
        return Kernel.CUT
    if stride != HALVING:
        return Kernel.ORDINARY
    if all(places in WHOLE_SIZES for places in size):
        return Kernel.WHOLE
    return Kernel.CUT if size in SMALL or max(size) >= WHOLE_SIZES.stop else Kernel.ORDINARY


def is_bending(size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether a kernel without gaps computes the activation behind it from its sums."""
    return stride in BENDING_STRIDES and max(size) <= MOST_PLACES
