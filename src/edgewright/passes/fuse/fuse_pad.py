"""Lets convolutions and maximum pools do the padding before them, where it means the same."""

import math
from dataclasses import replace
from typing import Any

from edgewright.ir.dims import Dim
from edgewright.ir.graph import Graph, Node
from edgewright.ops.conv import Convolution
from edgewright.ops.pool import PoolMax2d, PoolMax3d, Rounding
from edgewright.ops.rearrange_fill import Pad, Scheme
from edgewright.passes.graph_pass import Refused, register_pass, rewrite_each
from edgewright.passes.match import drop_unread, find_maker

Pair = tuple[Dim, Dim]


@register_pass(after=("assign_layout",))
def fuse_pad(graph: Graph) -> int:
    """Zeros before a convolution, minus infinity before a maximum."""
    return rewrite_each(graph, _fuse)


def _fuse(graph: Graph, node: Node) -> bool:
    pad = find_maker(graph, node.inputs[0], Pad) if node.inputs else None
    if pad is None or not isinstance(node.op, (Convolution, PoolMax2d, PoolMax3d)):
        return False
    assert isinstance(pad.op, Pad)
    _check(node, pad.op)
    added = pad.op.pad_amount[1:-1]
    graph.set_input(node, 0, pad.inputs[0])
    own: Any = node.op  # every op of these kinds has the param, by its own type
    node.op = replace(own, pad_amount=_sum(own.pad_amount, added))
    drop_unread(graph, pad.outputs[0])
    return True


def _check(node: Node, pad: Pad) -> None:
    padding = 0.0 if isinstance(node.op, Convolution) else -math.inf
    if pad.scheme != Scheme.CONSTANT or float(pad.pad_constant_value) != padding:
        raise Refused(f"it pads by {pad.scheme.name} {pad.pad_constant_value}, expected {padding}")
    if pad.pad_amount[0] != (0, 0) or pad.pad_amount[-1] != (0, 0):
        raise Refused("it pads batch or channels")
    if isinstance(node.op, (PoolMax2d, PoolMax3d)) and node.op.rounding_mode != Rounding.FLOOR:
        raise Refused("windows are rounded up, which depends on what is padding")


def _sum(own: Any, added: tuple[Pair, ...]) -> Any:
    """A pair for each axis; the 1-D convolution has one pair only."""
    if own and not isinstance(own[0], tuple):
        return (own[0] + added[0][0], own[1] + added[0][1])
    return tuple((a + b, c + d) for (a, c), (b, d) in zip(own, added, strict=True))
