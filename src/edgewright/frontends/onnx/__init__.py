"""The ONNX frontend: importing it registers every translation, in this order."""

from edgewright.frontends.onnx import activation, conv, elementwise, matmul, pool, rearrange

__all__ = ["activation", "conv", "elementwise", "matmul", "pool", "rearrange"]
