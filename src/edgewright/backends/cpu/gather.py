"""Picking and writing elements by index in the engine."""

import numpy as np
import onnx

from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.writer import ENGINE_CODES, Writer
from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ops.gather import BatchPermutation, Gather, GatherElements, GatherNd, NonZero, OneHot
from edgewright.ops.gather_scatter import Reduction, ScatterElements, ScatterNd


@lowers(Gather)
def gather(w: Writer, op: Gather, inputs: list[str], node: Node) -> str:
    """Gather."""
    return w.node("Gather", inputs[0], _cast_indices(w, inputs, node), axis=op.axis)


@lowers(BatchPermutation)
def batch_permutation(w: Writer, op: BatchPermutation, inputs: list[str], node: Node) -> str:
    """Gather along the first axis."""
    return w.node("Gather", inputs[0], _cast_indices(w, inputs, node), axis=0)


@lowers(GatherElements)
def gather_elements(w: Writer, op: GatherElements, inputs: list[str], node: Node) -> str:
    """GatherElements."""
    return w.node("GatherElements", inputs[0], _cast_indices(w, inputs, node), axis=op.axis)


@lowers(GatherNd)
def gather_nd(w: Writer, op: GatherNd, inputs: list[str], node: Node) -> str:
    """GatherND."""
    indices = _cast_indices(w, inputs, node, is_long=True)
    return w.node("GatherND", inputs[0], indices, batch_dims=op.batch_dims)


@lowers(ScatterElements)
def scatter_elements(w: Writer, op: ScatterElements, inputs: list[str], node: Node) -> str:
    """ScatterElements."""
    indices = _cast_indices(w, inputs, node)
    reduction = Reduction(op.reduction).name.lower()
    return w.node("ScatterElements", inputs[0], indices, inputs[2], axis=op.axis, reduction=reduction)


@lowers(ScatterNd)
def scatter_nd(w: Writer, op: ScatterNd, inputs: list[str], node: Node) -> str:
    """ScatterND."""
    indices = _cast_indices(w, inputs, node, is_long=True)
    return w.node("ScatterND", inputs[0], indices, inputs[2], reduction=Reduction(op.reduction).name.lower())


@lowers(OneHot)
def one_hot(w: Writer, op: OneHot, inputs: list[str], node: Node) -> str:
    """OneHot."""
    values = w.constant(np.asarray([op.off_value, op.on_value]).astype(op.dtype.numpy))
    axis = -1 if op.axis is None else op.axis
    indices = inputs[0]
    if w.type(node.inputs[0]).dtype != DType.INT_64:
        indices = w.node("Cast", indices, to=onnx.TensorProto.INT64)
    return w.node("OneHot", indices, w.ints([op.depth]), values, axis=axis)


@lowers(NonZero)
def non_zero(w: Writer, op: NonZero, inputs: list[str], node: Node) -> str:
    """NonZero gives a column for each element, QNN a row."""
    found = w.transpose(w.node("NonZero", inputs[0]), (1, 0))
    return found if op.dtype == DType.INT_64 else w.node("Cast", found, to=ENGINE_CODES[op.dtype])


def _cast_indices(w: Writer, inputs: list[str], node: Node, *, is_long: bool = False) -> str:
    """The indices in a datatype that the engine takes."""
    dtype = w.type(node.inputs[1]).dtype
    if dtype == DType.INT_64 or (dtype == DType.INT_32 and not is_long):
        return inputs[1]
    return w.node("Cast", inputs[1], to=onnx.TensorProto.INT64)
