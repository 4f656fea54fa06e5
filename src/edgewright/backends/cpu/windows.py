"""Padding of sliding windows for the engine, whose attributes must be numbers."""

from collections.abc import Sequence
from typing import Any

from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import Writer
from edgewright.core.numbers import DType
from edgewright.ir.dims import Dim
from edgewright.ir.types import TensorType
from edgewright.ops.windows import Geometry, make_same_pads


def flatten_pads(pads: Sequence[tuple[Dim, Dim]]) -> list[int]:
    """All amounts before, then all amounts after, as ONNX lists them."""
    return [int(before) for before, _ in pads] + [int(after) for _, after in pads]


def write_padding(
    w: Writer, x: str, image: TensorType, geometry: Geometry, size: Sequence[int], outside: float
) -> tuple[str, dict[str, Any]]:
    """A channel-first value and the attributes that pad it; a node pads where these cannot."""
    pads = geometry.pads
    if all(isinstance(side, int) for pair in pads for side in pair):
        return x, {"pads": flatten_pads(pads)}
    mode = _find_automatic_mode(image, geometry, size)
    if mode:
        return x, {"auto_pad": mode}
    if image.dtype not in {DType.FLOAT_32, DType.FLOAT_64, DType.FLOAT_16}:
        raise NotOnEngine
    amounts = w.ints((0, 0, *(before for before, _ in pads), 0, 0, *(after for _, after in pads)))
    return w.node("Pad", x, amounts, w.scalar(outside, image.dtype)), {}


def _find_automatic_mode(image: TensorType, geometry: Geometry, size: Sequence[int]) -> str:
    """Which "same" padding of ONNX the symbolic amounts are; "" where they are neither."""
    if any(step > 1 for step in geometry.dilation):
        # The engine has none for windows with gaps.
        return ""
    if any(window < step for window, step in zip(size, geometry.stride, strict=True)):
        # The engine would cut off what no window sees, and refuses to.
        return ""
    for mode in ("SAME_UPPER", "SAME_LOWER"):
        is_upper = mode == "SAME_UPPER"
        if geometry.pads == make_same_pads(image.shape[1:-1], size, geometry.stride, is_upper=is_upper):
            return mode
    return ""
