"""The TensorFlow frontend: importing it registers every translation, family by family."""

from edgewright.core.registry import import_families

__all__: list[str] = []

import_families(
    __name__,
    *("activation", "arrays", "cast", "control", "conv", "detection", "elementwise", "gather", "matmul"),
    *("norm", "pool", "quant", "rearrange", "rearrange_fill", "rearrange_slice", "reduce", "resize"),
    *("sequence", "stored"),
)
