"""The op catalogue: importing it registers every family, in this order."""

from edgewright.ops import activation, cast, conv, elementwise, matmul, pool, rearrange, source

__all__ = ["activation", "cast", "conv", "elementwise", "matmul", "pool", "rearrange", "source"]
