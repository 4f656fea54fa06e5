"""PyTorch models (TorchScript and torch.export) as ONNX terms; importing it registers the translations."""

from edgewright.core.registry import import_families

__all__: list[str] = []

import_families(
    __name__,
    *("activation", "attention", "complex_numbers", "conv", "define_linear_algebra", "define_order"),
    *("define_special",),
    *("detection", "elementwise", "fill"),
    *("gather", "matmul", "norm", "pool", "quant", "quantized", "rearrange", "recurrent", "reduce"),
    *("resize",),
)
