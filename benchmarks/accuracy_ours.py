"""Our quantizer, to QDQ ONNX: at its defaults, and with the algorithms that it recommends for 4 bits."""

from pathlib import Path

import edgewright as ew
from benchmarks.peers import Feed, read_widths

__all__ = ["quantized"]


def quantized(model: Path, feeds: list[Feed], target: Path, precision: str) -> None:
    """Converts, calibrates on one thread and writes the QDQ model."""
    weights, activations = read_widths(precision)
    algorithms = ["auto"] if weights == 4 else []
    ew.quantize(model, feeds, act_bw=activations, weight_bw=weights, algorithms=algorithms, threads=1).save(
        target
    )
