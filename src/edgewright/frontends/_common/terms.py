"""Small decompositions that every frontend writes its ops in."""

from collections.abc import Sequence

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.frontends._common.builder import Builder
from edgewright.ir.dims import Dim, Shape, maximum
from edgewright.ops.broadcast import broadcast_shapes
from edgewright.ops.cast import Cast
from edgewright.ops.gather import NonZero
from edgewright.ops.rearrange_fill import Tile
from edgewright.ops.rearrange_slice import Range, StridedSlice


def cast_to(ctx: Builder, value: str, dtype: DType) -> str:
    """The value in another datatype; itself where it has it already."""
    return value if ctx.dtype(value) == dtype else ctx.emit(Cast(dtype=dtype), value)


def emit_slice(ctx: Builder, value: str, ranges: Sequence[Range]) -> str:
    """The value cut on each axis; itself where that takes nothing away."""
    if all(part == (0, dim, 1) for part, dim in zip(ranges, ctx.shape(value), strict=True)):
        return value
    return ctx.emit(StridedSlice(ranges=tuple(ranges)), value)


def read_number(ctx: Builder, value: str) -> float | int | bool:
    """The one element of a value that must be known."""
    array, dtype = ctx.read_array(value), ctx.dtype(value)
    if array.size != 1 or array.dtype == object or dtype.is_complex:
        raise BadInput(f"{ctx.type(value)} is given, expected one number", do="give one real number")
    item = array.reshape(-1)[0]
    if array.dtype == np.bool_:
        return bool(item)
    return float(item) if dtype.is_float else int(item)


def emit_nonzero_places(ctx: Builder, value: str, hint: str) -> str:
    """The index tuples of what is not 0, one a row; how many there are, only a run can tell."""
    known = ctx.find_array(value)
    if known is not None:
        return ctx.add_constant(np.argwhere(known).astype(np.int64))
    return ctx.emit(NonZero(count=ctx.count_at_run(hint), dtype=DType.INT_64), value)


def broadcast_to(ctx: Builder, value: str, target: Shape) -> str:
    """The value repeated along axes of size 1 so that it has the shape, or more where it is longer."""
    if any(isinstance(dim, int) and dim < 0 for dim in target):
        raise ShapeMismatch(f"shape {list(target)} has a negative size", do="use sizes of 0 or more")
    shape = broadcast_shapes(ctx.shape(value), target)
    padded = (1,) * (len(shape) - ctx.rank(value)) + ctx.shape(value)
    targets = (1,) * (len(shape) - len(target)) + tuple(target)
    multiples = tuple(_find_multiple(dim, target) for dim, target in zip(padded, targets, strict=True))
    aligned = ctx.reshape(value, padded)
    if all(multiple == 1 for multiple in multiples):
        return aligned
    tiled = ctx.emit(Tile(multiples=multiples), aligned)
    # Of two symbolic sizes either may be 1, as the tile's size says; a number is the size whatever the other.
    sizes = zip(shape, ctx.shape(tiled), strict=True)
    return ctx.reshape(tiled, tuple(dim if isinstance(dim, int) else exact for dim, exact in sizes))


def _find_multiple(dim: Dim, target: Dim) -> Dim:
    if dim == 1:
        return target
    if target in (1, dim) or isinstance(dim, int):
        return 1
    return maximum(target // maximum(dim, 1), 1)
