"""Where a quantized graph can be compared with the float one: each op's result, fused activations with it."""

from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node

CHANNELS_FIRST = frozenset({"NCF", "NCHW", "NCDHW"})


@dataclass(frozen=True)
class ComparisonPoint:
    """A value to compare and what makes it: an op, or an op and the activation that HTP fuses to it.

    What lies between the two is in no memory of the NPU: its encoding may end where the activation does.
    """

    value: str
    nodes: tuple[Node, ...]

    @property
    def node(self) -> Node:
        """The node that computes."""
        return self.nodes[0]

    @property
    def op(self) -> str:
        """Its op, and the activation's."""
        first, last = self.nodes[0].op.qnn_name(), self.nodes[-1].op.qnn_name()
        return first if len(self.nodes) == 1 else f"{first} + {last}"


def list_comparison_points(source: Graph, quantized: Graph) -> list[ComparisonPoint]:
    """All results that both graphs have, in order; moves of data and what is fused away have none."""
    return [point for point in list_layers(quantized) if _is_in_both(source, quantized, point.value)]


def list_layers(quantized: Graph) -> list[ComparisonPoint]:
    """All results of a quantized graph that can be compared with anything."""
    return [
        ComparisonPoint(value, _collect_fused_nodes(quantized, node))
        for node in quantized.nodes
        if not node.op.has_fixed_types and not _is_data_movement(quantized, node)
        for value in node.outputs
        if value and not is_fused_away(quantized, value)
    ]


def align_layout(array: Array, shape: tuple[int, ...]) -> Array:
    """An array in the layout of the other graph."""
    if array.shape == shape or array.ndim < 3:
        return array
    moved = np.moveaxis(array, -1, 1)
    return moved if moved.shape == shape else np.moveaxis(array, 1, -1)


def find_channel_axis(graph: Graph, value: str) -> int:
    """The axis of a value's channels."""
    kind = graph.types[value]
    return 1 if kind.layout in CHANNELS_FIRST and kind.rank > 2 else max(kind.rank - 1, 0)


def _is_in_both(source: Graph, quantized: Graph, value: str) -> bool:
    """Whether the value is real numbers of the same shape, up to the place of the channels."""
    if value not in source.types:
        return False
    before, after = source.types[value], quantized.types[value]
    is_real = before.dtype.is_float and (after.dtype.is_float or after.encoding is not None)
    if not (is_real and before.is_static and after.is_static):
        return False
    first, second = before.static_shape(), after.static_shape()
    return first == second or (
        len(first) > 2 and second in {(first[0], *first[2:], first[1]), (first[0], first[-1], *first[1:-1])}
    )


def is_activation(node: Node) -> bool:
    return node.op.specific().is_clamp or node.op.is_fused_on_htp


def _is_data_movement(graph: Graph, node: Node) -> bool:
    """Whether the node only gives its elements another order or shape."""
    if not node.op.keeps_encoding or not node.inputs or node.inputs[0] not in graph.types:
        return False
    return graph.types[node.inputs[0]].count == graph.types[node.outputs[0]].count


def is_fused_away(graph: Graph, value: str) -> bool:
    """Whether all that becomes of a value is an activation that HTP computes with it."""
    while graph.is_used_once(value):
        (reader,) = graph.consumers(value)
        if is_activation(reader):
            return True
        if not _is_data_movement(graph, reader):
            return False
        value = reader.outputs[0]
    return False


def _collect_fused_nodes(graph: Graph, node: Node) -> tuple[Node, ...]:
    """A node, and before an activation all from the op that it is fused to."""
    nodes = [node]
    while is_activation(node) and graph.is_used_once(nodes[0].inputs[0]):
        maker = graph.producer(nodes[0].inputs[0])
        if maker is None or maker.op.has_fixed_types:
            break
        nodes.insert(0, maker)
        if not _is_data_movement(graph, maker):
            return tuple(nodes)
    return (node,)
