"""Moves the stored integers of weights instead of the numbers they are decoded to."""

from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.quant import Dequantize
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.match import drop_unread, drop_unread_constant


@register_pass(after=("merge_moves",))
def fold_moved_weights(graph: Graph) -> int:
    """A move behind the Dequantize of a constant goes before it, where it costs nothing in a run.

    The Dequantize itself stays: its encoding is what a quantizer and an artifact want to see.
    """
    return rewrite_each(graph, _fold)


def _fold(graph: Graph, node: Node) -> bool:
    before = graph.producer(node.inputs[0]) if node.inputs else None
    if before is None or not isinstance(before.op, Dequantize) or before.inputs[0] not in graph.constants:
        return False
    stored = before.inputs[0]
    moved = _move_weights(node, graph.constants[stored], graph.types[stored], before.op)
    if moved is None:
        return False
    array, tensor_type, op = moved
    name = graph.add_constant(graph.fresh_name(stored), array, tensor_type, of=stored)
    graph.set_input(node, 0, name)
    node.op = op
    drop_unread(graph, before.outputs[0])
    drop_unread_constant(graph, stored)
    return True


def _move_weights(
    node: Node, array: Array, tensor_type: TensorType, op: Dequantize
) -> tuple[Array, TensorType, Dequantize] | None:
    """The integers after a transpose or a reshape, and the decoding of them."""
    if isinstance(node.op, Transpose):
        order = node.op.perm
        decoding = replace(op, encoding=op.encoding.permuted(order))
        return np.transpose(array, order), tensor_type.permuted(order), decoding
    if not isinstance(node.op, Reshape):
        return None
    shape = tuple(int(dim) for dim in node.op.shape)
    # An axis with encodings of its own keeps its place where all up to it stays as it is.
    end = 0 if op.encoding.axis is None else op.encoding.axis + 1
    if op.encoding.block_axis is not None or shape[:end] != array.shape[:end]:
        return None
    return array.reshape(shape), tensor_type.with_shape(shape), op
