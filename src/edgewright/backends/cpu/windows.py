"""Padding of sliding windows for the engine, whose attributes must be numbers."""

from collections.abc import Sequence

from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import Writer
from edgewright.core.numbers import DType
from edgewright.ir.dims import Dim
from edgewright.ops.windows import Pairs


def flatten_pads(pads: Sequence[tuple[Dim, Dim]]) -> list[int]:
    """All amounts before, then all amounts after, as ONNX lists them."""
    return [int(before) for before, _ in pads] + [int(after) for _, after in pads]


def pad_by_itself(w: Writer, x: str, pads: Pairs, dtype: DType, value: float) -> tuple[str, Pairs]:
    """A channel-first value, padded by a node of its own where an amount is symbolic; what is left to pad."""
    if all(isinstance(side, int) for pair in pads for side in pair):
        return x, pads
    if dtype not in {DType.FLOAT_32, DType.FLOAT_64, DType.FLOAT_16}:
        raise NotOnEngine
    amounts = w.ints((0, 0, *(before for before, _ in pads), 0, 0, *(after for _, after in pads)))
    return w.node("Pad", x, amounts, w.scalar(value, dtype)), ((0, 0),) * len(pads)
