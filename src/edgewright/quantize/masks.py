"""Masked scores: what a mask pushes far below all scores before a softmax needs no steps of its own."""

from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseSelect
from edgewright.quantize.groups import Groups, is_real
from edgewright.quantize.observers import Extremes
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.spans import MASKED, Range, Spans

# How far below the least score a masked one stays: exp(-10) and exp(-20) vanish in 8 and in 16 bits.
MARGINS = {8: 10.0, 16: 20.0}


def leave_out_masks(graph: Graph, groups: Groups, spans: Spans, report: QuantizationReport) -> None:
    """Narrows the ranges of scores that a mask was added to, or chosen into, right before a softmax."""
    for node in graph.nodes:
        if not isinstance(node.op, (ElementWiseAdd, ElementWiseSelect)) or not _is_read_by_softmax(
            graph, node
        ):
            continue
        value = node.outputs[0]
        unmasked = _find_unmasked_range(graph, spans, node, MARGINS.get(groups.find_bits(value), 20.0))
        if unmasked is not None:
            spans.set_range(value, unmasked)
            report.record_rule("masked-softmax", value)


def _is_read_by_softmax(graph: Graph, node: Node) -> bool:
    readers = [reader.op for reader in graph.consumers(node.outputs[0])]
    return bool(readers) and all(op.ignores_masked for op in readers)


def _find_unmasked_range(graph: Graph, spans: Spans, node: Node, margin: float) -> Range | None:
    """The range without the masked part; None where no single operand brings the mask."""
    whole = spans.range(node.outputs[0])
    operands = [_range(graph, spans, value) for value in node.inputs if is_real(graph, value)]
    known = [operand for operand in operands if operand is not None]
    scores = [operand for operand in known if operand[0] > MASKED]
    if whole is None or whole[0] > MASKED or len(known) != 2 or len(scores) != 1:
        return None
    least = scores[0][0] - margin
    return (least, whole[1]) if whole[0] < least < whole[1] else None


def _range(graph: Graph, spans: Spans, value: str) -> Range | None:
    if value not in graph.constants:
        return spans.range(value)
    extremes = Extremes.of(graph.constants[value])
    return float(extremes.low[0]), float(extremes.high[0])
