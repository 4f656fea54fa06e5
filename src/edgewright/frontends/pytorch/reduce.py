"""ATen reductions, orderings and running totals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import Handler, aten
from edgewright.frontends.pytorch.values import Tensor


def _list_axes(x: Tensor, dim: Any) -> list[int]:
    """The axes of a reduction: all of them where none is named."""
    if not x.rank or dim is None or (isinstance(dim, list | tuple) and not dim):
        return list(range(x.rank))
    given = [dim] if isinstance(dim, int) else list(dim)
    return [axis % x.rank for axis in given]


def _emit_reduction(ctx: Context, op: str, value: Any, axes: Sequence[int], keep: Any) -> str:
    if not axes:
        return ctx.value(value)
    return ctx.add(op, value, ctx.ints(axes), keepdims=int(bool(keep)))


def _make_reduction(op: str) -> Handler:
    def reduce(ctx: Context, x: Tensor, dim: Any = None, keep: Any = False, *_: Any) -> str:
        return _emit_reduction(ctx, op, ctx.value(x, ctx.out[0].dtype), _list_axes(x, dim), keep)

    return reduce


def _make_full_reduction(op: str) -> Handler:
    def reduce(ctx: Context, x: Tensor, *_: Any) -> str:
        return _emit_reduction(ctx, op, ctx.value(x, ctx.out[0].dtype), list(range(x.rank)), keep=False)

    return reduce


for _name, _op in {"sum": "ReduceSum", "mean": "ReduceMean"}.items():
    aten(_name)(_make_full_reduction(_op))
aten("sum.dim_IntList")(_make_reduction("ReduceSum"))
aten("mean.dim")(_make_reduction("ReduceMean"))
aten("prod")(_make_full_reduction("ReduceProd"))
aten("prod.dim_int")(_make_reduction("ReduceProd"))
aten("max")(_make_full_reduction("ReduceMax"))
aten("min")(_make_full_reduction("ReduceMin"))
aten("amax")(_make_reduction("ReduceMax"))
aten("amin")(_make_reduction("ReduceMin"))
aten("logsumexp")(_make_reduction("ReduceLogSumExp"))


@aten("max.dim")
def _max_dim(ctx: Context, x: Tensor, dim: int, keep: bool = False) -> list[str]:
    return _emit_extreme(ctx, "Max", x, dim, keep)


@aten("min.dim")
def _min_dim(ctx: Context, x: Tensor, dim: int, keep: bool = False) -> list[str]:
    return _emit_extreme(ctx, "Min", x, dim, keep)


def _emit_extreme(ctx: Context, word: str, x: Tensor, dim: int, keep: bool) -> list[str]:
    if not x.rank:
        return [ctx.value(x), ctx.scalar(0, ctx.torch.int64)]
    found = _emit_reduction(ctx, f"Reduce{word}", x, [dim % x.rank], keep)
    return [found, ctx.add(f"Arg{word}", x, axis=dim, keepdims=int(keep))]


@aten("argmax")
def _argmax(ctx: Context, x: Tensor, dim: int | None = None, keep: bool = False) -> str:
    return _emit_arg(ctx, "ArgMax", x, dim, keep)


@aten("argmin")
def _argmin(ctx: Context, x: Tensor, dim: int | None = None, keep: bool = False) -> str:
    return _emit_arg(ctx, "ArgMin", x, dim, keep)


def _emit_arg(ctx: Context, op: str, x: Tensor, dim: int | None, keep: bool) -> str:
    if dim is not None and x.rank:
        return ctx.add(op, x, axis=dim, keepdims=int(keep))
    found = ctx.add(op, ctx.reshape(x, [-1]), axis=0, keepdims=0)
    return ctx.reshape(found, [1] * x.rank) if keep else found


def _make_truth(op: str) -> Handler:
    def reduce(ctx: Context, x: Tensor, dim: Any = None, keep: Any = False) -> str:
        flags = ctx.cast(ctx.value(x, ctx.torch.bool), ctx.torch.int32)
        found = _emit_reduction(ctx, op, flags, _list_axes(x, dim), keep)
        return ctx.cast(found, ctx.torch.bool)

    return reduce


aten("any", "any.dim", "any.dims")(_make_truth("ReduceMax"))
aten("all", "all.dim", "all.dims")(_make_truth("ReduceMin"))


@aten("count_nonzero", "count_nonzero.dim_IntList")
def _count_nonzero(ctx: Context, x: Tensor, dim: Any = None) -> str:
    flags = ctx.cast(ctx.value(x, ctx.torch.bool), ctx.torch.int64)
    return _emit_reduction(ctx, "ReduceSum", flags, _list_axes(x, dim), keep=False)


@aten("var", "std", "var_mean", "std_mean")
def _spread_all(ctx: Context, x: Tensor, is_unbiased: Any = True) -> list[str]:
    return _spread(ctx, x, list(range(x.rank)), int(bool(is_unbiased)), keep=False)


@aten("var.dim", "std.dim", "var_mean.dim", "std_mean.dim")
def _spread_dim(ctx: Context, x: Tensor, dim: Any, is_unbiased: Any = True, keep: bool = False) -> list[str]:
    return _spread(ctx, x, _list_axes(x, dim), int(bool(is_unbiased)), keep=keep)


@aten("var.correction", "std.correction", "var_mean.correction", "std_mean.correction")
def _spread_corrected(
    ctx: Context, x: Tensor, dim: Any = None, correction: Any = None, keep: bool = False
) -> list[str]:
    return _spread(ctx, x, _list_axes(x, dim), 1 if correction is None else correction, keep=keep)


def _spread(ctx: Context, x: Tensor, axes: list[int], correction: float, *, keep: bool) -> list[str]:
    """Variance or standard deviation, and the mean behind it where that is asked for."""
    count = int(np.prod([x.shape[axis] for axis in axes]))
    mean = _emit_reduction(ctx, "ReduceMean", x, axes, keep=True)
    apart = ctx.add("Sub", x, mean)
    total = _emit_reduction(ctx, "ReduceMean", ctx.add("Mul", apart, apart), axes, keep)
    if correction:
        ratio = count / max(count - correction, 0) if count > correction else float("nan")
        total = ctx.add("Mul", total, ctx.scalar(ratio, x.dtype))
    found = ctx.add("Sqrt", total) if ctx.op.startswith("aten::std") else total
    if "_mean" not in ctx.op:
        return [found]
    return [found, mean if keep else ctx.squeeze(mean, axes)]


@aten("linalg_vector_norm")
def _vector_norm(
    ctx: Context, x: Tensor, order: Any = 2, dim: Any = None, keep: bool = False, *_: Any
) -> str:
    return _emit_norm(ctx, ctx.value(x, ctx.out[0].dtype), float(order), _list_axes(x, dim), keep)


@aten("norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype")
def _norm_dim(ctx: Context, x: Tensor, order: Any, dim: Any, keep: bool = False, *_: Any) -> str:
    return _emit_norm(ctx, ctx.value(x), 2.0 if order is None else float(order), _list_axes(x, dim), keep)


@aten("norm.Scalar", "norm.ScalarOpt_dtype")
def _norm_all(ctx: Context, x: Tensor, order: Any = 2, *_: Any) -> str:
    return _emit_norm(ctx, ctx.value(x), 2.0 if order is None else float(order), list(range(x.rank)), False)


def _emit_norm(ctx: Context, x: str, order: float, axes: list[int], keep: bool) -> str:
    sizes = ctx.add("Abs", x)
    if not axes:
        return sizes if order else ctx.cast(ctx.cast(x, ctx.torch.bool), ctx.out[0].dtype)
    if order in {1.0, 2.0}:
        return _emit_reduction(ctx, f"ReduceL{int(order)}", x, axes, keep)
    if order in {float("inf"), float("-inf")}:
        return _emit_reduction(ctx, "ReduceMax" if order > 0 else "ReduceMin", sizes, axes, keep)
    dtype = ctx.out[0].dtype
    if order == 0:
        flags = ctx.cast(ctx.cast(x, ctx.torch.bool), dtype)
        return _emit_reduction(ctx, "ReduceSum", flags, axes, keep)
    total = _emit_reduction(ctx, "ReduceSum", ctx.add("Pow", sizes, ctx.scalar(order, dtype)), axes, keep)
    return ctx.add("Pow", total, ctx.scalar(1 / order, dtype))


@aten("cumsum", "cumprod")
def _running(ctx: Context, x: Tensor, dim: int, *_: Any) -> str:
    value = ctx.value(x, ctx.out[0].dtype)
    if not x.rank:
        return value
    op = "CumSum" if "cumsum" in ctx.op else "CumProd"
    return ctx.add(op, value, np.array(dim % x.rank, np.int64))


@aten("topk")
def _topk(
    ctx: Context, x: Tensor, k: Any, dim: int = -1, largest: bool = True, _is_sorted: bool = True
) -> list[str]:
    if not x.rank:
        return [ctx.reshape(item, []) for item in _topk(ctx, ctx.as_vector(x), k, 0, largest)]
    return ctx.add_all(
        "TopK",
        x,
        ctx.ints([k]),
        outputs=2,
        axis=dim,
        largest=int(largest),
        sorted=1,
    )


@aten("sort", "argsort")
def _sort(ctx: Context, x: Tensor, dim: int = -1, is_descending: bool = False) -> list[str]:
    return _emit_sort(ctx, x, dim, is_descending)


@aten("sort.stable", "argsort.stable")
def _sort_stable(
    ctx: Context, x: Tensor, _is_stable: Any = None, dim: int = -1, is_descending: bool = False
) -> list[str]:
    return _emit_sort(ctx, x, dim, is_descending)


def _emit_sort(ctx: Context, x: Tensor, dim: int, is_descending: bool) -> list[str]:
    if not x.rank:
        found = [ctx.value(x), ctx.scalar(0, ctx.torch.int64)]
    else:
        length = ctx.ints([x.shape[dim]])
        found = ctx.add_all("TopK", x, length, outputs=2, axis=dim, largest=int(is_descending), sorted=1)
    return found[1:] if "argsort" in ctx.op else found


@aten("median.dim")
def _median(ctx: Context, x: Tensor, dim: int, keep: bool = False) -> list[str]:
    """The lower of the two middle values."""
    return _emit_nth(ctx, x, (x.shape[dim] - 1) // 2 + 1 if x.rank else 1, dim, keep)


@aten("kthvalue")
def _kthvalue(ctx: Context, x: Tensor, k: int, dim: int = -1, keep: bool = False) -> list[str]:
    return _emit_nth(ctx, x, k, dim, keep)


def _emit_nth(ctx: Context, x: Tensor, k: int, dim: int, keep: bool) -> list[str]:
    if not x.rank:
        return _emit_nth(ctx, ctx.as_vector(x), k, 0, keep=False)
    axis = dim % x.rank
    found = ctx.add_all("TopK", x, ctx.ints([k]), outputs=2, axis=axis, largest=0, sorted=1)
    last = [ctx.slice(value, axis, k - 1, k) for value in found]
    return last if keep else [ctx.squeeze(value, [axis]) for value in last]


@aten("median")
def _median_all(ctx: Context, x: Tensor) -> str:
    count = x.count
    found = ctx.add_all("TopK", ctx.reshape(x, [-1]), ctx.ints([(count - 1) // 2 + 1]), outputs=2, largest=0)
    return ctx.reshape(ctx.slice(found[0], 0, (count - 1) // 2, count), [])
