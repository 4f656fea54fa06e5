"""Where a value may be cut because nothing that reads it can tell: a sigmoid is flat far from zero."""

import math

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.activation import Elu, Gelu, HardSigmoid, HardSwish, Sigmoid, Tanh
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.elementwise_generic import Generic
from edgewright.ops.reduce_softmax import MaskedSoftmax, Softmax
from edgewright.quantize.encodings import covered_range
from edgewright.quantize.rules import is_invariant

__all__ = ["FlatEnds"]

FLAT_BELOW: tuple[type[Op], ...] = (Elu, Gelu, HardSwish, MaskedSoftmax, Softmax)
FLAT_AROUND: tuple[type[Op], ...] = (HardSigmoid, Sigmoid, Tanh)


class FlatEnds:
    """The ends that an encoding may leave out without a loss; infinite where it may not."""

    def __init__(self, graph: Graph, value: str) -> None:
        self.low, self.high = -math.inf, math.inf
        encoding = graph.types[value].encoding
        is_below, is_above = _flat_sides(graph, value)
        if encoding is not None and len(encoding.scales) == 1 and (is_below or is_above):
            low, high = covered_range(encoding, graph.types[value].dtype)
            self.low = float(low[0]) if is_below else -math.inf
            self.high = float(high[0]) if is_above else math.inf

    def cut(self, array: Array) -> Array:
        """Values as those who read them see them."""
        if math.isinf(self.low) and math.isinf(self.high):
            return array
        return np.clip(array, self.low, self.high)


def _flat_sides(graph: Graph, value: str) -> tuple[bool, bool]:
    """Whether all readers of a value are flat far below zero, and far above."""
    readers = graph.consumers(value)
    if value in graph.outputs or not readers:
        return False, False
    sides = [_of_reader(graph, node, value) for node in readers]
    return all(below for below, _ in sides), all(above for _, above in sides)


def _of_reader(graph: Graph, node: Node, value: str) -> tuple[bool, bool]:
    op = node.op.specific() if isinstance(node.op, Generic) else node.op
    if isinstance(op, FLAT_AROUND):
        # Of a swish, x * sigmoid(x), the product sees more than the gate.
        return True, not any(_is_gated(graph, other, value) for other in graph.consumers(value))
    if is_invariant(op) and node.inputs[0] == value and len(node.inputs) == 1:
        return _flat_sides(graph, node.outputs[0])
    return isinstance(op, FLAT_BELOW) or _is_gated(graph, node, value), False


def _is_gated(graph: Graph, node: Node, value: str) -> bool:
    """Whether a node multiplies a value with its own sigmoid."""
    if not isinstance(node.op, ElementWiseMultiply | Generic) or value not in node.inputs:
        return False
    makers = [graph.producer(other) for other in node.inputs if other != value]
    return any(
        maker is not None and isinstance(maker.op, Sigmoid | HardSigmoid) and maker.inputs[0] == value
        for maker in makers
    )
