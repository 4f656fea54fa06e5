"""ATen ops that pick or set elements by index."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten
from edgewright.frontends.pytorch.values import Tensor

# What a reduction starts from where the tensor's own elements do not count.
_NEUTRAL = {"sum": 0.0, "prod": 1.0, "mean": 0.0, "amax": float("-inf"), "amin": float("inf")}


@aten("embedding")
def _embedding(ctx: Context, weight: Tensor, indices: Tensor, *_: Any) -> str:
    return ctx.add("Gather", weight, indices, axis=0)


@aten("index_select")
def _index_select(ctx: Context, x: Tensor, dim: int, index: Tensor) -> str:
    if not x.rank:
        return ctx.reshape(x, ctx.out[0].shape)
    flat = ctx.value(index) if index.rank == 1 else ctx.reshape(index, [-1])
    return ctx.add("Gather", x, flat, axis=dim)


@aten("gather")
def _gather(ctx: Context, x: Tensor, dim: int, index: Tensor, *_: Any) -> str:
    if not index.count:
        return ctx.empty()
    if not x.rank:
        return ctx.reshape(x, index.shape)
    return ctx.add("GatherElements", x, ctx.value(index, ctx.torch.int64), axis=dim)


@aten("take")
def _take(ctx: Context, x: Tensor, index: Tensor) -> str:
    return ctx.add("Gather", ctx.reshape(x, [-1]), index, axis=0)


@aten("index", "_unsafe_index")
def _index(ctx: Context, x: Tensor, indices: Sequence[Tensor | None]) -> str:
    """Index tensors are broadcast; where they stand together the result's axes stand in their place."""
    places = [axis for axis, item in enumerate(indices) if item is not None]
    given = [item for item in indices if item is not None]
    if any(item.dtype == ctx.torch.bool for item in given):
        raise ctx.refused("the number of its results depends on the input's data")
    if len(given) == 1:
        return ctx.add("Gather", x, ctx.value(given[0], ctx.torch.int64), axis=places[0])
    is_together = places == list(range(places[0], places[0] + len(places)))
    rest = [axis for axis in range(x.rank) if axis not in places]
    value = ctx.transpose(x, [*places, *rest])
    found = ctx.add("GatherND", value, _stack_indices(ctx, x, given, places))
    if not is_together or not places[0]:
        return found
    rank = max(item.rank for item in given)
    before = range(rank, rank + places[0])
    return ctx.transpose(found, [*before, *range(rank), *range(rank + places[0], rank + len(rest))])


def _stack_indices(ctx: Context, x: Tensor, given: Sequence[Tensor], places: Sequence[int]) -> str:
    """Index tensors side by side on a last axis, none below zero."""
    shape = np.broadcast_shapes(*(item.shape for item in given))
    parts = []
    for item, axis in zip(given, places, strict=True):
        name = _from_start(ctx, item, x.shape[axis])
        full = name if item.shape == shape else ctx.add("Expand", name, ctx.ints(shape))
        parts.append(ctx.unsqueeze(full, [len(shape)]))
    return parts[0] if len(parts) == 1 else ctx.add("Concat", *parts, axis=len(shape))


def _from_start(ctx: Context, item: Tensor, length: int) -> str:
    """An index tensor; a constant one without negative numbers."""
    if item.data is None:
        return ctx.value(item, ctx.torch.int64)
    array = ctx.array(item).astype(np.int64)
    return ctx.value(np.where(array < 0, array + length, array))


@aten("index_put", "_unsafe_index_put")
def _index_put(
    ctx: Context, x: Tensor, indices: Sequence[Tensor | None], values: Tensor, adds: bool = False, *_: Any
) -> str:
    places = [axis for axis, item in enumerate(indices) if item is not None]
    given = [item for item in indices if item is not None]
    if given and given[0].dtype == ctx.torch.bool:
        return _put_where(ctx, x, given, values, adds=adds)
    rest = [axis for axis in range(x.rank) if axis not in places]
    order = [*places, *rest]
    points = _stack_indices(ctx, x, given, places)
    shape = np.broadcast_shapes(*(item.shape for item in given))
    full = [*shape, *(x.shape[axis] for axis in rest)]
    updates = ctx.value(values, x.dtype)
    if places[0] and places == list(range(places[0], places[0] + len(places))) and values.rank > 0:
        # Torch has the new axes where the indices stand; here they come first.
        before = [x.shape[axis] for axis in rest if axis < places[0]]
        whole = [*before, *shape, *(x.shape[axis] for axis in rest if axis > places[-1])]
        updates = ctx.add("Expand", updates, ctx.ints(whole))
        turn = [*range(len(before), len(before) + len(shape)), *range(len(before))]
        updates = ctx.transpose(updates, [*turn, *range(len(turn), len(whole))])
    elif values.shape != tuple(full):
        updates = ctx.add("Expand", updates, ctx.ints(full))
    found = ctx.add(
        "ScatterND", ctx.transpose(x, order), points, updates, reduction="add" if adds else "none"
    )
    return ctx.transpose(found, [order.index(axis) for axis in range(x.rank)])


def _put_where(ctx: Context, x: Tensor, given: Sequence[Tensor], values: Tensor, *, adds: bool) -> str:
    if len(given) > 1 or values.count != 1 or adds:
        raise ctx.refused("a mask that depends on the input's data picks what is set")
    mask = ctx.reshape(given[0], [*given[0].shape, *[1] * (x.rank - given[0].rank)])
    return ctx.add("Where", mask, ctx.reshape(ctx.value(values, x.dtype), []), x)


