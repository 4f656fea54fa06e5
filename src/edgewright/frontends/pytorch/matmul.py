"""ATen products of matrices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten
from edgewright.frontends.pytorch.values import Tensor


@aten("matmul", "mm", "bmm", "mv", "dot")
def _matmul(ctx: Context, a: Tensor, b: Tensor) -> str:
    return ctx.add("MatMul", a, b)


@aten("linear")
def _linear(ctx: Context, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> str:
    if x.rank == 2 and weight.rank == 2:
        return ctx.add("Gemm", x, weight, bias, transB=1)
    turned = ctx.transpose(weight, [1, 0]) if weight.rank == 2 else ctx.value(weight)
    product = ctx.add("MatMul", x, turned)
    return product if bias is None else ctx.add("Add", product, bias)


@aten("addmm", "addmv", "baddbmm")
def _addmm(ctx: Context, x: Any, a: Tensor, b: Tensor, beta: Any = 1, alpha: Any = 1) -> str:
    return _sum(ctx, x, ctx.add("MatMul", a, b), beta, alpha)


@aten("addbmm")
def _addbmm(ctx: Context, x: Any, a: Tensor, b: Tensor, beta: Any = 1, alpha: Any = 1) -> str:
    product = ctx.add("ReduceSum", ctx.add("MatMul", a, b), ctx.ints([0]), keepdims=0)
    return _sum(ctx, x, product, beta, alpha)


@aten("addr")
def _addr(ctx: Context, x: Any, a: Tensor, b: Tensor, beta: Any = 1, alpha: Any = 1) -> str:
    return _sum(ctx, x, ctx.add("Mul", ctx.unsqueeze(a, [1]), ctx.unsqueeze(b, [0])), beta, alpha)


def _sum(ctx: Context, x: Any, product: str, beta: Any, alpha: Any) -> str:
    dtype = ctx.out[0].dtype
    if alpha != 1:
        product = ctx.add("Mul", product, ctx.scalar(alpha, dtype))
    if beta == 0:
        return product
    added = ctx.value(x, dtype) if beta == 1 else ctx.add("Mul", x, ctx.scalar(beta, dtype))
    return ctx.add("Add", product, added)


@aten("einsum")
def _einsum(ctx: Context, equation: str, parts: Sequence[Tensor], *_: Any) -> str:
    return ctx.add("Einsum", *(ctx.value(p, ctx.out[0].dtype) for p in parts), equation=equation)


@aten("bilinear")
def _bilinear(ctx: Context, a: Tensor, b: Tensor, weight: Tensor, bias: Tensor | None = None) -> str:
    found = ctx.add("Einsum", a, weight, b, equation="...i,oij,...j->...o")
    return found if bias is None else ctx.add("Add", found, bias)


@aten("_trilinear")
def _trilinear(
    ctx: Context,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    new_a: Sequence[int],
    new_b: Sequence[int],
    new_c: Sequence[int],
    summed: Sequence[int],
    *_: Any,
) -> str:
    """The product of three tensors with new axes, summed over some: how torch defines bilinear layers."""
    parts = [ctx.unsqueeze(x, list(axes)) for x, axes in ((a, new_a), (b, new_b), (c, new_c))]
    product = ctx.add("Mul", ctx.add("Mul", parts[0], parts[1]), parts[2])
    return ctx.add("ReduceSum", product, ctx.ints(summed), keepdims=0)


@aten("linalg_det")
def _det(ctx: Context, x: Tensor) -> str:
    return ctx.add("Det", x)


@aten("_linalg_det")
def _det_core(ctx: Context, x: Tensor) -> list[str]:
    # The factors are for gradients.
    return [ctx.add("Det", x), ctx.value(x), ctx.value(np.zeros(x.shape[:-1], np.int32))]


@aten("cdist", "_cdist_forward")
def _cdist(ctx: Context, a: Tensor, b: Tensor, p: float = 2.0, *_: Any) -> str:
    apart = ctx.add("Sub", ctx.unsqueeze(a, [a.rank - 1]), ctx.unsqueeze(b, [b.rank - 2]))
    axis = ctx.ints([-1])
    if p in {1.0, 2.0}:
        return ctx.add(f"ReduceL{int(p)}", apart, axis, keepdims=0)
    if p == float("inf"):
        return ctx.add("ReduceMax", ctx.add("Abs", apart), axis, keepdims=0)
    if p == 0:
        differs = ctx.cast(ctx.cast(apart, ctx.torch.bool), a.dtype)
        return ctx.add("ReduceSum", differs, axis, keepdims=0)
    powers = ctx.add("Pow", ctx.add("Abs", apart), ctx.scalar(p, a.dtype))
    total = ctx.add("ReduceSum", powers, axis, keepdims=0)
    return ctx.add("Pow", total, ctx.scalar(1 / p, a.dtype))
