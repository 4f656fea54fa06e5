"""ATen activations."""

from typing import Any

import numpy as np

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten, one_to_one
from edgewright.frontends.pytorch.values import Tensor

# Above it torch passes the input of softplus through; here that is the same to the last bits.
NO_THRESHOLD = 15
one_to_one({"mish": "Mish", "hardswish": "HardSwish", "selu": "Selu"})


@aten("hardtanh", "relu6")
def _hardtanh(ctx: Context, x: Tensor, low: float = 0.0, high: float = 6.0) -> str:
    return ctx.add("Clip", x, ctx.scalar(low, x.dtype), ctx.scalar(high, x.dtype))


@aten("leaky_relu")
def _leaky_relu(ctx: Context, x: Tensor, slope: float = 0.01) -> str:
    return ctx.add("LeakyRelu", x, alpha=float(slope))


@aten("rrelu")
def _rrelu(
    ctx: Context, x: Tensor, low: float = 0.125, high: float = 1 / 3, is_training: bool = False, *_: Any
) -> str:
    if is_training:
        raise ctx.refuse_random()
    return ctx.add("LeakyRelu", x, alpha=(float(low) + float(high)) / 2)


@aten("rrelu_with_noise_functional")
def _rrelu_core(
    ctx: Context, x: Tensor, noise: Tensor, low: float, high: float, is_training: bool = False, *_: Any
) -> list[str]:
    return [str(_rrelu(ctx, x, low, high, is_training)), ctx.value(noise)]


@aten("elu")
def _elu(ctx: Context, x: Tensor, alpha: float = 1.0, scale: float = 1.0, inner: float = 1.0) -> str:
    if inner != 1:
        raise ctx.refused(f"input_scale is {inner}, expected 1")
    found = ctx.add("Elu", x, alpha=float(alpha))
    return found if scale == 1 else ctx.add("Mul", found, ctx.scalar(scale, x.dtype))


@aten("celu")
def _celu(ctx: Context, x: Tensor, alpha: float = 1.0) -> str:
    return ctx.add("Celu", x, alpha=float(alpha))


@aten("gelu")
def _gelu(ctx: Context, x: Tensor, approximate: str = "none") -> str:
    return ctx.add("Gelu", x, approximate=approximate)


@aten("silu")
def _silu(ctx: Context, x: Tensor) -> str:
    return ctx.add("Mul", x, ctx.add("Sigmoid", x))


@aten("hardsigmoid")
def _hardsigmoid(ctx: Context, x: Tensor) -> str:
    return ctx.add("HardSigmoid", x, alpha=1 / 6, beta=0.5)


@aten("softplus")
def _softplus(ctx: Context, x: Tensor, beta: Any = 1, threshold: Any = 20) -> str:
    scale = ctx.scalar(beta, x.dtype)
    scaled = ctx.value(x) if beta == 1 else ctx.add("Mul", x, scale)
    curve = ctx.add("Softplus", scaled)
    curve = curve if beta == 1 else ctx.add("Div", curve, scale)
    if threshold >= NO_THRESHOLD:
        return curve
    return ctx.add("Where", ctx.add("Greater", scaled, ctx.scalar(threshold, x.dtype)), x, curve)


@aten("log_sigmoid", "log_sigmoid_forward")
def _log_sigmoid(ctx: Context, x: Tensor) -> list[str]:
    found = ctx.add("Neg", ctx.add("Softplus", ctx.add("Neg", x)))
    return [found, ctx.add("Exp", ctx.add("Neg", ctx.add("Abs", x)))]


@aten("prelu", "_prelu_kernel")
def _prelu(ctx: Context, x: Tensor, weight: Tensor) -> str:
    slope = ctx.value(weight)
    if weight.rank == 1 and weight.count > 1 and x.rank > 2:
        slope = ctx.reshape(slope, [-1, *(1 for _ in range(x.rank - 2))])
    return ctx.add("PRelu", x, slope)


@aten("threshold")
def _threshold(ctx: Context, x: Tensor, threshold: Any, value: Any) -> str:
    above = ctx.add("Greater", x, ctx.scalar(threshold, x.dtype))
    return ctx.add("Where", above, x, ctx.scalar(value, x.dtype))


