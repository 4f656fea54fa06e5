"""ATen ops that move elements without changing them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten
from edgewright.frontends.pytorch.values import Tensor, as_array


@aten("contiguous", "clone", "detach", "alias", "lift_fresh")
def _same(ctx: Context, x: Tensor, *_: Any) -> str:
    return ctx.value(x)


@aten("positive", "resolve_conj", "resolve_neg")
def _same_too(ctx: Context, x: Tensor, *_: Any) -> str:
    return ctx.value(x)


@aten("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def _dropout(ctx: Context, x: Tensor, share: float = 0.5, is_training: bool = False) -> str:
    if is_training and 0 < share < 1:
        raise ctx.refuse_random()
    return ctx.add("Mul", x, ctx.scalar(0, x.dtype)) if is_training and share else ctx.value(x)


@aten("to", "_to_copy", "type_as")
def _to(ctx: Context, x: Tensor, *_: Any) -> str:
    return ctx.value(x, ctx.out[0].dtype)


@aten("copy")
def _copy(ctx: Context, x: Tensor, source: Any, *_: Any) -> str:
    value = ctx.value(source, x.dtype)
    if isinstance(source, Tensor) and source.shape == x.shape:
        return value
    return ctx.add("Expand", value, ctx.ints(x.shape))


@aten("fill")
def _fill(ctx: Context, x: Tensor, number: Any) -> str:
    return ctx.add("Expand", ctx.value(number, x.dtype), ctx.ints(x.shape))


@aten("view", "reshape", "_unsafe_view", "flatten", "unflatten", "view_as")
def _reshape(ctx: Context, x: Tensor, *_: Any) -> str:
    if ctx.out[0].dtype != x.dtype:
        raise ctx.refused("bits are read as another type")
    shape = tuple(ctx.out[0].shape)
    return ctx.value(x) if shape == x.shape else ctx.reshape(x, shape)


@aten("squeeze", "unsqueeze")
def _reshape_too(ctx: Context, x: Tensor, *_: Any) -> str:
    shape = tuple(ctx.out[0].shape)
    return ctx.value(x) if shape == x.shape else ctx.reshape(x, shape)


@aten("transpose")
def _transpose(ctx: Context, x: Tensor, first: int, second: int) -> str:
    if not x.rank:
        return ctx.value(x)
    order = list(range(x.rank))
    a, b = first % x.rank, second % x.rank
    order[a], order[b] = order[b], order[a]
    return ctx.transpose(x, order)


@aten("t", "numpy_T")
def _t(ctx: Context, x: Tensor) -> str:
    order = list(range(x.rank))
    order = order[::-1] if "numpy_T" in ctx.op else [*order[:-2], *order[-2:][::-1]]
    return ctx.transpose(x, order)


@aten("permute")
def _permute(ctx: Context, x: Tensor, dims: Sequence[int]) -> str:
    return ctx.transpose(x, [axis % x.rank for axis in dims])


@aten("movedim.intlist", "movedim.int")
def _movedim(ctx: Context, x: Tensor, source: Any, target: Any) -> str:
    places = np.arange(int(np.prod([1])) * x.rank)
    start = [source] if isinstance(source, int) else list(source)
    end = [target] if isinstance(target, int) else list(target)
    moved = np.moveaxis(np.empty([i + 2 for i in places]), start, end).shape
    return ctx.transpose(x, [size - 2 for size in moved])


@aten("expand", "expand_as")
def _expand(ctx: Context, x: Tensor, *_: Any) -> str:
    shape = tuple(ctx.out[0].shape)
    return ctx.value(x) if shape == x.shape else ctx.add("Expand", x, ctx.ints(shape))


@aten("repeat", "tile")
def _repeat(ctx: Context, x: Tensor, repeats: Sequence[int]) -> str:
    counts = [1] * (x.rank - len(repeats)) + [ctx.number(n) for n in repeats]
    value = ctx.reshape(x, [*[1] * (len(counts) - x.rank), *x.shape]) if len(counts) > x.rank else x
    return ctx.add("Tile", value, ctx.ints(counts))


@aten("repeat_interleave.self_int")
def _repeat_interleave(ctx: Context, x: Tensor, repeats: int, dim: int | None = None, *_: Any) -> str:
    value, shape = (ctx.reshape(x, [-1]), (x.count,)) if dim is None else (ctx.value(x), x.shape)
    axis = 0 if dim is None else dim % x.rank
    return ctx.add("Gather", value, np.repeat(np.arange(shape[axis]), ctx.number(repeats)), axis=axis)


@aten("cat")
def _cat(ctx: Context, parts: Sequence[Tensor], dim: int = 0) -> str:
    # Torch lets an empty vector stand among tensors of any rank.
    kept = [part for part in parts if part.shape != (0,) or len(ctx.out[0].shape) == 1]
    values = [ctx.value(part, ctx.out[0].dtype) for part in kept]
    return values[0] if len(values) == 1 else ctx.add("Concat", *values, axis=dim)


@aten("stack")
def _stack(ctx: Context, parts: Sequence[Tensor], dim: int = 0) -> str:
    axis = dim % len(ctx.out[0].shape)
    values = [ctx.unsqueeze(ctx.value(part, ctx.out[0].dtype), [axis]) for part in parts]
    return values[0] if len(values) == 1 else ctx.add("Concat", *values, axis=axis)


@aten("split", "split_with_sizes", "chunk", "tensor_split", "unsafe_split")
def _split(ctx: Context, x: Tensor, _sizes: Any, dim: int = 0) -> list[str]:
    axis = dim % x.rank
    sizes = [int(part.shape[axis]) for part in ctx.out]
    if len(sizes) == 1:
        return [ctx.value(x)]
    return ctx.add_all("Split", x, ctx.ints(sizes), outputs=len(sizes), axis=axis)


@aten("unbind")
def _unbind(ctx: Context, x: Tensor, dim: int = 0) -> list[str]:
    axis = dim % x.rank
    if len(ctx.out) == 1:
        return [ctx.squeeze(x, [axis])]
    parts = ctx.add_all("Split", x, outputs=len(ctx.out), axis=axis, num_outputs=len(ctx.out))
    return [ctx.squeeze(part, [axis]) for part in parts]


@aten("slice")
def _slice(ctx: Context, x: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> str:
    axis = dim % x.rank
    picked = range(x.shape[axis])[
        slice(_read_optional(ctx, start), _read_optional(ctx, end), ctx.number(step))
    ]
    if len(picked) == x.shape[axis]:
        return ctx.value(x)
    return ctx.slice(x, axis, picked.start, picked.stop, picked.step)


def _read_optional(ctx: Context, item: Any) -> int | None:
    return None if item is None else ctx.number(item)


@aten("narrow")
def _narrow(ctx: Context, x: Tensor, dim: int, start: Any, length: Any) -> str:
    first = ctx.number(start) % max(x.shape[dim], 1)
    return ctx.slice(x, dim % x.rank, first, first + ctx.number(length))


@aten("select")
def _select(ctx: Context, x: Tensor, dim: int, index: Any) -> str:
    axis = dim % x.rank
    if isinstance(index, Tensor) and index.data is None:
        return ctx.add("Gather", x, ctx.reshape(index, []), axis=axis)
    place = ctx.number(index) % x.shape[axis]
    return ctx.add("Gather", x, np.array(place, np.int64), axis=axis)


@aten("flip")
def _flip(ctx: Context, x: Tensor, dims: Sequence[int]) -> str:
    axes = [axis % x.rank for axis in dims]
    if not axes:
        return ctx.value(x)
    starts, ends, steps = [-1] * len(axes), [-(1 << 62)] * len(axes), [-1] * len(axes)
    return ctx.add("Slice", x, *(ctx.ints(items) for items in (starts, ends, axes, steps)))


@aten("roll")
def _roll(ctx: Context, x: Tensor, shifts: Any, dims: Any = ()) -> str:
    moves = [shifts] if isinstance(shifts, int) else list(shifts)
    axes = [dims] if isinstance(dims, int) else list(dims or ())
    if not axes:
        return ctx.reshape(_roll_axis(ctx, ctx.reshape(x, [-1]), 0, moves[0], x.count), x.shape)
    value = ctx.value(x)
    for axis, shift in zip(axes, moves, strict=True):
        value = _roll_axis(ctx, value, axis % x.rank, shift, x.shape[axis])
    return value


def _roll_axis(ctx: Context, value: str, axis: int, shift: int, length: int) -> str:
    cut = -shift % length if length else 0
    if not cut:
        return value
    parts = (ctx.slice(value, axis, cut, length), ctx.slice(value, axis, 0, cut))
    return ctx.add("Concat", *parts, axis=axis)


@aten("constant_pad_nd")
def _constant_pad(ctx: Context, x: Tensor, pad: Sequence[int], value: Any = 0) -> str:
    return _pad_axes(ctx, x, pad, "constant", value)


@aten("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def _reflection_pad(ctx: Context, x: Tensor, pad: Sequence[int]) -> str:
    return _pad_axes(ctx, x, pad, "reflect")


@aten("replication_pad1d", "replication_pad2d", "replication_pad3d")
def _replication_pad(ctx: Context, x: Tensor, pad: Sequence[int]) -> str:
    return _pad_axes(ctx, x, pad, "edge")


@aten("_pad_circular")
def _circular_pad(ctx: Context, x: Tensor, pad: Sequence[int]) -> str:
    return _pad_axes(ctx, x, pad, "wrap")


@aten("pad")
def _pad(ctx: Context, x: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> str:
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    return _pad_axes(ctx, x, pad, modes[mode], value or 0)


def _pad_axes(ctx: Context, x: Tensor, pad: Sequence[int], mode: str, value: Any = 0) -> str:
    """Torch counts from the last axis and pairs the ends; ONNX lists all starts, then all ends."""
    pairs = [(ctx.number(a), ctx.number(b)) for a, b in zip(pad[::2], pad[1::2], strict=True)]
    full = [(0, 0)] * (x.rank - len(pairs)) + pairs[::-1]
    given = ctx.ints([*(a for a, _ in full), *(b for _, b in full)])
    if all(pair == (0, 0) for pair in full):
        return ctx.value(x)
    if mode == "constant":
        if x.dtype == ctx.torch.bool:
            wide = ctx.add(
                "Pad", ctx.cast(ctx.value(x), ctx.torch.int32), given, ctx.scalar(int(value), ctx.torch.int32)
            )
            return ctx.cast(wide, ctx.torch.bool)
        return ctx.add("Pad", x, given, ctx.value(value, x.dtype), mode=mode)
    return ctx.add("Pad", x, given, mode=mode)


@aten("pixel_shuffle")
def _pixel_shuffle(ctx: Context, x: Tensor, factor: int) -> str:
    value = _as_images(ctx, x)
    return ctx.reshape(ctx.add("DepthToSpace", value, blocksize=factor, mode="CRD"), ctx.out[0].shape)


@aten("pixel_unshuffle")
def _pixel_unshuffle(ctx: Context, x: Tensor, factor: int) -> str:
    *outer, channels, height, width = x.shape
    batch, h, w = int(np.prod(outer)), height // factor, width // factor
    parts = ctx.reshape(x, [batch, channels, h, factor, w, factor])
    return ctx.reshape(ctx.transpose(parts, [0, 1, 3, 5, 2, 4]), ctx.out[0].shape)


def _as_images(ctx: Context, x: Tensor) -> str:
    return ctx.value(x) if x.rank == 4 else ctx.reshape(x, [int(np.prod(x.shape[:-3])), *x.shape[-3:]])


@aten("channel_shuffle", "native_channel_shuffle")
def _channel_shuffle(ctx: Context, x: Tensor, groups: int) -> str:
    batch, channels, *spatial = x.shape
    parts = ctx.reshape(x, [batch, groups, channels // groups, *spatial])
    order = [0, 2, 1, *range(3, 3 + len(spatial))]
    return ctx.reshape(ctx.transpose(parts, order), x.shape)


@aten("tril", "triu")
def _triangle(ctx: Context, x: Tensor, diagonal: int = 0) -> str:
    is_upper = int("triu" in ctx.op)
    return ctx.add("Trilu", x, np.array(diagonal, np.int64), upper=is_upper)


@aten("diagonal", "diag", "as_strided", "rot90")
def _picked(ctx: Context, x: Tensor, *rest: Any) -> str:
    """Views that pick elements by a rule: torch applies the rule to the elements' places."""
    places = ctx.torch.arange(x.count).reshape(x.shape)
    name = ctx.op.removeprefix("aten::").split(".")[0].removesuffix("_copy")
    if name == "diag" and x.rank == 1:
        return ctx.add("Mul", ctx.unsqueeze(x, [0]), ctx.value(ctx.torch.eye(x.count).numpy()))
    given = [item for item in rest if item is not None]
    found = as_array(getattr(ctx.torch.ops.aten, name)(places, *given))
    return ctx.add("Gather", ctx.reshape(x, [-1]), found, axis=0)


