"""The op catalogue: importing it registers every family, in this order."""

from edgewright.ops import (
    activation,
    cast,
    conv,
    conv_transpose,
    elementwise,
    elementwise_generic,
    elementwise_unary,
    matmul,
    norm,
    norm_channel,
    pool,
    rearrange,
    reduce,
    reduce_order,
    reduce_softmax,
    source,
)

__all__ = [
    "activation",
    "cast",
    "conv",
    "conv_transpose",
    "elementwise",
    "elementwise_generic",
    "elementwise_unary",
    "matmul",
    "norm",
    "norm_channel",
    "pool",
    "rearrange",
    "reduce",
    "reduce_order",
    "reduce_softmax",
    "source",
]
