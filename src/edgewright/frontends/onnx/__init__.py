"""The ONNX frontend: importing it registers every translation, in this order."""

from edgewright.frontends.onnx import (
    activation,
    cast,
    conv,
    elementwise,
    elementwise_bits,
    elementwise_functions,
    matmul,
    norm,
    pool,
    pool_max,
    quant,
    rearrange,
    recurrent,
    reduce,
    reduce_order,
    resize,
)

__all__ = [
    "activation",
    "cast",
    "conv",
    "elementwise",
    "elementwise_bits",
    "elementwise_functions",
    "matmul",
    "norm",
    "pool",
    "pool_max",
    "quant",
    "rearrange",
    "recurrent",
    "reduce",
    "reduce_order",
    "resize",
]
