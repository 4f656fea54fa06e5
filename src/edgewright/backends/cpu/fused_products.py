"""Convolutions of 8 and 16 bits as ops of our own, where they are compiled: sums are rounded at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from edgewright.backends.cpu.compiled import DOMAIN, find_kernels
from edgewright.backends.cpu.fused_steps import SumSteps, spell_rounding
from edgewright.core.numbers import Array, DType
from edgewright.ops.windows import Geometry

if TYPE_CHECKING:
    from edgewright.backends.cpu.sums import IntegerProduct
    from edgewright.backends.cpu.writer import Writer

# Bytes that are multiplied at once, and channels of a vector of sums.
QUAD, LANES = 4, 16
BITS = {DType.UFIXED_POINT_8: 8, DType.UFIXED_POINT_16: 16}


def has_product_kernels() -> bool:
    """Whether convolutions need not become products of matrices, or of floats."""
    return find_kernels() is not None


def multiply_in_one_pass(
    w: "Writer", images: str, product: "IntegerProduct", taken: SumSteps, zeros: tuple[int, int], dtype: DType
) -> str:
    """The integers that are stored; zeros are the integers that stand for zero in images and in results."""
    spelled, window = spell_rounding(taken), product.window
    assert spelled is not None
    assert window is not None
    constants = [product.units, product.bias, *spelled.operands]
    if product.is_depthwise:
        kind, rows, columns = "Depthwise", *product.matrix.shape[:2]
        constants.insert(0, product.matrix)
    else:
        kind, (rows, columns) = "Product", product.places
        packed = pack_weights(product.matrix, window.group)
        bytes_of_zero = [zeros[0]] if BITS[dtype] == 8 else list(divmod(zeros[0], 256))
        constants = [packed, *constants, _begin_sums(packed, bytes_of_zero)]
    return w.node(
        f"{kind}{BITS[dtype]}",
        *(images, *map(w.constant, constants)),
        domain=DOMAIN,
        **spelled.letters,
        **describe_window(window),
        rows=rows,
        columns=columns,
        given=zeros[0],
        zero=zeros[1],
    )


def pack_weights(matrix: Array, groups: int) -> Array:
    """[K, N] as the kernel reads it: [groups, quads of K, lanes of a group's N, 4], zeros at the ends."""
    depth, width = matrix.shape[0], matrix.shape[1] // groups
    split = matrix.reshape(depth, groups, width).transpose(1, 0, 2)
    filled = np.pad(split, ((0, 0), (0, -depth % QUAD), (0, -width % LANES)))
    quads = filled.reshape(groups, -1, QUAD, filled.shape[-1])
    return np.ascontiguousarray(quads.transpose(0, 1, 3, 2))


def _begin_sums(packed: Array, zeros: Sequence[int]) -> Array:
    """What takes the zeros of the bytes off their sums: [bytes, groups, lanes]."""
    totals = packed.astype(np.int32).sum(axis=(1, 3))
    return np.stack([-zero * totals for zero in zeros]).astype(np.int32)


def describe_window(window: Geometry) -> dict[str, int]:
    """The window of an image whose size is known."""
    sides = ("top", "bottom", "left", "right", "stride_y", "stride_x", "gap_y", "gap_x")
    sizes = (*window.pads[0], *window.pads[1], *window.stride, *window.dilation)
    return {side: int(size) for side, size in zip(sides, sizes, strict=True)}
