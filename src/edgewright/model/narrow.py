"""Whether a graph is one that the HTP can compute, and what becomes of one that is not."""

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph
from edgewright.quantize.quantized_graph import QuantizedGraph
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest


def is_narrow(graph: Graph) -> bool:
    """Whether something is in fixed point or half precision, which is what the HTP computes in."""
    return any(t.dtype.is_fixed_point or t.dtype == DType.FLOAT_16 for t in graph.types.values())


def fall_to_half(made: QuantizedGraph, source: Graph) -> QuantizedGraph:
    """What was made of a graph, in half precision where nothing of it could be in fixed point."""
    if is_narrow(made.graph):
        return made
    half = quantize_graph(source, QuantizationRequest(float_bw=16))
    if not is_narrow(half.graph):
        return made
    half.report.ignored += made.report.ignored
    half.report.notes.append("nothing of it can be in fixed point: it is in half precision")
    return half
