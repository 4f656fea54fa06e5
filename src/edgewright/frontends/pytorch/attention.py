"""ATen attention."""

from math import sqrt

import numpy as np

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten
from edgewright.frontends.pytorch.values import Tensor


@aten("scaled_dot_product_attention")
def _attention(
    ctx: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    is_grouped: bool = False,
) -> str:
    if dropout:
        raise ctx.refuse_random()
    factor = 1 / sqrt(query.shape[-1]) if scale is None else float(scale)
    k, v = ctx.value(key), ctx.value(value)
    if is_grouped and query.shape[-3] != key.shape[-3]:
        times = query.shape[-3] // key.shape[-3]
        k, v = (_repeat_heads(ctx, n, t, times) for n, t in ((k, key), (v, value)))
    order = [*range(key.rank - 2), key.rank - 1, key.rank - 2]
    scores = ctx.add(
        "MatMul", ctx.add("Mul", query, ctx.scalar(factor, query.dtype)), ctx.transpose(k, order)
    )
    hidden = _make_penalty(ctx, query, key, mask, is_causal)
    if hidden is not None:
        scores = ctx.add("Add", scores, hidden)
    shares = ctx.add("Softmax", scores, axis=-1)
    if mask is not None and _may_hide_all(ctx, mask):
        # A query that sees no key gets nothing.
        shares = ctx.add("Mul", shares, ctx.value(mask, query.dtype))
    return ctx.add("MatMul", shares, v)


def _may_hide_all(ctx: Context, mask: Tensor) -> bool:
    if mask.dtype != ctx.torch.bool:
        return False
    return mask.data is None or not bool(mask.data.any(-1).all())


@aten("_scaled_dot_product_flash_attention_for_cpu")
def _attention_core(
    ctx: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout: float = 0.0,
    is_causal: bool = False,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> list[str]:
    found = _attention(ctx, query, key, value, mask, dropout, is_causal, scale)
    # The second result is for gradients.
    return [str(found), ctx.value(np.zeros(tuple(ctx.out[1].shape), np.float32))]


def _repeat_heads(ctx: Context, name: str, tensor: Tensor, times: int) -> str:
    heads = np.repeat(np.arange(tensor.shape[-3]), times)
    return ctx.add("Gather", name, heads, axis=tensor.rank - 3)


def _make_penalty(
    ctx: Context, query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool
) -> str | None:
    """What is added to the scores so that hidden keys get no share."""
    dtype = query.dtype
    if is_causal:
        rows, columns = query.shape[-2], key.shape[-2]
        seen = np.tril(np.ones((rows, columns), bool))
        return ctx.cast(ctx.value(np.where(seen, 0, -np.inf).astype(np.float32)), dtype)
    if mask is None:
        return None
    if mask.dtype == ctx.torch.bool:
        # Far below any score, and still a number: minus infinity in a whole row gives none.
        ends = (ctx.scalar(number, dtype) for number in (0.0, ctx.torch.finfo(dtype).min / 2))
        return ctx.add("Where", mask, *ends)
    return ctx.value(mask, dtype)
