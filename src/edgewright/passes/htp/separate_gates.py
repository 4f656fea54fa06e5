"""Keeps a sigmoid of 16 bits apart from the product with its own input where HTP's result for both is noise.

That is so in images of 9 to 12 rows, and in higher ones within a block along the other axes (SDK 2.51).
"""

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Sigmoid
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.passes.graph_pass import register_pass, rewrite_each

# An image's axes; rows that are always and never computed wrongly, columns and channels of a block.
IMAGE_AXES, RIGHT_ROWS, WRONG_ROWS, BLOCK_COLUMNS, BLOCK_CHANNELS = 4, 8, 12, 8, 32
ONE = 1 << 15


@register_pass()
def separate_gates(graph: Graph) -> int:
    """A product with one, which changes no integer, between sigmoid and product."""
    return rewrite_each(graph, _separate)


def find_gated(graph: Graph, node: Node, *, is_shared: bool = False) -> str:
    """The value that is multiplied with its own sigmoid, which others may read as well; "" where none is."""
    for value, gate in (node.inputs, node.inputs[::-1]):
        maker = graph.producer(gate)
        if maker is not None and type(maker.op) is Sigmoid and maker.inputs == [value]:
            return value if is_shared or graph.is_used_once(gate) else ""
    return ""


def is_gated_wrongly(graph: Graph, value: str) -> bool:
    """Whether a value times its own sigmoid is noise: what no input is, in images of these sizes."""
    kind = graph.types[value]
    if kind.dtype != DType.UFIXED_POINT_16 or kind.rank != IMAGE_AXES or not kind.is_static:
        return False
    _, rows, columns, channels = kind.static_shape()
    is_small = columns <= BLOCK_COLUMNS and channels <= BLOCK_CHANNELS
    return graph.producer(value) is not None and rows > RIGHT_ROWS and (rows <= WRONG_ROWS or is_small)


def _separate(graph: Graph, node: Node) -> bool:
    if type(node.op.specific()) is not ElementWiseMultiply:
        return False
    value = find_gated(graph, node, is_shared=True)
    if not value or not is_gated_wrongly(graph, value):
        return False
    index = 1 - node.inputs.index(value)
    gate = node.inputs[index]
    one = TensorType((1,), DType.UFIXED_POINT_16, None, Encoding((1 / ONE,), (0,), bitwidth=16))
    factor = graph.add_constant(graph.fresh_name(f"{node.name}_one"), np.full(1, ONE, np.uint16), one)
    apart = graph.fresh_name(gate)
    name = graph.fresh_name(f"{node.name}_gate")
    graph.add(Node(name, ElementWiseMultiply(), [gate, factor], [apart], node.source), [graph.types[gate]])
    graph.set_input(node, index, apart)
    return True
