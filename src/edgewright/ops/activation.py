"""Activation functions."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.op import register
from edgewright.ops.elementwise import Unary

__all__ = ["Relu"]


@register
class Relu(Unary):
    """max(x, 0)."""

    @staticmethod
    def meaning(x: Array) -> Array:
        """max(x, 0)."""
        return np.maximum(x, np.zeros((), x.dtype))
