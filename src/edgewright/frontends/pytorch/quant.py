"""Ops that quantize in exported programs: they become the encodings of the tensors between them."""

from typing import Any

import numpy as np

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import torch_op
from edgewright.frontends.pytorch.values import Tensor

_RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}


def _emit_encoding(ctx: Context, scale: Any, zero: Any, dtype: Any) -> tuple[Any, Any]:
    """Scale and zero point as constants, the latter in the type of the integers."""
    name = str(dtype).removeprefix("torch.")
    if name not in _RANGES:
        raise ctx.refused(f"values are stored as {name}, expected one of {', '.join(_RANGES)}")
    numbers = [ctx.array(x) if isinstance(x, Tensor) else np.array(x) for x in (scale, zero)]
    shaped = [x.reshape(()) if x.size == 1 else x for x in numbers]
    return shaped[0].astype(np.float32), shaped[1].astype(name)


def _emit_quantized(
    ctx: Context, x: Tensor, encoding: tuple[Any, Any], ends: tuple[int, int], axis: int = 0
) -> str:
    """Values in the integers' range; a narrower one is cut before."""
    scale, zero = encoding
    value = ctx.value(x, ctx.torch.float32)
    full = _RANGES[zero.dtype.name]
    if ends != full:
        shape = [-1 if i == axis else 1 for i in range(x.rank)] if scale.ndim else []
        low, high = (((end - zero.astype(np.float32)) * scale).reshape(shape) for end in ends)
        value = ctx.add("Min", ctx.add("Max", value, low.astype(np.float32)), high.astype(np.float32))
    return ctx.add("QuantizeLinear", value, scale, zero, axis=axis)


@torch_op("quantized_decomposed::quantize_per_tensor")
def _quantize(ctx: Context, x: Tensor, scale: Any, zero: Any, low: int, high: int, dtype: Any) -> str:
    return _emit_quantized(ctx, x, _emit_encoding(ctx, scale, zero, dtype), (low, high))


@torch_op("quantized_decomposed::quantize_per_channel")
def _quantize_channels(
    ctx: Context, x: Tensor, scale: Any, zero: Any, axis: int, low: int, high: int, dtype: Any
) -> str:
    return _emit_quantized(ctx, x, _emit_encoding(ctx, scale, zero, dtype), (low, high), axis % x.rank)


@torch_op("quantized_decomposed::dequantize_per_tensor")
def _dequantize(ctx: Context, x: Tensor, scale: Any, zero: Any, *_: Any) -> str:
    found = ctx.add("DequantizeLinear", x, *_emit_encoding(ctx, scale, zero, x.dtype))
    return _cast_to_result(ctx, found)


@torch_op("quantized_decomposed::dequantize_per_channel")
def _dequantize_channels(ctx: Context, x: Tensor, scale: Any, zero: Any, axis: int, *_: Any) -> str:
    points = zero if zero is not None else 0
    numbers, zeros = _emit_encoding(ctx, scale, points, x.dtype)
    found = ctx.add(
        "DequantizeLinear", x, numbers, np.broadcast_to(zeros, numbers.shape).copy(), axis=axis % x.rank
    )
    return _cast_to_result(ctx, found)


def _cast_to_result(ctx: Context, name: str) -> str:
    dtype = ctx.out[0].dtype
    return name if dtype == ctx.torch.float32 else ctx.cast(name, dtype)
