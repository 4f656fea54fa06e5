"""Cutting a value into parts."""

from collections.abc import Sequence

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.frontends.onnx.context import Context
from edgewright.ops.rearrange_slice import Split


def cut_parts(ctx: Context, value: str, axis: int, count: int) -> list[str]:
    """Equal parts along an axis; those of a constant are views of it."""
    size = ctx.shape(value)[axis]
    if isinstance(size, int) and size % count:
        raise ShapeMismatch(f"axis {axis} of {ctx.type(value)} does not make {count} equal parts")
    if count == 1:
        return [value]
    array = ctx.graph.constants.get(value)
    if array is not None:
        return [ctx.add_constant(part) for part in np.split(array, count, axis)]
    places = tuple(size // count * i for i in range(1, count))
    return ctx.emit_all(Split(axis=axis, split_index=places), value)


def split_at(ctx: Context, value: str, places: Sequence[int]) -> list[str]:
    """Parts of the last axis that begin at the places."""
    return ctx.emit_all(Split(axis=ctx.rank(value) - 1, split_index=tuple(places)), value)
