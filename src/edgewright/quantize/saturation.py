"""Values before functions that level off: where the function is flat, its argument needs no steps.

A HardSwish is zero below -3, a Sigmoid is 0 or 1 to the last bit beyond a few units. A convolution before it
may reach ten times as far: steps out there are lost to the part that matters.
"""

from math import inf, log

from edgewright.ir.graph import Graph, Node
from edgewright.ir.traits import EVERYTHING, Range
from edgewright.ops.activation import Sigmoid
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.quantize.groups import Groups, is_real, list_data_inputs
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.spans import Spans


def leave_out_flat_ranges(graph: Graph, groups: Groups, spans: Spans, report: QuantizationReport) -> None:
    """Narrows the ranges of values that are only read by functions which are flat out there."""
    made = [value for node in graph.nodes for value in node.outputs if is_real(graph, value)]
    for root, members in groups.list_members(made).items():
        reach = spans.range(root)
        if reach is None or any(value in graph.outputs for value in members):
            continue
        readers = [(value, node) for value in members for node in graph.consumers(value)]
        parts = [
            find_needed_range(graph, node, value, groups.find_bits(root))
            for value, node in readers
            if not (node.op.keeps_encoding and value in list_data_inputs(graph, node))
        ]
        if not parts:
            continue
        low = max(reach[0], min(part[0] for part in parts))
        high = min(reach[1], max(part[1] for part in parts))
        if (low, high) != reach and low < high:
            spans.set_range(root, (low, high))
            report.record_rule("flat-ends", members[0])


def find_needed_range(graph: Graph, node: Node, value: str, bits: int) -> Range:
    """Where a reader of a value is not flat."""
    op = node.op.specific()
    if isinstance(op, ElementWiseMultiply):
        return _of_gate(graph, node, value, bits)
    if len(node.inputs) == 1 and isinstance(op, Sigmoid) and _find_gated_range(graph, node, value):
        # The other reader is the product with this gate: it says how far the two of them look.
        return (inf, -inf)
    # Half a step of an output of 0 to 1.
    return op.active_range(0.5 / (1 << bits))


def _of_gate(graph: Graph, node: Node, value: str, bits: int) -> Range:
    """The swish, x * sigmoid(x): nothing is left of it far below zero."""
    others = [other for other in node.inputs if other != value]
    maker = graph.producer(others[0]) if len(others) == 1 else None
    is_swish = maker is not None and isinstance(maker.op, Sigmoid) and maker.inputs == [value]
    return (-_compute_swish_reach(bits), inf) if is_swish else EVERYTHING


def _find_gated_range(graph: Graph, node: Node, value: str) -> bool:
    readers = graph.consumers(value)
    return any(
        isinstance(reader.op, ElementWiseMultiply) and node.outputs[0] in reader.inputs for reader in readers
    )


def _compute_swish_reach(bits: int) -> float:
    """How far down a swish matters: x * exp(-x) is half a step of 1 there, near enough."""
    far = log(2 * (1 << bits))
    return far + log(far) + 1
