"""Writes a cast of real numbers to bool as a comparison: HTP's own cast cuts 0.5 to false."""

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import ElementWiseNotEqual
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass(after=("gather_integers",))
def compare_to_zero(graph: Graph) -> int:
    """Any number but 0 is true."""
    return rewrite_each(graph, _compare)


def _compare(graph: Graph, node: Node) -> bool:
    x = graph.types[node.inputs[0]]
    if not isinstance(node.op, Cast) or node.op.dtype != DType.BOOL_8 or not _is_cut(x):
        return False
    shape = (1,) * max(x.rank, 1)
    zero = graph.fresh_name(f"{node.name}_zero")
    graph.add_constant(zero, np.zeros(shape, x.dtype.numpy), TensorType(shape, x.dtype))
    types = graph.output_types(node)
    graph.remove(node)
    inputs = [node.inputs[0], zero]
    graph.add(Node(node.name, ElementWiseNotEqual(), inputs, node.outputs, node.source), types)
    return True


def _is_cut(x: TensorType) -> bool:
    """Fractions become false on HTP, and so do negative integers."""
    return x.dtype.is_float or x.dtype == DType.INT_32
