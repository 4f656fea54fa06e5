"""Normalizes small images with many channels as one column: HTP's kernel for 16 bits gives nonsense there.

GroupNorm of one group, of images of up to 8 rows with 256 channels or more, whose op before keeps them in
blocks (SDK 2.51, Hexagon v73 to v81); no error says so.
"""

from dataclasses import replace

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.norm_channel import GroupNorm
from edgewright.ops.rearrange import Reshape
from edgewright.passes.graph_pass import register_pass, rewrite_each

IMAGE_AXES, MOST_ROWS, FEWEST_CHANNELS = 4, 8, 256
WIDE = frozenset({DType.SFIXED_POINT_16, DType.UFIXED_POINT_16})


@register_pass(after=("arrange_norms",))
def flatten_norms(graph: Graph) -> int:
    """All places of one group are alike, so that they can lie below each other."""
    return rewrite_each(graph, _flatten)


def _flatten(graph: Graph, node: Node) -> bool:
    kind = graph.types[node.inputs[0]]
    if not isinstance(node.op, GroupNorm) or node.op.group != 1:
        return False
    if kind.dtype not in WIDE or not kind.is_static or kind.rank != IMAGE_AXES:
        return False
    batch, height, width, channels = shape = kind.static_shape()
    if batch != 1 or height > MOST_ROWS or width == 1 or channels < FEWEST_CHANNELS:
        return False
    column, (made,) = (1, height * width, 1, channels), graph.output_types(node)
    x, y = graph.fresh_name(node.inputs[0]), graph.fresh_name(node.outputs[0])
    graph.remove(node)
    before, after = (graph.fresh_name(f"{node.name}_{end}") for end in ("column", "image"))
    turned = Node(before, Reshape(shape=column), [node.inputs[0]], [x], node.source)
    graph.add(turned, [replace(kind, shape=column)])
    normalized = Node(node.name, node.op, [x, *node.inputs[1:]], [y], node.source)
    graph.add(normalized, [replace(made, shape=column)])
    graph.add(Node(after, Reshape(shape=shape), [y], node.outputs, node.source), [made])
    return True
