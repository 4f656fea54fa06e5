"""Which nodes compute in fixed point, and which stay in floating point."""

from collections.abc import Mapping
from dataclasses import dataclass

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.traits import Roles
from edgewright.quantize.fragile import find_fragile_nodes
from edgewright.quantize.groups import Groups, is_real, list_data_inputs
from edgewright.quantize.pins import Pin
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.rules import find_float_rule
from edgewright.quantize.spans import Spans


@dataclass(frozen=True)
class Precision:
    """A node's: fixed point, a float type, or (rigid) whatever types its values have."""

    float_dtype: DType | None = None
    is_rigid: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether the node computes in fixed point."""
        return self.float_dtype is None and not self.is_rigid


FIXED = Precision()
RIGID = Precision(is_rigid=True)


class Deciding:
    """Decides node by node, forward; then lets moves follow what reads them, backward."""

    def __init__(
        self,
        graph: Graph,
        groups: Groups,
        spans: Spans,
        request: QuantizationRequest,
        roles: Mapping[str, Roles],
    ) -> None:
        self._graph, self._groups, self._spans, self._request = graph, groups, spans, request
        self._roles = roles
        self._fragile = find_fragile_nodes(graph) if request.is_fragile_float else set()
        self._found: dict[str, Precision] = {}

    def run(
        self, pins: Mapping[str, Pin], report: QuantizationReport, *, are_weights_known: bool
    ) -> dict[str, Precision]:
        """The precision of each node; unless weights are known, those without a pin stay float."""
        for node in self._graph.nodes:
            self._found[node.name] = self._decide_node(
                node, pins, report, are_weights_known=are_weights_known
            )
        for node in reversed(self._graph.nodes):
            self._follow_readers(node)
        return self._found

    def _decide_node(
        self, node: Node, pins: Mapping[str, Pin], report: QuantizationReport, *, are_weights_known: bool
    ) -> Precision:
        real = [value for value in node.inputs if is_real(self._graph, value)]
        if node.op.has_fixed_types or node.subgraphs or not real:
            return RIGID
        pinned = self._find_float_pin(node, pins)
        if pinned is not None:
            return Precision(pinned)
        bits = self._find_bits(node)
        rule = find_float_rule(node.op, bits)
        is_fragile = bits <= 8 and node.name in self._fragile
        if rule is not None or is_fragile:
            report.record_rule(rule.name if rule is not None else "fragile", node.name)
            return self._keep_in_float()
        incoming = self._find_incoming_type(node) if node.op.keeps_encoding else None
        if incoming is not None:
            return Precision(incoming)
        weights = self._roles[node.name].weights | self._roles[node.name].biases
        moving = [value for place, value in enumerate(node.inputs) if place not in weights]
        values = [
            v for v in (*moving, *node.outputs) if is_real(self._graph, v) and v not in self._graph.constants
        ]
        is_known = all(self._spans.is_known(value) for value in values)
        places = self._roles[node.name].weights
        has_weights = are_weights_known or all(node.inputs[place] in pins for place in places)
        return FIXED if is_known and has_weights else self._keep_in_float()

    def _find_float_pin(self, node: Node, pins: Mapping[str, Pin]) -> DType | None:
        """The float type that a file gives to the output or, of products, to weights or bias."""
        roles = self._roles[node.name]
        around = [self._groups.pin(value) for value in node.outputs if is_real(self._graph, value)]
        if node.op.is_product:
            around += [pins.get(node.inputs[place]) for place in sorted(roles.weights | roles.biases)]
        for pin in around:
            if pin is not None and pin.is_float and pin.placed is not None:
                return pin.placed.dtype
        return None

    def _find_bits(self, node: Node) -> int:
        values = [v for v in (*node.outputs, *node.inputs) if is_real(self._graph, v)]
        return self._groups.find_bits(values[0])

    def _find_incoming_type(self, node: Node) -> DType | None:
        """The float type of what an op moves, where all of it is in floating point already."""
        values = [v for v in list_data_inputs(self._graph, node) if v not in self._graph.constants]
        types = [self._find_producer_type(value) for value in values]
        return types[0] if types and None not in types else None

    def _find_producer_type(self, value: str) -> DType | None:
        """The float type that a value is made in; None where that is fixed point or not decided."""
        maker = self._graph.producer(value)
        if maker is None or self._found[maker.name].is_fixed:
            return None
        return self._found[maker.name].float_dtype or self._graph.types[value].dtype

    def _follow_readers(self, node: Node) -> None:
        """What is only moved for readers in floating point is moved in floating point."""
        outputs = [value for value in node.outputs if value]
        readers = [self._found[n.name] for value in outputs for n in self._graph.consumers(value)]
        types = {precision.float_dtype for precision in readers}
        is_free = node.op.keeps_encoding and not any(
            v in self._graph.outputs or self._groups.pin(v) is not None for v in outputs
        )
        if self._found[node.name].is_fixed and is_free and len(types) == 1 and None not in types:
            self._found[node.name] = readers[0]

    def _keep_in_float(self) -> Precision:
        return Precision(self._request.float_dtype)
