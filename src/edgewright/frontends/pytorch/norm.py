"""ATen normalizations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten
from edgewright.frontends.pytorch.values import Tensor, as_array


@aten("batch_norm")
def _batch_norm(
    ctx: Context,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    is_training: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> str:
    if is_training or mean is None or variance is None:
        return _normalize_by_batch(ctx, x, weight, bias, eps)
    given = [_fill_absent(ctx, weight, 1, mean), _fill_absent(ctx, bias, 0, mean), mean, variance]
    return ctx.add("BatchNormalization", x, *given, epsilon=float(eps))


@aten("_native_batch_norm_legit_no_training")
def _batch_norm_core(
    ctx: Context, x: Tensor, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float
) -> list[str]:
    normed = _batch_norm(ctx, x, weight, bias, mean, variance, False, momentum, eps)
    return [str(normed), *_list_empty(ctx)]


@aten("native_batch_norm", "_native_batch_norm_legit")
def _native_batch_norm(
    ctx: Context,
    x: Tensor,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    is_training: bool,
    momentum: float,
    eps: float,
) -> list[str]:
    normed = str(_batch_norm(ctx, x, weight, bias, mean, variance, is_training, momentum, eps))
    if not is_training and mean is not None:
        return [normed, *_list_empty(ctx)]
    axes = [axis for axis in range(x.rank) if axis != 1]
    return [normed, *_measure(ctx, ctx.value(x), axes, eps, x.dtype)]


@aten("_native_batch_norm_legit.no_stats")
def _batch_norm_alone(
    ctx: Context, x: Tensor, weight: Any, bias: Any, _is_training: bool, momentum: float, eps: float
) -> list[str]:
    return list(_native_batch_norm(ctx, x, weight, bias, None, None, True, momentum, eps))


def _list_empty(ctx: Context) -> list[str]:
    """The statistics of a norm that computes none, as torch's kernels return them; types alone say more."""
    return [ctx.value(as_array(ctx.torch.zeros(0, dtype=meta.dtype))) for meta in ctx.out[1:]]


def _measure(ctx: Context, value: str, axes: Sequence[int], eps: float, dtype: Any) -> tuple[str, str]:
    """The mean over some axes, and one over the standard deviation."""
    mean = ctx.add("ReduceMean", value, ctx.ints(axes), keepdims=1)
    apart = ctx.add("Sub", value, mean)
    variance = ctx.add("ReduceMean", ctx.add("Mul", apart, apart), ctx.ints(axes), keepdims=0)
    spread = ctx.add("Sqrt", ctx.add("Add", variance, ctx.scalar(eps, dtype)))
    return ctx.squeeze(mean, axes), ctx.add("Reciprocal", spread)


def _normalize_by_batch(ctx: Context, x: Tensor, weight: Any, bias: Any, eps: float) -> str:
    """With the statistics of the batch itself, as a model in training mode computes them."""
    axes = ctx.ints([axis for axis in range(x.rank) if axis != 1])
    apart = ctx.add("Sub", x, ctx.add("ReduceMean", x, axes, keepdims=1))
    variance = ctx.add("ReduceMean", ctx.add("Mul", apart, apart), axes, keepdims=1)
    spread = ctx.add("Sqrt", ctx.add("Add", variance, ctx.scalar(eps, x.dtype)))
    return _scale_value(ctx, ctx.add("Div", apart, spread), weight, bias, [1, -1, *[1] * (x.rank - 2)])


def _scale_value(ctx: Context, value: str, weight: Any, bias: Any, shape: Sequence[int]) -> str:
    if weight is not None:
        value = ctx.add("Mul", value, ctx.reshape(weight, shape))
    return value if bias is None else ctx.add("Add", value, ctx.reshape(bias, shape))


def _fill_absent(ctx: Context, given: Tensor | None, number: float, like: Tensor) -> str:
    if given is not None:
        return ctx.value(given)
    return (
        ctx.value(np.full(like.shape, number, np.float32))
        if like.dtype == ctx.torch.float32
        else ctx.add("Expand", ctx.scalar(number, like.dtype), ctx.ints(like.shape))
    )


