"""Our quantizer at its defaults, to QDQ ONNX."""

from pathlib import Path

import edgewright as ew
from benchmarks.peers import Feed

__all__ = ["quantized"]


def quantized(model: Path, feeds: list[Feed], target: Path, bits: int) -> None:
    """Converts, calibrates on one thread and writes the QDQ model."""
    ew.quantize(model, feeds, act_bw=bits, threads=1).save(target)
