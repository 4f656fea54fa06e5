"""Writes clipped lines as HardSigmoid, and their product with their input as HardSwish."""

import math
from collections.abc import Iterator

from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import HardSigmoid, HardSwish
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseDivide, ElementWiseMultiply
from edgewright.ops.elementwise_generic import ElementWiseNeuron, NeuronOperation
from edgewright.passes.fuse.fuse_clip import find_bounds
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each
from edgewright.passes.match import NEAR, find_maker, number_of, swap_operands, take_over

# A line through factor * x + summand, kept between 0 and a limit.
Line = tuple[str, float, float]


@register_pass(after=("fold_constants", "fuse_clip"), rtol=1e-5)
def fuse_hard_sigmoid(graph: Graph) -> int:
    """clip(a * x + b, 0, 1), and clip(x + b, 0, m) / m."""
    return rewrite_each(graph, _fuse_sigmoid)


@register_pass(after=("fuse_hard_sigmoid",), rtol=1e-5)
def fuse_hard_swish(graph: Graph) -> int:
    """Products x * HardSigmoid(x) of slope 1/6 and offset 1/2, and (x * relu6(x + 3)) / 6."""
    return rewrite_each(graph, _fuse_swish)


def _fuse_sigmoid(graph: Graph, node: Node) -> bool:
    for value, factor in _list_scaled(graph, node):
        clip = find_bounds(graph, graph.producer(value))
        if clip is None or clip[1][0] != 0 or not math.isclose(clip[1][1] * factor, 1, rel_tol=NEAR):
            continue
        x, slope, offset = _find_line(graph, clip[0])
        if graph.types[x].shape != graph.types[node.outputs[0]].shape:
            raise Refused("a constant makes the result larger than its input")
        if (slope, offset) == (1.0, 0.0) and factor == 1.0:
            raise Refused("it clips its input and nothing else")
        op = ElementWiseNeuron(
            operation=NeuronOperation.HARD_SIGMOID, alpha=slope * factor, beta=offset * factor
        )
        take_over(graph, node, op, [x])
        return True
    return False


def _list_scaled(graph: Graph, node: Node) -> Iterator[tuple[str, float]]:
    """A value and the number by which the node multiplies it; the node's own output with 1."""
    if isinstance(node.op, ElementWiseMultiply):
        for value, other in swap_operands(node):
            number = number_of(graph, other)
            if number:
                yield value, number
    elif isinstance(node.op, ElementWiseDivide):
        number = number_of(graph, node.inputs[1])
        if number:
            yield node.inputs[0], 1 / number
    elif find_bounds(graph, node) is not None:
        yield node.outputs[0], 1.0


def _find_line(graph: Graph, value: str) -> Line:
    """The x, slope and offset that a value is made of."""
    offset = 0.0
    for other, constant in swap_operands(find_maker(graph, value, ElementWiseAdd)):
        number = number_of(graph, constant)
        if number is not None and graph.types[other].shape == graph.types[value].shape:
            value, offset = other, number
            break
    node = graph.producer(value)
    for other, factor in _list_scaled(graph, node) if node is not None else ():
        if other != value and graph.types[other].shape == graph.types[value].shape:
            return other, factor, offset
    return value, 1.0, offset


def _fuse_swish(graph: Graph, node: Node) -> bool:
    x = _find_gated(graph, node)
    if x is None or graph.types[x].shape != graph.types[node.outputs[0]].shape:
        return False
    take_over(graph, node, HardSwish(), [x])
    return True


def _find_gated(graph: Graph, node: Node) -> str | None:
    """The x of x * gate(x), where the division by 6 stands inside or outside."""
    for product, factor in [(node.outputs[0], 1.0), *_list_scaled(graph, node)]:
        for x, gate in swap_operands(find_maker(graph, product, ElementWiseMultiply)):
            if _is_gate(graph, gate, x, factor):
                return x
    return None


def _is_gate(graph: Graph, value: str, x: str, factor: float) -> bool:
    """Whether a value times the factor is clip(x / 6 + 1/2, 0, 1)."""
    node = graph.producer(value)
    if node is None:
        return False
    if isinstance(node.op, ElementWiseNeuron):
        specific = node.op.specific()
        if not isinstance(specific, HardSigmoid) or factor != 1.0:
            return False
        line = node.inputs[0], specific.alpha, specific.beta
    else:
        clip = find_bounds(graph, node)
        if clip is None or clip[1] != (0.0, 6.0) or not math.isclose(factor, 1 / 6, rel_tol=NEAR):
            return False
        source, slope, offset = _find_line(graph, clip[0])
        line = source, slope / 6, offset / 6
    is_swish = math.isclose(line[1], 1 / 6, rel_tol=NEAR) and math.isclose(line[2], 0.5, rel_tol=NEAR)
    return line[0] == x and is_swish
