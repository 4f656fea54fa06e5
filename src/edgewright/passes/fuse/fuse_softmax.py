"""Writes exponentials divided by their sum as Softmax."""

from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import ElementWiseDivide, ElementWiseSubtract
from edgewright.ops.elementwise_unary import ElementWiseExp
from edgewright.ops.reduce import ReduceMax, ReduceSum
from edgewright.ops.reduce_softmax import Softmax
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each
from edgewright.passes.match import find_maker, find_op, take_over


@register_pass(after=("fold_constants",), rtol=1e-5)
def fuse_softmax(graph: Graph) -> int:
    """exp(x - max(x)) / sum(exp(x - max(x))), over one axis."""
    return rewrite_each(graph, _fuse)


def _fuse(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, ElementWiseDivide):
        return False
    power = find_maker(graph, node.inputs[0], ElementWiseExp)
    total = find_op(graph, node.inputs[1], ReduceSum)
    shifted = find_maker(graph, power.inputs[0], ElementWiseSubtract) if power is not None else None
    if power is None or total is None or shifted is None:
        return False
    summed, largest = graph.producer(node.inputs[1]), graph.producer(shifted.inputs[1])
    if summed is None or summed.inputs[0] != power.outputs[0] or not total.keep_dims:
        return False
    if largest is None or largest.op != ReduceMax(axes=total.axes, keep_dims=True):
        raise Refused("what is taken off before the exponential is not the largest element of the same axes")
    if len(total.axes) != 1 or largest.inputs[0] != shifted.inputs[0]:
        raise Refused(f"its axes {list(total.axes)} are not one, or the maximum is of another value")
    take_over(graph, node, Softmax(axis=total.axes[0]), [shifted.inputs[0]])
    return True
