"""Writes 1 / x as a division: HTP has no op for it."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise import ElementWiseDivide
from edgewright.ops.elementwise_generic import ElementWiseUnary, UnaryOperation
from edgewright.ops.elementwise_unary import Reciprocal
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def replace_reciprocals(graph: Graph) -> int:
    """One, in the datatype of x, over x."""
    return rewrite_each(graph, _divide)


def _divide(graph: Graph, node: Node) -> bool:
    if not _is_reciprocal(node.op):
        return False
    one = graph.fresh_name(f"{node.name}_one")
    graph.add_constant(one, *_make_one(graph.types[node.inputs[0]]))
    types = graph.output_types(node)
    graph.remove(node)
    inputs = [one, node.inputs[0]]
    graph.add(Node(node.name, ElementWiseDivide(), inputs, node.outputs, node.source), types)
    return True


def _is_reciprocal(op: Op) -> bool:
    is_generic = isinstance(op, ElementWiseUnary) and op.operation == UnaryOperation.RECIPROCAL
    return is_generic or isinstance(op, Reciprocal)


def _make_one(x: TensorType) -> tuple[Array, TensorType]:
    """The number 1, as the largest integer where x is stored in fixed point."""
    shape = (1,) * max(x.rank, 1)
    if x.encoding is None:
        return np.ones(shape, x.dtype.numpy), TensorType(shape, x.dtype)
    _, high = x.encoding.limits(x.dtype)
    encoding = Encoding((1 / high,), (0,), None, x.encoding.bitwidth)
    return np.full(shape, high, x.dtype.numpy), TensorType(shape, x.dtype, None, encoding)
