"""PyTorch models (TorchScript and torch.export) as ONNX terms; importing it registers the translations."""

from edgewright.frontends.pytorch import (
    activation,
    attention,
    complex_numbers,
    conv,
    elementwise,
    fill,
    gather,
    matmul,
    norm,
    pool,
    quant,
    rearrange,
    recurrent,
    reduce,
    resize,
)

__all__ = [
    "activation",
    "attention",
    "complex_numbers",
    "conv",
    "elementwise",
    "fill",
    "gather",
    "matmul",
    "norm",
    "pool",
    "quant",
    "rearrange",
    "recurrent",
    "reduce",
    "resize",
]
