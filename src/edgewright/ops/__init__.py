"""The op catalogue: importing it registers every family, in this order."""

from edgewright.core.registry import import_families

__all__: list[str] = []

import_families(
    __name__,
    *("activation", "attention", "cast", "colour", "conv", "conv_patches", "conv_transpose"),
    *("detection", "detection_boxes", "detection_proposals", "detection_roi", "elementwise"),
    *("elementwise_generic", "elementwise_unary", "gather", "gather_scatter", "gather_sparse"),
    *("matmul", "norm"),
    *("norm_channel", "pool", "quant", "rearrange", "rearrange_blocks", "rearrange_fill"),
    *("rearrange_slice", "recurrent", "reduce", "reduce_order", "reduce_softmax", "resize"),
    *("resize_sample", "signal", "source"),
)
