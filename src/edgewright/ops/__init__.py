"""The op catalogue: importing it registers every family, in this order."""

from edgewright.ops import activation, conv, elementwise, matmul, pool, rearrange, source

__all__ = ["activation", "conv", "elementwise", "matmul", "pool", "rearrange", "source"]
