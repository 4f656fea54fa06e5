"""Signal processing for the engine."""

import numpy as np

from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ops.signal import Stft


@lowers(Stft)
def stft(w: Writer, op: Stft, inputs: list[str], node: Node) -> str:
    """STFT; a real signal gets its axis of one component."""
    signal = w.type(node.inputs[0])
    if signal.dtype not in {DType.FLOAT_32, DType.FLOAT_64}:
        raise NotOnEngine
    value = inputs[0]
    if signal.rank == 2:
        value = w.node("Unsqueeze", value, w.constant(np.asarray([2], np.int64)))
    step, length = (w.scalar(number, DType.INT_64) for number in (op.frame_step, op.frame_length))
    return w.node("STFT", value, step, inputs[1], length, onesided=int(op.onesided))
