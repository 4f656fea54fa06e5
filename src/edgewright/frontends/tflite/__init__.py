"""The TFLite frontend: importing it registers every translation, in this order."""

from edgewright.core.registry import import_families

__all__: list[str] = []

import_families(
    __name__,
    *("activation", "control", "conv", "detection", "elementwise", "gather", "matmul", "norm"),
    *("pool", "quant", "rearrange", "rearrange_fill", "rearrange_slice", "recurrent", "reduce"),
    *("resize", "signal"),
)
