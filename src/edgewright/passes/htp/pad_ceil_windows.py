"""Writes pools whose window count is rounded up as padded ones: HTP's 8-bit kernels read past the edge."""

from dataclasses import replace

from edgewright.ir.graph import Graph, Node
from edgewright.ops.pool import PoolAvg2d, PoolMax2d, Rounding, room_behind
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each


@register_pass()
def pad_ceil_windows(graph: Graph) -> int:
    """The padding behind grows until the windows fit; it does not count."""
    return rewrite_each(graph, _fit)


def _fit(graph: Graph, node: Node) -> bool:
    op = node.op
    if not isinstance(op, PoolAvg2d | PoolMax2d) or op.rounding_mode != Rounding.CEIL:
        return False
    x, result = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    if not (x.is_static and result.is_static):
        return False
    size, count = x.static_shape()[1:-1], result.static_shape()[1:-1]
    pads = room_behind(size, count, op.filter_size, op.geometry())
    if isinstance(op, PoolAvg2d) and op.count_pad_for_edges and pads != op.pad_amount:
        raise Refused("its padding counts, what is rounded up does not")
    node.op = replace(op, rounding_mode=Rounding.FLOOR, pad_amount=pads)
    return True
