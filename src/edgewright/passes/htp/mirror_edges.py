"""Writes padding that repeats the edge as padding that mirrors: HTP computes the first wrongly."""

from collections.abc import Iterator
from dataclasses import replace

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange_fill import Pad, Scheme
from edgewright.passes.graph_pass import register_pass, rewrite_each

Amounts = tuple[tuple[int, int], ...]


@register_pass()
def mirror_edges(graph: Graph) -> int:
    """Mirrored are as many elements as are equal already: 1, then 2, then 4, until there are enough."""
    return rewrite_each(graph, _replace_edge)


def _replace_edge(graph: Graph, node: Node) -> bool:
    x, result = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    if not isinstance(node.op, Pad) or node.op.scheme != Scheme.EDGE:
        return False
    if not (x.is_static and result.is_static):
        return False
    graph.remove(node)
    value, shape = node.inputs[0], x.static_shape()
    for amounts in _split_amounts(node.op.pad_amount):  # type: ignore[arg-type]
        shape = tuple(size + before + after for size, (before, after) in zip(shape, amounts, strict=True))
        is_last = shape == result.static_shape()
        padded = node.outputs[0] if is_last else graph.fresh_name(value)
        op = replace(node.op, scheme=Scheme.MIRROR_SYMMETRIC, pad_amount=amounts)
        graph.add(Node(node.name, op, [value], [padded], node.source), [replace(result, shape=shape)])
        value = padded
    return True


def _split_amounts(amounts: Amounts) -> Iterator[Amounts]:
    """What each of several paddings adds: never more than has been made equal by those before it."""
    equal, rest = 1, amounts
    while True:
        step = tuple((min(before, equal), min(after, equal)) for before, after in rest)
        yield step
        rest = tuple((b - s, a - t) for (b, a), (s, t) in zip(rest, step, strict=True))
        if not any(map(any, rest)):
            return
        equal *= 2
