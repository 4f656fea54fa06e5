"""ATen ops that make tensors from a shape; their values do not depend on the input's data."""

from typing import Any

import numpy as np

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten
from edgewright.frontends.pytorch.values import Tensor, as_array


def _fill_number(ctx: Context, number: Any) -> str:
    meta = ctx.out[0]
    if isinstance(number, Tensor):
        return ctx.add("Expand", ctx.value(number, meta.dtype), ctx.ints(meta.shape))
    return ctx.value(as_array(ctx.torch.full(tuple(meta.shape), number, dtype=meta.dtype)))


@aten("zeros_like", "new_zeros", "zero", "new_empty", "empty_like", "new_empty_strided")
def _zeros(ctx: Context, *_: Any) -> str:
    return _fill_number(ctx, 0)


@aten("ones_like", "new_ones")
def _ones(ctx: Context, *_: Any) -> str:
    return _fill_number(ctx, 1)


@aten("full_like")
def _full_like(ctx: Context, _x: Tensor, number: Any, *_: Any) -> str:
    return _fill_number(ctx, number)


@aten("new_full", "full")
def _full(ctx: Context, *rest: Any) -> str:
    return _fill_number(ctx, rest[2] if "new_full" in ctx.op else rest[1])


@aten("scalar_tensor")
def _scalar_tensor(ctx: Context, number: Any, *_: Any) -> str:
    return ctx.value(number, ctx.out[0].dtype)


@aten("one_hot")
def _one_hot(ctx: Context, x: Tensor, classes: int = -1) -> str:
    if ctx.number(classes) < 0:
        raise ctx.refused("the number of classes depends on the input's data", do="give num_classes")
    ends = np.array([0, 1], np.int64)
    return ctx.add("OneHot", x, np.array(ctx.number(classes), np.int64), ends)


@aten("rand_like", "randn_like")
def _random(ctx: Context, *_: Any) -> str:
    raise ctx.refuse_random()
