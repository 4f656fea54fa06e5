"""What attention is made of: heads, rotary positions, masks and the two products."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.cutting import split_at
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops.activation import Tanh
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseMultiply,
    ElementWiseSelect,
    ElementWiseSubtract,
)
from edgewright.ops.matmul import MatMul
from edgewright.ops.rearrange import Concat
from edgewright.ops.reduce_softmax import Softmax


@dataclass(frozen=True)
class Scores:
    """How query and key are compared: the factor (None for 1/sqrt(size)), a bound, and what is added."""

    scale: float | None = None
    softcap: float = 0.0
    added: Sequence[str] = ()


def read_head_count(node: SourceNode, name: str) -> int:
    """A number of heads that an attribute gives."""
    count = node.need(name)
    if not isinstance(count, int) or count < 1:
        raise BadInput(f"{name} is {count}, expected 1 or more", node.where)
    return count


def split_heads(ctx: Context, value: str, count: int) -> str:
    """[batch, length, heads * size] to [batch, heads, length, size]."""
    shape = ctx.shape(value)
    width = shape[-1]
    if len(shape) != 3 or not isinstance(width, int) or width % count:
        raise ShapeMismatch(f"{ctx.type(value)} cannot be split into {count} heads")
    shaped = ctx.reshape(value, (*shape[:2], count, width // count))
    return ctx.transpose(shaped, (0, 2, 1, 3))


def join_heads(ctx: Context, value: str) -> str:
    """[batch, heads, length, size] to [batch, length, heads * size]."""
    batch, heads, length, size = ctx.shape(value)
    return ctx.reshape(ctx.transpose(value, (0, 2, 1, 3)), (batch, length, heads * size))


def attend(ctx: Context, query: str, key: str, value: str, scores: Scores) -> str:
    """All operands [batch, heads, length, size]; heads of the query may share a key's head in groups."""
    batch, heads, length, size = ctx.shape(query)
    groups, total = ctx.shape(key)[1], ctx.shape(key)[2]
    if not isinstance(heads, int) or not isinstance(groups, int) or groups < 1 or heads % groups:
        raise ShapeMismatch(f"{heads} heads of the query cannot share {groups} heads of the key")
    if not isinstance(size, int) or size < 1:
        raise ShapeMismatch(f"a head of size {size} is given, expected a number")
    # Heads of one group lie side by side: they become rows of one product, and nothing is copied.
    rows = (batch, groups, length * (heads // groups), size)
    factor = ctx.add_scalar(1 / sqrt(size) if scores.scale is None else scores.scale, query)
    scaled = ctx.emit(ElementWiseMultiply(), ctx.reshape(query, rows), factor)
    found = ctx.emit(MatMul(transpose_in1=True), scaled, key)
    found = _cap_scores(ctx, ctx.reshape(found, (batch, heads, length, total)), scores.softcap)
    for term in scores.added:
        found = ctx.emit(ElementWiseAdd(), found, term)
    shares = ctx.reshape(ctx.emit(Softmax(), found), (batch, groups, length * (heads // groups), total))
    result = ctx.emit(MatMul(), shares, value)
    return ctx.reshape(result, (batch, heads, length, ctx.shape(value)[3]))


def make_penalty(ctx: Context, allowed: str, like: str, amount: float | None = None) -> str:
    """0 where something is allowed, else an amount (the lowest number there is, if none is given)."""
    lowest = float(np.finfo(ctx.dtype(like).numpy).min) if amount is None else amount
    return ctx.emit(ElementWiseSelect(), allowed, ctx.add_scalar(0, like), ctx.add_scalar(lowest, like))


def rotate_parts(ctx: Context, x: str, cos: str, sin: str, *, is_interleaved: bool) -> str:
    """The first parts of the last axis turned by angles; cos and sin broadcast, half as wide as that part."""
    size, half = ctx.shape(x)[-1], ctx.shape(cos)[-1]
    if not isinstance(size, int) or not isinstance(half, int) or not 0 < 2 * half <= size:
        raise ShapeMismatch(f"{half} angles are given for a head of size {size}")
    turning, *rest = [x] if size == 2 * half else split_at(ctx, x, (2 * half,))
    turned = (_rotate_pairs if is_interleaved else _rotate_halves)(ctx, turning, cos, sin)
    return ctx.emit(Concat(axis=ctx.rank(x) - 1), turned, *rest) if rest else turned


def _rotate_halves(ctx: Context, x: str, cos: str, sin: str) -> str:
    real, imaginary = split_at(ctx, x, (int(ctx.shape(cos)[-1]),))
    return ctx.emit(Concat(axis=ctx.rank(x) - 1), *_turn(ctx, real, imaginary, cos, sin))


def _rotate_pairs(ctx: Context, x: str, cos: str, sin: str) -> str:
    """Neighbours are the two parts of one number."""
    shape = ctx.shape(x)
    half = int(shape[-1]) // 2
    real, imaginary = split_at(ctx, ctx.reshape(x, (*shape[:-1], half, 2)), (1,))
    wide_cos, wide_sin = (ctx.reshape(angle, (*ctx.shape(angle), 1)) for angle in (cos, sin))
    pairs = ctx.emit(Concat(axis=len(shape)), *_turn(ctx, real, imaginary, wide_cos, wide_sin))
    return ctx.reshape(pairs, shape)


def _turn(ctx: Context, real: str, imaginary: str, cos: str, sin: str) -> tuple[str, str]:
    def times(left: str, right: str) -> str:
        return ctx.emit(ElementWiseMultiply(), left, right)

    return (
        ctx.emit(ElementWiseSubtract(), times(real, cos), times(imaginary, sin)),
        ctx.emit(ElementWiseAdd(), times(real, sin), times(imaginary, cos)),
    )


def _cap_scores(ctx: Context, scores: str, bound: float) -> str:
    if not bound:
        return scores
    small = ctx.emit(ElementWiseMultiply(), scores, ctx.add_scalar(1 / bound, scores))
    return ctx.emit(ElementWiseMultiply(), ctx.emit(Tanh(), small), ctx.add_scalar(bound, scores))