@aten("unfold")
def _unfold(ctx: Context, x: Tensor, dim: int, size: int, step: int) -> str:
    """Windows along an axis; the places inside of a window are the last axis."""
    if x.rank == 0:
        return ctx.reshape(x, ctx.out[0].shape)
    axis = dim % x.rank
    starts = np.arange(0, x.shape[axis] - size + 1, step)
    windows = ctx.add("Gather", x, starts[:, None] + np.arange(size), axis=axis)
    return ctx.transpose(windows, [*range(axis + 1), *range(axis + 2, x.rank + 1), axis + 1])


@aten("im2col")
def _im2col(
    ctx: Context,
    x: Tensor,
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> str:
    """Every window as a column: first the rows of all windows, then the columns of these."""
    value = ctx.value(x) if x.rank == 4 else ctx.unsqueeze(x, [0])
    if any(padding):
        value = ctx.add("Pad", value, ctx.ints([0, 0, *padding, 0, 0, *padding]))
    for axis in (0, 1):
        reach = dilation[axis] * (kernel[axis] - 1)
        length = x.shape[axis - 2] + 2 * padding[axis]
        starts = np.arange(0, length - reach, stride[axis])
        taps = np.arange(kernel[axis])[:, None] * dilation[axis]
        value = ctx.add("Gather", value, taps + starts, axis=2 + 2 * axis)
    return ctx.reshape(ctx.transpose(value, [0, 1, 2, 4, 3, 5]), ctx.out[0].shape)


@aten("col2im")
def _col2im(
    ctx: Context,
    x: Tensor,
    size: Sequence[int],
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> str:
    value = ctx.value(x) if x.rank == 3 else ctx.unsqueeze(x, [0])
    pads = [*padding, *padding]
    found = ctx.add(
        "Col2Im",
        value,
        ctx.ints(size),
        ctx.ints(kernel),
        dilations=list(dilation),
        pads=pads,
        strides=list(stride),
    )
    return found if x.rank == 3 else ctx.squeeze(found, [0])
