"""Writes lower and upper bounds as Relu, Relu1, Relu6 or ReluMinMax."""

import math

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.activation import Relu, Relu1, Relu6, ReluMinMax
from edgewright.ops.elementwise import ElementWiseMaximum, ElementWiseMinimum
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each
from edgewright.passes.match import number_of, swap_operands, take_over

NAMED: dict[tuple[float, float], Op] = {(0.0, math.inf): Relu(), (-1.0, 1.0): Relu1(), (0.0, 6.0): Relu6()}
Bounds = tuple[float, float]


@register_pass(after=("fold_constants",))
def fuse_clip(graph: Graph) -> int:
    """One op for all bounds of a value (a double Relu too), and bounds that have a name by their name."""
    return rewrite_each(graph, _fuse)


def find_bounds(graph: Graph, node: Node | None) -> tuple[str, Bounds] | None:
    """The value that a node keeps between two numbers, and the numbers; None for any other node."""
    if node is None or not graph.types[node.outputs[0]].dtype.is_float:
        return None
    for bounds, op in NAMED.items():
        if node.op == op:
            return node.inputs[0], bounds
    if isinstance(node.op, ReluMinMax):
        return node.inputs[0], (node.op.min_value, node.op.max_value)
    if not isinstance(node.op, (ElementWiseMaximum, ElementWiseMinimum)):
        return None
    for x, other in swap_operands(node):
        number = number_of(graph, other)
        if number is not None and graph.types[x].shape == graph.types[node.outputs[0]].shape:
            is_lower = isinstance(node.op, ElementWiseMaximum)
            return x, (number, math.inf) if is_lower else (-math.inf, number)
    return None


def _fuse(graph: Graph, node: Node) -> bool:
    outer = find_bounds(graph, node)
    if outer is None:
        return False
    inner = find_bounds(graph, graph.producer(outer[0]))
    x, (low, high) = inner or outer
    if inner is not None:
        low, high = max(low, outer[1][0]), min(high, outer[1][1])
    if math.isnan(low) or math.isnan(high) or low > high:
        raise Refused(f"its bounds {low} and {high} cross")
    op = NAMED.get((low, high)) or ReluMinMax(min_value=low, max_value=high)
    is_one_sided = math.isinf(low) or math.isinf(high)
    if inner is None and (node.op == op or (is_one_sided and not isinstance(op, Relu))):
        return False
    if is_one_sided and not isinstance(op, Relu):
        raise Refused("it has one bound only, which a minimum or maximum says")
    take_over(graph, node, op, [x])
    return True
