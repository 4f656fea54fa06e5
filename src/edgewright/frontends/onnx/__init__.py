"""The ONNX frontend: importing it registers every translation, in this order."""

from edgewright.frontends.onnx import activation, cast, conv, elementwise, matmul, norm, pool, rearrange

__all__ = ["activation", "cast", "conv", "elementwise", "matmul", "norm", "pool", "rearrange"]
