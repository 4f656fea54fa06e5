"""Folds sums, products and quotients with one constant a channel into the weights and bias before them."""

from collections.abc import Iterator

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.rearrange import Reshape
from edgewright.passes.fold.linear import Affine, absorb, find_product, find_reshape
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.match import drop_reader, find_maker, read_channel_vector

# A number that stands for every channel is written out for each of them: not for a bomb's.
MOST_CHANNELS = 1 << 20


@register_pass(after=("assign_layout",), rtol=1e-4)
def fold_channels(graph: Graph) -> int:
    """A summand of each channel becomes the bias, a factor goes into the weights."""
    return rewrite_each(graph, fold_node)


def fold_node(graph: Graph, node: Node) -> bool:
    """Folds one node, if it can be read as a change of each channel."""
    for x, affine in _list_readings(graph, node):
        between = find_reshape(graph, x)
        before = find_product(graph, between.inputs[0] if between is not None else x)
        if before is None or graph.types[x].shape != graph.types[node.outputs[0]].shape:
            continue
        changed = absorb(graph, before, affine)
        drop_reader(graph, between or changed, node)
        return True
    return False


def _list_readings(graph: Graph, node: Node) -> Iterator[tuple[str, Affine]]:
    """The ways to read a node as a change of each channel of one operand."""
    if isinstance(node.op, (ElementWiseAdd, ElementWiseMultiply)):
        for x, other in (node.inputs, reversed(node.inputs)):
            vector = _read_vector(graph, x, other)
            if vector is not None:
                yield x, Affine(shift=vector) if isinstance(node.op, ElementWiseAdd) else Affine(vector)
    elif isinstance(node.op, (ElementWiseSubtract, ElementWiseDivide)):
        x, other = node.inputs
        vector = _read_vector(graph, x, other)
        if vector is not None:
            yield x, _invert_operand(node, vector)


def _invert_operand(node: Node, vector: Array) -> Affine:
    if isinstance(node.op, ElementWiseSubtract):
        return Affine(shift=-vector)
    with np.errstate(all="ignore"):
        return Affine(scale=(1 / vector.astype(np.float64)))


def _read_vector(graph: Graph, x: str, other: str) -> Array | None:
    """The other operand as one number for each channel, also where a reshape has split the channels."""
    tensor_type = graph.types[x]
    if x in graph.constants or tensor_type.rank < 1 or not tensor_type.dtype.is_float:
        return None
    between = find_maker(graph, x, Reshape)
    (width,) = graph.types[x if between is None else between.inputs[0]].shape[-1:] or (0,)
    if not isinstance(width, int) or width > MOST_CHANNELS:
        return None
    if between is None:
        return read_channel_vector(graph, other, tensor_type.rank, width)
    array = graph.constants.get(other)
    if array is None or array.ndim > tensor_type.rank:
        return None
    if array.size == 1:
        return np.broadcast_to(array.reshape(-1), (width,))
    trimmed = array.shape[next(axis for axis, size in enumerate(array.shape) if size != 1) :]
    is_whole = array.size == width and trimmed == tensor_type.shape[tensor_type.rank - len(trimmed) :]
    return array.reshape(-1) if is_whole else None