@aten("scatter.src", "scatter.value")
def _scatter(ctx: Context, x: Tensor, dim: int, index: Tensor, source: Any) -> str:
    return _scatter_values(ctx, x, dim, index, source, "none")


@aten("scatter.reduce", "scatter.value_reduce")
def _scatter_named(ctx: Context, x: Tensor, dim: int, index: Tensor, source: Any, reduce: str) -> str:
    return _scatter_values(ctx, x, dim, index, source, {"multiply": "mul"}.get(reduce, reduce))


@aten("scatter_add")
def _scatter_add(ctx: Context, x: Tensor, dim: int, index: Tensor, source: Any) -> str:
    return _scatter_values(ctx, x, dim, index, source, "add")


@aten("scatter_reduce")
def _scatter_reduce(
    ctx: Context, x: Tensor, dim: int, index: Tensor, source: Any, reduce: str, includes_self: bool = True
) -> str:
    words = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}
    if not x.dtype.is_floating_point and (reduce == "mean" or not includes_self):
        raise ctx.refused(f"'{reduce}' of {x.dtype} with include_self {includes_self}")
    base = x if includes_self else _replace(ctx, x, dim, index, _NEUTRAL[reduce])
    total = _scatter_values(ctx, base, dim, index, source, words[reduce])
    if reduce != "mean":
        return total
    ones = ctx.add("Expand", ctx.scalar(1, x.dtype), ctx.ints(x.shape))
    first = Tensor(x.meta, name=ones)
    counts = first if includes_self else _replace(ctx, first, dim, index, 0.0)
    return ctx.add("Div", total, _scatter_values(ctx, counts, dim, index, 1.0, "add"))


def _replace(ctx: Context, x: Tensor, dim: int, index: Tensor, number: float) -> Tensor:
    return Tensor(x.meta, name=_scatter_values(ctx, x, dim, index, number, "none"))


def _scatter_values(ctx: Context, x: Tensor, dim: int, index: Tensor, source: Any, reduction: str) -> str:
    if not x.rank:
        whole = [ctx.as_vector(t) if isinstance(t, Tensor) and not t.rank else t for t in (x, index, source)]
        return ctx.reshape(_scatter_values(ctx, whole[0], 0, whole[1], whole[2], reduction), [])
    if isinstance(source, Tensor) and source.rank == index.rank:
        updates = ctx.value(source, x.dtype)
        for axis, (have, want) in enumerate(zip(source.shape, index.shape, strict=True)):
            # Torch reads as much of the source as the index has.
            updates = ctx.slice(updates, axis, 0, want) if have > want else updates
    else:
        updates = ctx.add("Expand", ctx.value(source, x.dtype), ctx.ints(index.shape))
    places = ctx.value(index, ctx.torch.int64)
    return ctx.add("ScatterElements", x, places, updates, axis=dim, reduction=reduction)


@aten("index_add")
def _index_add(ctx: Context, x: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any = 1) -> str:
    updates = ctx.value(source, x.dtype)
    if alpha != 1:
        updates = ctx.add("Mul", updates, ctx.scalar(alpha, x.dtype))
    return _scatter_along(ctx, x, dim, index, updates, source.shape, "add")


@aten("index_copy")
def _index_copy(ctx: Context, x: Tensor, dim: int, index: Tensor, source: Tensor) -> str:
    return _scatter_along(ctx, x, dim, index, ctx.value(source, x.dtype), source.shape, "none")


@aten("index_fill")
def _index_fill(ctx: Context, x: Tensor, dim: int, index: Tensor, number: Any) -> str:
    if not x.rank:
        return ctx.value(number, x.dtype) if index.count else ctx.value(x)
    shape = [index.count if axis == dim % x.rank else size for axis, size in enumerate(x.shape)]
    updates = ctx.add("Expand", ctx.value(number, x.dtype), ctx.ints(shape))
    return _scatter_along(ctx, x, dim, index, updates, shape, "none")


def _scatter_along(
    ctx: Context, x: Tensor, dim: int, index: Tensor, updates: str, shape: Sequence[int], reduction: str
) -> str:
    """Whole slices set along one axis: the index holds for every element of a slice."""
    if not x.rank:
        flat = ctx.reshape(updates, [-1])
        return ctx.reshape(
            _scatter_along(ctx, ctx.as_vector(x), 0, index, flat, [index.count], reduction), []
        )
    axis = dim % x.rank
    column = ctx.reshape(ctx.value(index, ctx.torch.int64), [-1 if i == axis else 1 for i in range(x.rank)])
    full = ctx.add("Expand", column, ctx.ints(shape))
    return ctx.add("ScatterElements", x, full, updates, axis=axis, reduction=reduction)


@aten("slice_scatter")
def _slice_scatter(
    ctx: Context, x: Tensor, source: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> str:
    axis = dim % x.rank
    picked = np.arange(x.shape[axis])[slice(start, end, step)]
    return _set_slices(ctx, x, source, axis, picked)


@aten("select_scatter")
def _select_scatter(ctx: Context, x: Tensor, source: Tensor, dim: int, index: int) -> str:
    axis = dim % x.rank
    picked = np.array([ctx.number(index) % x.shape[axis]])
    return _set_slices(ctx, x, ctx.unsqueeze(source, [axis]), axis, picked)


def _set_slices(ctx: Context, x: Tensor, source: Any, axis: int, picked: Any) -> str:
    shape = [len(picked) if i == axis else size for i, size in enumerate(x.shape)]
    column = picked.reshape([-1 if i == axis else 1 for i in range(x.rank)])
    return ctx.add(
        "ScatterElements", x, np.ascontiguousarray(np.broadcast_to(column, shape)), source, axis=axis
    )
