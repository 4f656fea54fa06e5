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
from edgewright.passes.fold.linear import Affine, absorb, linear_before
from edgewright.passes.graph_pass import graph_pass, rewrite_each
from edgewright.passes.match import per_channel

__all__ = ["fold_channels"]


@graph_pass(after=("assign_layout",), rtol=1e-4)
def fold_channels(graph: Graph) -> int:
    """A summand of each channel becomes the bias, a factor goes into the weights."""
    return rewrite_each(graph, _fold)


def _fold(graph: Graph, node: Node) -> bool:
    for x, affine in _readings(graph, node):
        before = linear_before(graph, x)
        if before is not None and graph.types[x].shape == graph.types[node.outputs[0]].shape:
            absorb(graph, before, node, affine)
            return True
    return False


def _readings(graph: Graph, node: Node) -> Iterator[tuple[str, Affine]]:
    """The ways to read a node as a change of each channel of one operand."""
    if isinstance(node.op, (ElementWiseAdd, ElementWiseMultiply)):
        for x, other in (node.inputs, reversed(node.inputs)):
            vector = _vector(graph, x, other)
            if vector is not None:
                yield x, Affine(shift=vector) if isinstance(node.op, ElementWiseAdd) else Affine(vector)
    elif isinstance(node.op, (ElementWiseSubtract, ElementWiseDivide)):
        x, other = node.inputs
        vector = _vector(graph, x, other)
        if vector is not None:
            yield x, _inverse(node, vector)


def _inverse(node: Node, vector: Array) -> Affine:
    if isinstance(node.op, ElementWiseSubtract):
        return Affine(shift=-vector)
    with np.errstate(all="ignore"):
        return Affine(scale=(1 / vector.astype(np.float64)))


def _vector(graph: Graph, x: str, other: str) -> Array | None:
    tensor_type = graph.types[x]
    if x in graph.constants or tensor_type.rank < 1 or not tensor_type.dtype.is_float:
        return None
    return per_channel(graph, other, tensor_type.rank, tensor_type.shape[-1])
