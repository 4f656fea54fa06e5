"""Writes means as such, and variances as means of squares instead of differences of large numbers."""

import math
from dataclasses import replace

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.activation import Relu
from edgewright.ops.elementwise import ElementWiseDivide, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.reduce import ReduceMean, ReduceSum
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.match import (
    drop_reader,
    find_maker,
    find_squared,
    is_number,
    swap_operands,
    take_over,
)


@register_pass(after=("fold_constants", "keep_reduced_axes"), rtol=1e-6)
def fuse_scaled_sums(graph: Graph) -> int:
    """sum(x) / n, or times 1 / n, is a mean: the sum may be larger than half precision's largest number."""
    return rewrite_each(graph, _fuse_mean)


@register_pass(after=("fuse_scaled_sums",), rtol=1e-4)
def centre_variances(graph: Graph) -> int:
    """mean(x * x) - mean(x) * mean(x), also bounded below by 0, is mean((x - mean(x))^2).

    The squares may be larger than half precision's largest number, and few bits lose the difference.
    """
    return rewrite_each(graph, _rewrite_variance)


def _fuse_mean(graph: Graph, node: Node) -> bool:
    if isinstance(node.op, ElementWiseMultiply):
        operands, is_inverse = list(swap_operands(node)), True
    elif isinstance(node.op, ElementWiseDivide):
        operands, is_inverse = [(node.inputs[0], node.inputs[1])], False
    else:
        return False
    for value, number in operands:
        total = find_maker(graph, value, ReduceSum)
        if total is None or graph.types[value] != graph.types[node.outputs[0]]:
            continue
        kind = graph.types[total.inputs[0]]
        assert isinstance(total.op, ReduceSum)
        sizes = [kind.shape[axis] for axis in total.op.axes]
        if not kind.dtype.is_float or not all(isinstance(size, int) and size for size in sizes):
            continue
        count = math.prod(int(size) for size in sizes)
        if is_number(graph, number, 1 / count if is_inverse else count, 1e-6):
            mean = ReduceMean(axes=total.op.axes, keep_dims=total.op.keep_dims)
            take_over(graph, node, mean, [total.inputs[0]])
            return True
    return False


def _rewrite_variance(graph: Graph, node: Node) -> bool:
    x = _find_spread(graph, node)
    if x is None:
        return False
    mean = find_squared(graph, node.inputs[1])
    squares = graph.producer(node.inputs[0])
    assert squares is not None
    distance = _find_distance(graph, x, mean) or _add(graph, node, ElementWiseSubtract(), [x, mean], x)
    squared = _add(graph, node, ElementWiseMultiply(), [distance, distance], x)
    result = node.outputs[0]
    readers = graph.consumers(result)
    take_over(graph, node, squares.op, [squared])
    # What is never negative needs no bound.
    if len(readers) == 1 and isinstance(readers[0].op, Relu) and result not in graph.outputs:
        made = graph.producer(result)
        assert made is not None
        drop_reader(graph, made, readers[0])
    return True


def _find_spread(graph: Graph, node: Node) -> str | None:
    """The x of mean(x * x) - mean(x) * mean(x)."""
    if not isinstance(node.op, ElementWiseSubtract):
        return None
    squares = find_maker(graph, node.inputs[0], ReduceMean)
    mean = find_maker(graph, find_squared(graph, node.inputs[1]), ReduceMean)
    if squares is None or mean is None or squares.op != mean.op:
        return None
    assert isinstance(mean.op, ReduceMean)
    x = mean.inputs[0]
    is_own = mean.op.keep_dims and find_squared(graph, squares.inputs[0]) == x
    return x if is_own and graph.types[x].dtype.is_float else None


def _find_distance(graph: Graph, x: str, mean: str) -> str | None:
    """What already is x - mean."""
    readers = (node for node in graph.consumers(mean) if isinstance(node.op, ElementWiseSubtract))
    return next((node.outputs[0] for node in readers if node.inputs == [x, mean]), None)


def _add(graph: Graph, node: Node, op: Op, inputs: list[str], like: str) -> str:
    value = graph.fresh_name(f"{node.name}_spread")
    graph.add(Node(value, op, inputs, [value], node.source), [replace(graph.types[like], layout=None)])
    return value
