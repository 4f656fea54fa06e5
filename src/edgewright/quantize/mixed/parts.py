"""The parts of a graph that get a width each: groups of values that share an encoding, and weights."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from edgewright.ir.graph import Graph, Node
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.matmul import MatMul
from edgewright.quantize.groups import Groups, is_real
from edgewright.quantize.pins import Pin
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles


@dataclass
class Part:
    """A group of values: the nodes that make them, and the groups that are made of them."""

    # Without those before a clamp: they follow it.
    values: list[str] = field(default_factory=list)
    # Where rounding happens: what other ops only move is rounded already.
    rounded: list[str] = field(default_factory=list)
    makers: list[Node] = field(default_factory=list)
    readers: set[str] = field(default_factory=set)


class Parts:
    """All parts of a graph that are in fixed point and that nobody else has settled.

    Args:
        graph: the float graph.
        request: how it is quantized.
        pins: what the user or the source model has settled.
        fixed: the values that are in fixed point when all widths are the same.
    """

    def __init__(
        self, graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], fixed: Iterable[str]
    ) -> None:
        self._graph, self._groups = graph, Groups(graph, request, pins)
        self._fixed = {value for value in fixed if value not in pins}
        self.groups: dict[str, Part] = {}
        self.weights: dict[str, Node] = {}
        for value in graph.inputs:
            self._add(value, None)
        for node in graph.nodes:
            for value in node.outputs:
                self._add(value, node)
        for node in graph.nodes:
            self._link(node)
            self._add_weights(node)

    def find_group(self, node: Node) -> str | None:
        """The group that a node makes, where it is one of these."""
        value = next((v for v in node.outputs if is_real(self._graph, v)), None)
        root = None if value is None else self._groups.find(value)
        return root if root in self.groups else None

    def _add(self, value: str, maker: Node | None) -> None:
        if not is_real(self._graph, value) or value not in self._fixed:
            return
        part = self.groups.setdefault(self._groups.find(value), Part())
        if maker is not None and maker not in part.makers:
            part.makers.append(maker)
        if self._groups.is_clamped(value):
            return
        part.values.append(value)
        if maker is None or not maker.op.keeps_encoding:
            part.rounded.append(value)

    def _link(self, node: Node) -> None:
        made = self.find_group(node)
        for value in node.inputs:
            root = self._groups.find(value) if is_real(self._graph, value) else None
            if root in self.groups and made is not None and made != root:
                self.groups[root].readers.add(made)

    def _add_weights(self, node: Node) -> None:
        """Weights that one product alone reads, in a form that has 4 bits."""
        if self.find_group(node) is None or not node.op.takes_4_bit_weights:
            return
        for place in find_roles(self._graph, node).weights:
            value = node.inputs[place]
            is_alone = len(self._graph.consumers(value)) == 1 and value not in self._graph.outputs
            if is_alone and value in self._fixed and not _has_stacks(self._graph, node):
                self.weights[value] = node


def _has_stacks(graph: Graph, node: Node) -> bool:
    """Stacks of matrices, and filters of a transposed convolution in groups, share scales."""
    if isinstance(node.op, MatMul):
        return graph.types[node.inputs[1]].rank != 2
    return isinstance(node.op, TransposeConv2d) and node.op.group != 1
