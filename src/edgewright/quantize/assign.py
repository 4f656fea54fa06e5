"""Decides how every value, weight and bias of a graph is stored, and what every node reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.traits import Roles
from edgewright.quantize.encodings import compute_covered_range
from edgewright.quantize.groups import Groups, is_real, list_data_inputs
from edgewright.quantize.masks import leave_out_masks
from edgewright.quantize.pins import Origin, Pin, Placed
from edgewright.quantize.precision import Deciding, Precision
from edgewright.quantize.report import QuantizationReport, TensorRecord
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.roles import find_roles
from edgewright.quantize.saturation import leave_out_flat_ranges
from edgewright.quantize.spans import Spans, Statistics, find_needed_grid
from edgewright.quantize.weights.encode import (
    compute_product_scales,
    fit_to_bias,
    get_weight_bits,
    place_bias,
    place_weight,
)


@dataclass
class Plan:
    """What a quantized graph looks like."""

    # How graph inputs and outputs of nodes are stored: real values only.
    values: dict[str, Placed] = field(default_factory=dict)
    # What a node reads at a place: (node, place). Where it differs from the value, something is converted.
    reads: dict[tuple[str, int], Placed] = field(default_factory=dict)
    report: QuantizationReport = field(default_factory=QuantizationReport)


def assign_encodings(
    graph: Graph,
    groups: Groups,
    request: QuantizationRequest,
    pins: Mapping[str, Pin],
    statistics: Statistics | None,
) -> Plan:
    """The plan for what was seen; without it, what has no encoding stays in floating point."""
    return _Assignment(graph, groups, request, pins, statistics).run()


class _Assignment:
    def __init__(
        self,
        graph: Graph,
        groups: Groups,
        request: QuantizationRequest,
        pins: Mapping[str, Pin],
        statistics: Statistics | None,
    ) -> None:
        self._graph, self._groups, self._request, self._pins = graph, groups, request, pins
        self._plan = Plan()
        self._roles = {node.name: find_roles(graph, node) for node in graph.nodes}
        self._spans = Spans(graph, groups, request, statistics)
        leave_out_masks(graph, groups, self._spans, self._plan.report)
        leave_out_flat_ranges(graph, groups, self._spans, self._plan.report)
        deciding = Deciding(graph, groups, self._spans, request, self._roles)
        self._precisions = deciding.run(pins, self._plan.report, are_weights_known=statistics is not None)

    def run(self) -> Plan:
        for node in self._graph.nodes:
            for value in filter(lambda v: is_real(self._graph, v), node.outputs):
                self._plan.values[value] = self._place_value(value, self._precisions[node.name])
        for value in filter(lambda v: is_real(self._graph, v), self._graph.inputs):
            self._plan.values[value] = self._place_input(value)
        for node in self._graph.nodes:
            self._place_reads(node)
        for value, placed in self._plan.values.items():
            self._record_value(value, placed)
        return self._plan

    def _place_value(self, value: str, precision: Precision) -> Placed:
        if precision.is_rigid:
            return Placed(self._graph.types[value].dtype)
        return self._spans.place_value(value) if precision.is_fixed else Placed(_get_float_type(precision))

    def _place_input(self, value: str) -> Placed:
        """A graph input is in fixed point where it is pinned so, or a node that reads it is."""
        pin = self._groups.pin(value)
        readers = [self._precisions[node.name] for node in self._graph.consumers(value)]
        if pin is not None and pin.placed is not None:
            return pin.placed
        if self._spans.is_known(value) and any(precision.is_fixed for precision in readers):
            return self._spans.place_value(value)
        types = {precision.float_dtype for precision in readers}
        dtype = types.pop() if len(types) == 1 else None
        return Placed(dtype or self._graph.types[value].dtype)

    def _place_reads(self, node: Node) -> None:
        precision, roles = self._precisions[node.name], self._roles[node.name]
        held = roles.weights | roles.biases if precision.is_fixed else frozenset()
        for place, value in enumerate(node.inputs):
            if is_real(self._graph, value) and place not in held:
                self._plan.reads[node.name, place] = self._place_read(node, place, precision)
        if precision.is_fixed:
            self._place_weights(node, roles)

    def _place_read(self, node: Node, place: int, precision: Precision) -> Placed:
        value = node.inputs[place]
        if precision.is_rigid:
            return Placed(self._graph.types[value].dtype)
        if not precision.is_fixed:
            bits = self._request.float_bias_bw if place in self._roles[node.name].biases else None
            return Placed(DType[f"FLOAT_{bits}"] if bits else _get_float_type(precision))
        output = next((v for v in node.outputs if is_real(self._graph, v)), None)
        if output is not None and node.op.keeps_encoding and value in list_data_inputs(self._graph, node):
            return self._plan.values[output]
        bits = self._find_width(node, output)
        placed = self._spans.read(node, place, bits)
        if find_needed_grid(self._graph, node, place, bits) is not None:
            self._plan.report.record_rule("wide-product", node.name)
        if value in self._graph.constants:
            self._record(value, "constant", placed, self._pins.get(value), Origin.WEIGHTS)
        return placed

    def _find_width(self, node: Node, output: str | None) -> int:
        """The bits of operands: those of the result; what is compared has one width, the largest."""
        if output is not None:
            return self._groups.find_bits(output)
        operands = [value for value in node.inputs if is_real(self._graph, value)]
        made = [value for value in operands if value not in self._graph.constants]
        return max(self._groups.find_bits(value) for value in made or operands)

    def _place_weights(self, node: Node, roles: Roles) -> None:
        for place in sorted(roles.weights):
            value = node.inputs[place]
            pin = self._pins.get(value)
            placed = place_weight(self._graph.constants[value], roles, self._request, pin)
            self._plan.reads[node.name, place] = self._fit_to_bias(node, roles, placed)
            self._record(value, "weight", self._plan.reads[node.name, place], pin, Origin.WEIGHTS)
            if pin is None and get_weight_bits(self._request) != self._request.weight_bw:
                self._plan.report.record_rule("wide-weights", node.name)
        for place in sorted(roles.biases):
            value = node.inputs[place]
            bias, pin = self._graph.constants[value], self._pins.get(value)
            placed = place_bias(bias, self._find_scales(node, roles, bias.size), self._request, pin)
            self._plan.reads[node.name, place] = placed
            self._record(value, "bias", placed, pin, Origin.DERIVED)

    def _fit_to_bias(self, node: Node, roles: Roles, weights: Placed) -> Placed:
        """Weights whose scales leave room for the bias."""
        biases = [self._graph.constants[node.inputs[place]] for place in sorted(roles.biases)]
        if not node.op.is_product or not biases or self._request.bias_bw != 32:
            return weights
        scales = compute_product_scales(self._plan.reads[node.name, 0], weights, biases[0].size)
        fitted, is_raised = fit_to_bias(weights, scales, biases[0])
        if is_raised:
            self._plan.report.record_rule("bias-scale", node.name)
        return fitted

    def _find_scales(self, node: Node, roles: Roles, channels: int) -> Array | None:
        """The scales of the products that a bias is added to; None where there are none."""
        if not node.op.is_product:
            return None
        return compute_product_scales(
            self._plan.reads[node.name, 0], self._plan.reads[node.name, 1], channels
        )

    def _record_value(self, value: str, placed: Placed) -> None:
        pin = self._groups.pin(value)
        kind = (
            "input"
            if value in self._graph.inputs
            else "output"
            if value in self._graph.outputs
            else "activation"
        )
        if placed.encoding is None:
            self._record(value, kind, placed, pin if pin is not None and pin.is_float else None, Origin.FLOAT)
            return
        if pin is not None and pin.rule:
            self._plan.report.record_rule(pin.rule, value)
        if self._groups.is_clamped(value):
            self._plan.report.record_rule("clamp-in-producer", value)
        pinned = pin if pin is not None and pin.placed is not None else None
        self._record(value, kind, placed, pinned, Origin.CALIBRATED)

    def _record(self, value: str, kind: str, placed: Placed, pin: Pin | None, otherwise: str) -> None:
        low, high = (None, None)
        if placed.encoding is not None:
            extremes = compute_covered_range(placed.encoding, placed.dtype)
            low, high = float(extremes[0].min()), float(extremes[1].max())
        origin = pin.origin if pin is not None and pin.placed is not None else otherwise
        source = self._graph.source_names.get(value, value)
        self._plan.report.tensors.append(TensorRecord(value, source, kind, placed, origin, low, high))


def _get_float_type(precision: Precision) -> DType:
    assert precision.float_dtype is not None
    return precision.float_dtype
