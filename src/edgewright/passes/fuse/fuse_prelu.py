"""Writes what exporters make of a leaky or parametric Relu as Prelu."""

from collections.abc import Iterator

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import Prelu, Relu
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseGreater,
    ElementWiseGreaterEqual,
    ElementWiseLess,
    ElementWiseLessEqual,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWiseSelect,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseAbs, ElementWiseNeg
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each
from edgewright.passes.match import find_maker, number_of, swap_operands, take_over

POSITIVE = (ElementWiseGreater, ElementWiseGreaterEqual)
NEGATIVE = (ElementWiseLess, ElementWiseLessEqual)


@register_pass(after=("fold_constants", "fuse_clip"), rtol=1e-6)
def fuse_prelu(graph: Graph) -> int:
    """max(x, a * x), relu(x) + a * min(x, 0), relu(x) - a * relu(-x), and x > 0 ? x : a * x.

    TensorFlow 1 writes relu(x) + a * (x - |x|) / 2.
    """
    return rewrite_each(graph, _fuse)


def _fuse(graph: Graph, node: Node) -> bool:
    reading = next(_list_readings(graph, node), None)
    if reading is None or not graph.types[node.outputs[0]].dtype.is_float:
        return False
    x, slope = reading
    if graph.types[x].shape != graph.types[node.outputs[0]].shape:
        raise Refused("its slope makes the result larger than its input")
    take_over(graph, node, Prelu(), [x, slope])
    return True


def _list_readings(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    """The input and the slope, for each form that fits."""
    if isinstance(node.op, ElementWiseMaximum):
        yield from _read_maximum(graph, node)
    elif isinstance(node.op, ElementWiseSelect):
        yield from _read_selection(graph, node)
    elif isinstance(node.op, ElementWiseAdd):
        for positive, negative in swap_operands(node):
            yield from _sum(graph, positive, negative, sign=1)
    elif isinstance(node.op, ElementWiseSubtract):
        yield from _sum(graph, node.inputs[0], node.inputs[1], sign=-1)


def _read_maximum(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    for x, product in swap_operands(node):
        for factor, slope in _list_constant_factors(graph, product):
            if factor == x and np.all(graph.constants[slope] <= 1):
                yield x, slope


def _read_selection(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    condition, first, second = node.inputs
    test = graph.producer(condition)
    if test is None or not isinstance(test.op, POSITIVE + NEGATIVE) or number_of(graph, test.inputs[1]) != 0:
        return
    kept, changed = (first, second) if isinstance(test.op, POSITIVE) else (second, first)
    for factor, slope in _list_constant_factors(graph, changed):
        if kept == factor == test.inputs[0]:
            yield kept, slope


def _sum(graph: Graph, positive: str, negative: str, sign: int) -> Iterator[tuple[str, str]]:
    relu = find_maker(graph, positive, Relu)
    if relu is None:
        return
    x = relu.inputs[0]
    for factor, slope in _list_constant_factors(graph, negative):
        flip = _find_negative_part(graph, factor, x)
        if flip:
            array = graph.constants[slope]
            yield x, slope if flip * sign > 0 else _negate_slope(graph, slope, array)
        elif _is_twice_negative(graph, factor, x):
            yield x, _scale_slope(graph, slope, graph.constants[slope] * (2 * sign))
        for inner, other in _list_constant_factors(graph, factor):
            if _is_twice_negative(graph, inner, x):
                product = graph.constants[slope] * graph.constants[other]
                yield x, _scale_slope(graph, slope, product * (2 * sign))


def _find_negative_part(graph: Graph, value: str, x: str) -> int:
    """1 where the value is min(x, 0), -1 where it is relu(-x), else 0."""
    least = find_maker(graph, value, ElementWiseMinimum)
    if any(other == x and number_of(graph, zero) == 0 for other, zero in swap_operands(least)):
        return 1
    relu = find_maker(graph, value, Relu)
    negated = find_maker(graph, relu.inputs[0], ElementWiseNeg) if relu is not None else None
    return -1 if negated is not None and negated.inputs[0] == x else 0


def _is_twice_negative(graph: Graph, value: str, x: str) -> bool:
    """Whether a value is x - |x|, which is 2 * min(x, 0): TensorFlow 1 writes Prelu so."""
    node = find_maker(graph, value, ElementWiseSubtract)
    size = find_maker(graph, node.inputs[1], ElementWiseAbs) if node is not None else None
    return node is not None and size is not None and node.inputs[0] == size.inputs[0] == x


def _negate_slope(graph: Graph, slope: str, array: Array) -> str:
    return graph.add_constant(graph.fresh_name(slope), -array, graph.types[slope])


def _scale_slope(graph: Graph, slope: str, array: Array) -> str:
    return graph.add_constant(graph.fresh_name(slope), array.astype(graph.constants[slope].dtype))


def _list_constant_factors(graph: Graph, value: str) -> Iterator[tuple[str, str]]:
    """The factors of a product by a constant: the other one, and the constant."""
    for factor, constant in swap_operands(find_maker(graph, value, ElementWiseMultiply)):
        if constant in graph.constants:
            yield factor, constant