@aten("softshrink")
def _softshrink(ctx: Context, x: Tensor, lambd: Any = 0.5) -> str:
    return ctx.add("Shrink", x, lambd=float(lambd), bias=float(lambd))


@aten("hardshrink")
def _hardshrink(ctx: Context, x: Tensor, lambd: Any = 0.5) -> str:
    return ctx.add("Shrink", x, lambd=float(lambd), bias=0.0)


@aten("glu")
def _glu(ctx: Context, x: Tensor, dim: int = -1) -> str:
    half, gate = ctx.add_all("Split", x, outputs=2, axis=dim, num_outputs=2)
    return ctx.add("Mul", half, ctx.add("Sigmoid", gate))


@aten("softmax", "_softmax")
def _softmax(ctx: Context, x: Tensor, dim: int, *_: Any) -> str:
    return _emit_along(ctx, "Softmax", x, dim)


@aten("log_softmax", "_log_softmax")
def _log_softmax(ctx: Context, x: Tensor, dim: int, *_: Any) -> str:
    return _emit_along(ctx, "LogSoftmax", x, dim)


def _emit_along(ctx: Context, op: str, x: Tensor, dim: int) -> str:
    value = ctx.value(x, ctx.out[0].dtype)
    if not x.rank:
        return ctx.reshape(ctx.add(op, ctx.reshape(value, [1]), axis=0), [])
    return ctx.add(op, value, axis=dim)


@aten("fake_quantize_per_tensor_affine")
def _fake_quantize(ctx: Context, x: Tensor, scale: Any, zero: Any, low: int, high: int) -> str:
    numbers = [ctx.array(i).reshape(()) if isinstance(i, Tensor) else np.array(i) for i in (scale, zero)]
    return _emit_quantized(ctx, x, numbers[0], numbers[1], low, high)


@aten("fake_quantize_per_tensor_affine_cachemask")
def _fake_quantize_core(ctx: Context, x: Tensor, scale: Any, zero: Any, low: int, high: int) -> list[str]:
    return [str(_fake_quantize(ctx, x, scale, zero, low, high)), _make_full_mask(ctx, x)]


@aten("fake_quantize_per_channel_affine_cachemask")
def _fake_quantize_channels_core(ctx: Context, x: Tensor, *rest: Any) -> list[str]:
    return [str(_fake_quantize_channels(ctx, x, *rest)), _make_full_mask(ctx, x)]


def _make_full_mask(ctx: Context, x: Tensor) -> str:
    """The mask that only training reads."""
    return ctx.value(np.ones(x.shape, bool))


@aten("fake_quantize_per_channel_affine")
def _fake_quantize_channels(
    ctx: Context, x: Tensor, scale: Tensor, zero: Tensor, axis: int, low: int, high: int
) -> str:
    return _emit_quantized(ctx, x, ctx.array(scale), ctx.array(zero), low, high, axis)


def _emit_quantized(
    ctx: Context, x: Tensor, scale: Any, zero: Any, low: int, high: int, axis: int = 0
) -> str:
    kinds = {(-128, 127): np.int8, (0, 255): np.uint8, (-32768, 32767): np.int16, (0, 65535): np.uint16}
    if (low, high) not in kinds:
        if (low, high) not in {(-127, 127), (0, 127)}:
            raise ctx.refused(f"values from {low} to {high} are no 8 or 16 bit integers")
        ends = [(np.array(end) - zero) * scale for end in (low, high)]
        shape = [-1 if i == axis else 1 for i in range(x.rank)] if ends[0].ndim else []
        least, most = (ctx.value(e.astype(np.float32).reshape(shape)) for e in ends)
        x_name = ctx.add("Min", ctx.add("Max", x, least), most)
        kind: Any = np.int8 if low < 0 else np.uint8
    else:
        x_name, kind = ctx.value(x), kinds[low, high]
    parts = (scale.astype(np.float32), zero.astype(kind))
    stored = ctx.add("QuantizeLinear", x_name, *parts, axis=axis)
    return ctx.add("DequantizeLinear", stored, *parts, axis=axis)
