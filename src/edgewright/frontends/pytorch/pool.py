"""ATen pooling."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten
from edgewright.frontends.pytorch.values import Tensor

_SPATIAL = {"1d": 1, "2d": 2, "3d": 3}


def _rank(ctx: Context) -> int:
    return next(rank for word, rank in _SPATIAL.items() if word in ctx.op)


def _repeat_for_axes(value: Any, rank: int) -> list[int]:
    if isinstance(value, int):
        return [value] * rank
    return list(value) * rank if len(value) == 1 else list(value)


@aten("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(
    ctx: Context,
    x: Tensor,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil: bool = False,
) -> list[str]:
    rank = _rank(ctx)
    value = ctx.value(x) if x.rank == rank + 2 else ctx.unsqueeze(x, [0])
    found = ctx.add_all(
        "MaxPool",
        value,
        outputs=len(ctx.out),
        kernel_shape=_repeat_for_axes(kernel, rank),
        strides=_repeat_for_axes(stride or kernel, rank),
        pads=_repeat_for_axes(padding, rank) * 2,
        dilations=_repeat_for_axes(dilation, rank),
        ceil_mode=int(ceil),
    )
    if len(found) > 1:
        found[1] = _count_within_plane(ctx, found[1], value, x.shape, rank)
    return found if x.rank == rank + 2 else [ctx.squeeze(item, [0]) for item in found]


def _count_within_plane(ctx: Context, indices: str, _value: str, shape: Sequence[int], rank: int) -> str:
    """ONNX counts through the whole tensor, torch through each plane."""
    plane = int(np.prod(shape[-rank:]))
    return ctx.add("Mod", indices, ctx.scalar(plane, ctx.torch.int64))


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(
    ctx: Context,
    x: Tensor,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil: bool = False,
    counts_pads: bool = True,
    divisor: int | None = None,
) -> str:
    rank = _rank(ctx)
    value = ctx.value(x) if x.rank == rank + 2 else ctx.unsqueeze(x, [0])
    sizes = _repeat_for_axes(kernel, rank)
    found = ctx.add(
        "AveragePool",
        value,
        kernel_shape=sizes,
        strides=_repeat_for_axes(stride or kernel, rank),
        pads=_repeat_for_axes(padding, rank) * 2,
        ceil_mode=int(ceil),
        count_include_pad=int(counts_pads or divisor is not None),
    )
    if divisor is not None:
        if ceil:
            raise ctx.refused("ceil_mode together with divisor_override")
        found = ctx.add("Mul", found, ctx.scalar(float(np.prod(sizes)) / divisor, x.dtype))
    return found if x.rank == rank + 2 else ctx.squeeze(found, [0])


@aten("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive_avg(ctx: Context, x: Tensor, size: Any) -> str:
    return _pool_adaptively(ctx, x, "AveragePool", "ReduceMean")[0]


@aten("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def _adaptive_avg_core(ctx: Context, x: Tensor, size: Any) -> str:
    return _pool_adaptively(ctx, x, "AveragePool", "ReduceMean")[0]


@aten("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max(ctx: Context, x: Tensor, size: Any) -> list[str]:
    return _pool_adaptively(ctx, x, "MaxPool", "ReduceMax")


def _pool_adaptively(ctx: Context, x: Tensor, op: str, reduce: str) -> list[str]:
    """Windows that divide the input evenly are a plain pool; others are reduced one axis after the other."""
    rank = _rank(ctx)
    have, want = x.shape[-rank:], tuple(ctx.out[0].shape)[-rank:]
    value = ctx.value(x) if x.rank == rank + 2 else ctx.unsqueeze(x, [0])
    back = (lambda name: name) if x.rank == rank + 2 else (lambda name: ctx.squeeze(name, [0]))
    if all(h % w == 0 for h, w in zip(have, want, strict=True)):
        sizes = [h // w for h, w in zip(have, want, strict=True)]
        found = ctx.add_all(op, value, outputs=len(ctx.out), kernel_shape=sizes, strides=sizes)
        if len(found) > 1:
            found[1] = _count_within_plane(ctx, found[1], value, x.shape, rank)
        return [back(name) for name in found]
    places = [back(_find_extremes(ctx, value, x.shape, have, want))] if len(ctx.out) > 1 else []
    for axis, (h, w) in enumerate(zip(have, want, strict=True)):
        value = _pool_unevenly(ctx, value, reduce, 2 + axis, (h, w))
    return [back(value), *places]


def _find_extremes(
    ctx: Context, value: str, shape: Sequence[int], have: Sequence[int], want: Sequence[int]
) -> str:
    """Where in its plane the largest element of each window lies: all windows side by side."""
    plane = np.arange(int(np.prod(have))).reshape(tuple(have))
    parts = [[_cut_window(i, h, w) for i in range(w)] for h, w in zip(have, want, strict=True)]
    windows = [plane[picked].reshape(-1) for picked in product(*parts)]
    longest = max(len(window) for window in windows)
    # A window that is shorter repeats its first element, which is found before its repetition.
    table = np.stack([np.pad(w, (0, longest - len(w)), constant_values=w[0]) for w in windows])
    outer = [1] * (len(have) + 2 - len(shape)) + list(shape[: len(shape) - len(have)])
    elements = ctx.add("Gather", ctx.reshape(value, [*outer, plane.size]), table, axis=2)
    place = ctx.add("ArgMax", elements, axis=3, keepdims=0)
    flat = ctx.add("Add", place, np.arange(len(windows)) * longest)
    return ctx.reshape(ctx.add("Gather", ctx.value(table.reshape(-1)), flat, axis=0), [*outer, *want])


def _cut_window(index: int, have: int, want: int) -> slice:
    return slice(index * have // want, -(-(index + 1) * have // want))


def _pool_unevenly(ctx: Context, value: str, reduce: str, axis: int, sizes: tuple[int, int]) -> str:
    have, want = sizes
    parts = []
    for index in range(want):
        window = _cut_window(index, have, want)
        part = ctx.slice(value, axis, window.start, window.stop)
        parts.append(ctx.add(reduce, part, ctx.ints([axis]), keepdims=1))
    return parts[0] if want == 1 else ctx.add("Concat", *parts, axis=axis)
