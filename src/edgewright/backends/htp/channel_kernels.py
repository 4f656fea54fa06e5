"""Which kernel HTP has for a depthwise convolution: each rounds its sums in another way."""

from enum import Enum, auto

from edgewright.passes.htp.raise_small_scales import HALVING, WHOLE_SIZES, has_whole_sums

# Strides whose sums are cut, and a kernel of which they are at another one.
CUT_STRIDES, CUT_ALONE = frozenset({(1, 1), (1, 2), (2, 1), (3, 3)}), ((3, 3), (4, 4))
# Kernels that halve an image and cut their sums, besides the long ones of 8 bits.
SMALL = frozenset({(1, 1), (2, 2)})
# Strides at which sums are gated or bent, in kernels of at most so many places along an axis.
BENDING_STRIDES, MOST_PLACES = frozenset({(1, 1), (3, 3)}), 8


class Kernel(Enum):
    """What becomes of sums: cut to parts of a step, multiplied whole, or rounded in the ordinary way."""

    CUT = auto()
    WHOLE = auto()
    ORDINARY = auto()


def find_kernel(size: tuple[int, ...], stride: tuple[int, ...], *, is_wide: bool) -> Kernel:
    """By the places of the kernel and the stride, in rows and columns, and whether it has 16 bits."""
    if stride in CUT_STRIDES or (size, stride) == CUT_ALONE:
        return Kernel.CUT
    if stride != HALVING:
        return Kernel.ORDINARY
    if has_whole_sums(stride, size, is_wide=is_wide):
        return Kernel.WHOLE
    is_long = max(size) >= WHOLE_SIZES.stop and not is_wide
    return Kernel.CUT if size in SMALL or is_long else Kernel.ORDINARY


def is_bending(size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether a kernel without gaps computes the activation behind it from its sums."""
    return stride in BENDING_STRIDES and max(size) <= MOST_PLACES
