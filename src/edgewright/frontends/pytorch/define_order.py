"""Searching, running extremes and scattering, written out in terms of other ops."""

from typing import Any

from edgewright.core.errors import UnsupportedOp
from edgewright.frontends.pytorch.definitions import define

# Each element is held against all others along an axis.
LONGEST_AXIS = 2048


@define("aten::searchsorted.Tensor")
def _define_search(
    torch: Any,
    ordered: Any,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    if sorter is not None:
        ordered = torch.gather(ordered, -1, sorter)
    return _count_below(torch, ordered, values, right or side == "right", out_int32)


@define("aten::searchsorted.Scalar")
def _define_search_of_number(torch: Any, ordered: Any, value: Any, **options: Any) -> Any:
    return _define_search(torch, ordered, torch.tensor([value], dtype=ordered.dtype), **options).squeeze(-1)


@define("aten::bucketize.Tensor")
def _define_buckets(
    torch: Any, values: Any, bounds: Any, *, out_int32: bool = False, right: bool = False
) -> Any:
    return _count_below(torch, bounds, values, right, out_int32)


def _count_below(torch: Any, ordered: Any, values: Any, counts_equal: bool, is_short: bool) -> Any:
    """The place of each value among ordered ones: how many of those are below it."""
    bounds = ordered if ordered.dim() == 1 else ordered.unsqueeze(-2)
    each = values.unsqueeze(-1)
    below = bounds <= each if counts_equal else bounds < each
    return below.to(torch.int64).sum(-1).to(torch.int32 if is_short else torch.int64)


def _repeat_up_to_each(torch: Any, x: Any, dim: int, filler: float) -> Any:
    """For each element along an axis, made the last: all up to it, and a number in place of those behind."""
    count = x.shape[dim]
    if count > LONGEST_AXIS:
        raise UnsupportedOp(f"an axis has {count} elements, at most {LONGEST_AXIS} are compared")
    places = torch.arange(count)
    return torch.where(places <= places.unsqueeze(-1), x.movedim(dim, -1).unsqueeze(-2), filler)


def _find_running(torch: Any, x: Any, dim: int, *, is_max: bool) -> tuple[Any, Any]:
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    limits = torch.finfo(x.dtype) if x.dtype.is_floating_point else torch.iinfo(x.dtype)
    infinite = float("inf") if x.dtype.is_floating_point else None
    extremes = (limits.min, limits.max) if infinite is None else (-infinite, infinite)
    rows = _repeat_up_to_each(torch, x, dim, extremes[0] if is_max else extremes[1])
    values = rows.amax(-1) if is_max else rows.amin(-1)
    # Of equal elements the last one counts.
    count = x.shape[dim]
    is_extreme = (rows == values.unsqueeze(-1)) & (torch.arange(count) <= torch.arange(count).unsqueeze(-1))
    places = torch.where(is_extreme, torch.arange(count), -1).amax(-1)
    return values.movedim(-1, dim), places.movedim(-1, dim)


@define("aten::cummax")
def _define_running_max(torch: Any, x: Any, dim: int) -> tuple[Any, Any]:
    return _find_running(torch, x, dim, is_max=True)


@define("aten::cummin")
def _define_running_min(torch: Any, x: Any, dim: int) -> tuple[Any, Any]:
    return _find_running(torch, x, dim, is_max=False)


@define("aten::logcumsumexp")
def _define_running_logarithm(torch: Any, x: Any, dim: int) -> Any:
    if not x.dim():
        return x.clone()
    return _repeat_up_to_each(torch, x, dim, float("-inf")).logsumexp(-1).movedim(-1, dim)


@define("aten::nanmedian.dim")
def _define_median_of_numbers(torch: Any, x: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    is_nan = x.isnan()
    values, places = torch.where(is_nan, float("inf"), x).sort(dim)
    count = (~is_nan).to(torch.int64).sum(dim, keepdim=True)
    middle = (count - 1).clamp_min(0) // 2
    value = torch.where(count == 0, float("nan"), values.gather(dim, middle))
    place = places.gather(dim, middle)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


@define("aten::nanmedian")
def _define_median_of_all_numbers(torch: Any, x: Any) -> Any:
    return _define_median_of_numbers(torch, x.reshape(-1), 0)[0]


@define("aten::mode")
def _define_most_frequent(torch: Any, x: Any, dim: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    """The most frequent value, of several the least; its last place."""
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    rows = x.movedim(dim, -1)
    count = rows.shape[-1]
    if count > LONGEST_AXIS:
        raise UnsupportedOp(f"an axis has {count} elements, at most {LONGEST_AXIS} are compared")
    counts = (rows.unsqueeze(-1) == rows.unsqueeze(-2)).to(torch.int64).sum(-1)
    is_most = counts == counts.amax(-1, keepdim=True)
    top = float("inf") if x.dtype.is_floating_point else torch.iinfo(x.dtype).max
    value = torch.where(is_most, rows, top).amin(-1)
    place = torch.where(rows == value.unsqueeze(-1), torch.arange(count), -1).amax(-1)
    if keepdim:
        return value.unsqueeze(dim), place.unsqueeze(dim)
    return value, place


@define("aten::index_reduce")
def _define_index_reduced(
    torch: Any, x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    if not x.dim():
        parts = (x.reshape(1), 0, index.reshape(-1), source.reshape(-1), reduce)
        return _define_index_reduced(torch, *parts, include_self=include_self).reshape(())
    shape = [-1 if axis == dim % x.dim() else 1 for axis in range(x.dim())]
    full = index.reshape(shape).expand(source.shape)
    return x.scatter_reduce(dim, full, source, reduce, include_self=include_self)


@define("aten::put")
def _define_put(torch: Any, x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    flat, places, values = x.reshape(-1), index.reshape(-1), source.reshape(-1)
    places = torch.where(places < 0, places + flat.shape[0], places)
    result = flat.scatter_add(0, places, values) if accumulate else flat.scatter(0, places, values)
    return result.reshape(x.shape)


@define("aten::masked_scatter")
def _define_masked(torch: Any, x: Any, mask: Any, source: Any) -> Any:
    shape = torch.broadcast_shapes(x.shape, mask.shape)
    flags = mask.expand(shape).reshape(-1)
    place = (flags.to(torch.int64).cumsum(0) - 1).clamp(0, source.numel() - 1)
    picked = source.reshape(-1).index_select(0, place).reshape(shape)
    return torch.where(flags.reshape(shape), picked, x)


def _set_places(torch: Any, x: Any, source: Any, places: Any) -> Any:
    """The tensor with some elements set; which these are is known."""
    return x.reshape(-1).scatter(0, places.reshape(-1), source.reshape(-1)).reshape(x.shape)


@define("aten::diagonal_scatter")
def _define_diagonal(torch: Any, x: Any, source: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    places = torch.arange(x.numel()).reshape(x.shape).diagonal(offset, dim1, dim2)
    return _set_places(torch, x, source, places)


@define("aten::as_strided_scatter")
def _define_strided(
    torch: Any, x: Any, source: Any, size: Any, stride: Any, storage_offset: int | None = None
) -> Any:
    places = torch.arange(x.numel()).as_strided(size, stride, storage_offset or 0)
    return _set_places(torch, x, source, places)


@define("aten::_pdist_forward")
def _define_distances(torch: Any, x: Any, p: float = 2) -> Any:
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1).unbind(0)
    return torch.linalg.vector_norm(x.index_select(0, first) - x.index_select(0, second), p, -1)


@define("aten::broadcast_tensors")
def _define_broadcast(torch: Any, tensors: Any) -> Any:
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    return [tensor.expand(shape) for tensor in tensors]


@define("aten::_embedding_bag_forward_only", "aten::_embedding_bag")
def _define_bags(
    torch: Any,
    weight: Any,
    indices: Any,
    offsets: Any,
    _is_scaled: bool = False,
    mode: int = 0,
    _is_sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Any, Any, Any, Any]:
    """Sums (0), means (1) or largest values (2) of rows; a bag begins at its offset."""
    starts = offsets[:-1] if include_last_offset else offsets
    bag = (starts <= torch.arange(indices.shape[0]).unsqueeze(-1)).to(torch.int64).sum(-1) - 1
    is_in = bag == torch.arange(starts.shape[0]).unsqueeze(-1)
    if padding_idx >= 0:
        is_in = is_in & (indices != padding_idx)
    rows = weight.index_select(0, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    counts = is_in.to(weight.dtype).sum(-1, keepdim=True)
    if mode == 2:
        inside = torch.where(is_in.unsqueeze(-1), rows, float("-inf")).amax(1)
        result = torch.where(counts == 0, 0.0, inside)
    else:
        result = is_in.to(weight.dtype) @ rows
        result = result / counts.clamp_min(1) if mode == 1 else result
    return result, bag, counts.squeeze(-1).to(torch.int64), torch.zeros(0, dtype=torch.int64)
