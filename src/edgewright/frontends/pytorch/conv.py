"""ATen convolutions."""

from collections.abc import Sequence
from typing import Any

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten
from edgewright.frontends.pytorch.values import Tensor


@aten("conv1d", "conv2d", "conv3d")
def _conv(
    ctx: Context,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> str:
    rank = weight.rank - 2
    attributes: dict[str, Any] = {
        "strides": _repeat_for_axes(stride, rank),
        "dilations": _repeat_for_axes(dilation, rank),
        "group": groups,
        "kernel_shape": list(weight.shape[2:]),
    }
    if isinstance(padding, str):
        # Torch's "same" puts the odd one at the end, as ONNX's SAME_UPPER does.
        attributes["auto_pad"] = "SAME_UPPER" if padding == "same" else "VALID"
    else:
        attributes["pads"] = _repeat_for_axes(padding, rank) * 2
    return _add_batch(ctx, x, rank, lambda value: ctx.add("Conv", value, weight, bias, **attributes))


@aten("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(
    ctx: Context,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> str:
    rank = weight.rank - 2
    attributes = {
        "strides": _repeat_for_axes(stride, rank),
        "dilations": _repeat_for_axes(dilation, rank),
        "pads": _repeat_for_axes(padding, rank) * 2,
        "output_padding": _repeat_for_axes(output_padding, rank),
        "group": groups,
        "kernel_shape": list(weight.shape[2:]),
    }
    return _add_batch(ctx, x, rank, lambda value: ctx.add("ConvTranspose", value, weight, bias, **attributes))


@aten("_convolution", "convolution")
def _convolution(
    ctx: Context,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    is_transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *_: Any,
) -> str:
    if is_transposed:
        return _conv_transpose(ctx, x, weight, bias, stride, padding, output_padding, groups, dilation)  # type: ignore[return-value]
    return _conv(ctx, x, weight, bias, stride, padding, dilation, groups)  # type: ignore[return-value]


@aten("_convolution_mode")
def _convolution_mode(
    ctx: Context, x: Tensor, weight: Tensor, bias: Any, stride: Any, padding: str, dilation: Any, groups: int
) -> str:
    return _conv(ctx, x, weight, bias, stride, padding, dilation, groups)  # type: ignore[return-value]


def _add_batch(ctx: Context, x: Tensor, rank: int, made: Any) -> str:
    """Torch takes an image without a batch; ONNX does not."""
    if x.rank == rank + 2:
        return str(made(ctx.value(x)))
    return ctx.squeeze(made(ctx.unsqueeze(x, [0])), [0])


def _repeat_for_axes(value: Any, rank: int) -> list[int]:
    if isinstance(value, int):
        return [value] * rank
    return list(value) * rank if len(value) == 1 else list(value)
