"""What a quantization makes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgewright.ir.graph import Graph
from edgewright.quantize.pins import Pin
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.request import QuantizationRequest


@dataclass(frozen=True)
class QuantizedGraph:
    """A graph in fixed point, and what was done."""

    graph: Graph
    report: QuantizationReport
    # The float graph as other corrections left it, and whether weights were fitted or biases corrected after.
    source: Graph
    has_corrected_biases: bool = False
    # What was asked for, with nothing left open, and what was settled before any range was chosen.
    request: QuantizationRequest = field(default_factory=QuantizationRequest)
    pins: Mapping[str, Pin] = field(default_factory=dict)
    # The same in one width, where some values got more bits.
    uniform: "QuantizedGraph | None" = None
