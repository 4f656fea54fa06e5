"""Decompositions in ONNX's own terms: other families' translations called by the name of their op."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.source import SourceNode


def emit_onnx_op(ctx: Context, op_type: str, *inputs: str, **attributes: Any) -> str:
    """The first output of an ONNX op applied to values; its meaning is that of the model's opset."""
    names = [f"x{index}" if value else "" for index, value in enumerate(inputs)]
    given = {name: value for name, value in attributes.items() if value != []}
    return ctx.translate(onnx.helper.make_node(op_type, names, ["y"], **given), list(inputs))[0]


def emit_reduction(ctx: Context, node: SourceNode, op_type: str, value: str, axes: Sequence[int]) -> str:
    """A reduction that keeps its axes; opset 18 turned them from an attribute into an input."""
    newest = 13 if op_type == "ReduceSum" else 18
    if node.version < newest:
        return emit_onnx_op(ctx, op_type, value, axes=list(axes), keepdims=1)
    return emit_onnx_op(ctx, op_type, value, ctx.add_constant(np.asarray(axes, np.int64)), keepdims=1)


def take_along(ctx: Context, value: str, indices: Sequence[int], axis: int) -> str:
    """Slices of a value at known places along an axis; itself where that changes nothing."""
    if list(indices) == list(range(len(indices))) and ctx.shape(value)[axis] == len(indices):
        return value
    return emit_onnx_op(ctx, "Gather", value, ctx.add_constant(np.asarray(indices, np.int64)), axis=axis)
