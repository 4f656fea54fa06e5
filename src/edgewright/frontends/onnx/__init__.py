"""The ONNX frontend: importing it registers every translation, in this order."""

from edgewright.core.registry import import_families

__all__: list[str] = []

import_families(
    __name__,
    *("activation", "attention", "cast", "control", "conv", "conv_deform", "detection"),
    *("elementwise", "elementwise_bits", "elementwise_erf", "elementwise_functions", "gather"),
    *("gather_scatter", "matmul", "matmul_det", "matmul_einsum", "norm", "norm_contrib", "pool"),
    *("pool_max", "quant", "quant_contrib", "quant_integer", "rearrange", "rearrange_fill"),
    *("rearrange_slice", "recurrent", "reduce", "reduce_order", "resize", "resize_sample"),
    *("sequence", "signal"),
)
