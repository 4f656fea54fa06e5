"""The TFLite frontend: importing it registers every translation, in this order."""

from edgewright.frontends.tflite import (
    activation,
    control,
    conv,
    detection,
    elementwise,
    gather,
    matmul,
    norm,
    pool,
    quant,
    rearrange,
    rearrange_fill,
    rearrange_slice,
    recurrent,
    reduce,
    resize,
)

__all__ = [
    "activation",
    "control",
    "conv",
    "detection",
    "elementwise",
    "gather",
    "matmul",
    "norm",
    "pool",
    "quant",
    "rearrange",
    "rearrange_fill",
    "rearrange_slice",
    "recurrent",
    "reduce",
    "resize",
]
