"""Places along an axis, for sizes that may be known only at run time."""

import numpy as np
import onnx

from edgewright.core.numbers import DType
from edgewright.frontends.onnx.context import Context
from edgewright.ops.cast import Cast


def count_along(ctx: Context, value: str, axis: int) -> str:
    """0, 1, 2 ... for the size of an axis of a value, int32."""
    known = ctx.shape(value)[axis]
    if isinstance(known, int):
        return ctx.add_constant(np.arange(known, dtype=np.int32))
    bounds = [
        ctx.add_constant(np.asarray(0, np.int64)),
        _take_along(ctx, value, axis),
        ctx.add_constant(np.asarray(1, np.int64)),
    ]
    steps = ctx.translate(onnx.helper.make_node("Range", ["a", "b", "c"], ["r"]), bounds)[0]
    return ctx.emit(Cast(dtype=DType.INT_32), steps)


def emit_size(ctx: Context, value: str, axis: int) -> str:
    """The size of an axis of a value as a number of the graph, int32."""
    known = ctx.shape(value)[axis]
    if isinstance(known, int):
        return ctx.add_constant(np.asarray(known, np.int32))
    return ctx.emit(Cast(dtype=DType.INT_32), _take_along(ctx, value, axis))


def _take_along(ctx: Context, value: str, axis: int) -> str:
    shape = ctx.translate(onnx.helper.make_node("Shape", ["x"], ["s"]), [value])[0]
    place = ctx.add_constant(np.asarray(axis, np.int64))
    return ctx.translate(onnx.helper.make_node("Gather", ["s", "i"], ["n"]), [shape, place])[0]
