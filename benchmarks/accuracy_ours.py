"""Our quantizer, to QDQ ONNX: at its defaults in w8a8, else with the algorithms that it recommends.

Beside 16-bit activations, and in 4 bits, what weights lose is all that there is to gain.
"""

from pathlib import Path

import edgewright as ew
from benchmarks.peers import Feed, read_widths

__all__ = ["quantized"]


def quantized(model: Path, feeds: list[Feed], target: Path, precision: str) -> None:
    """Converts, calibrates on one thread and writes the QDQ model."""
    weights, activations = read_widths(precision)
    algorithms = [] if (weights, activations) == (8, 8) else ["auto"]
    ew.quantize(model, feeds, act_bw=activations, weight_bw=weights, algorithms=algorithms, threads=1).save(
        target
    )
