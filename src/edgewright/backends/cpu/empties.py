"""Keeps empty tensors away from kernels of the engine that would end the whole process."""

import numpy as np

from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.types import TensorType


def refuse_empty(w: Writer, x: str, tensor_type: TensorType, rank: int | None = None) -> str:
    """The value itself; a run in which one of its axes but the last has no elements stops with an error.

    ``rank`` is the one that the engine sees where it is not the type's.
    """
    if 0 in tensor_type.shape:
        raise NotOnEngine
    if tensor_type.is_static:
        return x
    # The same shape, except that a reshape with an open size (-1) stops where there are no elements.
    same = [0] * ((rank or tensor_type.rank) - 1)
    return w.node("Reshape", x, w.constant(np.asarray([*same, -1], np.int64)))