@aten("layer_norm", "native_layer_norm")
def _layer_norm(
    ctx: Context,
    x: Tensor,
    shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *_: Any,
) -> list[str]:
    scale = weight if weight is not None else _emit_ones(ctx, shape, x)
    wanted = len(ctx.out)
    return ctx.add_all(
        "LayerNormalization", x, scale, bias, outputs=wanted, axis=-len(shape), epsilon=float(eps)
    )


def _emit_ones(ctx: Context, shape: Sequence[int], like: Tensor) -> str:
    return (
        ctx.value(np.ones([ctx.number(n) for n in shape], np.float32))
        if like.dtype == ctx.torch.float32
        else (ctx.add("Expand", ctx.scalar(1, like.dtype), ctx.ints(shape)))
    )


@aten("rms_norm", "_fused_rms_norm")
def _rms_norm(
    ctx: Context, x: Tensor, shape: Sequence[int], weight: Any = None, eps: Any = None
) -> list[str]:
    least = ctx.torch.finfo(x.dtype).eps if eps is None else float(eps)
    scale = weight if weight is not None else _emit_ones(ctx, shape, x)
    normed = ctx.add("RMSNormalization", x, scale, axis=-len(shape), epsilon=least)
    if len(ctx.out) == 1:
        return [normed]
    axes = ctx.ints(range(x.rank - len(shape), x.rank))
    square = ctx.add("ReduceMean", ctx.add("Mul", x, x), axes, keepdims=1)
    return [
        normed,
        ctx.add("Reciprocal", ctx.add("Sqrt", ctx.add("Add", square, ctx.scalar(least, x.dtype)))),
    ]


@aten("group_norm")
def _group_norm(
    ctx: Context, x: Tensor, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> str:
    return _normalize_groups(ctx, x, groups, weight, bias, eps)


@aten("native_group_norm")
def _native_group_norm(
    ctx: Context, x: Tensor, weight: Any, bias: Any, _n: Any, _c: Any, _hw: Any, groups: int, eps: float
) -> list[str]:
    parts = ctx.reshape(x, [x.shape[0], groups, x.count // max(x.shape[0] * groups, 1)])
    return [_normalize_groups(ctx, x, groups, weight, bias, eps), *_measure(ctx, parts, [2], eps, x.dtype)]


def _normalize_groups(ctx: Context, x: Tensor, groups: int, weight: Any, bias: Any, eps: float) -> str:
    channels = x.shape[1]
    like = Tensor(ctx.torch.empty((channels,), dtype=x.dtype, device="meta"))
    given = [_fill_absent(ctx, weight, 1, like), _fill_absent(ctx, bias, 0, like)]
    return ctx.add("GroupNormalization", x, *given, num_groups=groups, epsilon=float(eps))


@aten("instance_norm")
def _instance_norm(
    ctx: Context,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    uses_input: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> str:
    if not uses_input and mean is not None:
        return str(_batch_norm(ctx, x, weight, bias, mean, variance, False, momentum, eps))
    like = Tensor(ctx.torch.empty((x.shape[1],), dtype=x.dtype, device="meta"))
    given = [_fill_absent(ctx, weight, 1, like), _fill_absent(ctx, bias, 0, like)]
    return ctx.add("InstanceNormalization", x, *given, epsilon=float(eps))


@aten("_weight_norm", "_weight_norm_interface")
def _weight_norm(ctx: Context, v: Tensor, g: Tensor, dim: int = 0) -> list[str]:
    axes = [axis for axis in range(v.rank) if axis != dim % v.rank]
    length = ctx.add("ReduceL2", v, ctx.ints(axes), keepdims=1)
    return [ctx.add("Mul", v, ctx.add("Div", g, length)), length][: max(len(ctx.out), 1)]
