"""Attention and rotary positions of ONNX and of ONNX Runtime's own ops, written out in products and sums."""

import logging
from collections.abc import Sequence

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.frontends._common.products import emit_product
from edgewright.frontends.onnx.attention_parts import (
    Scores,
    attend,
    join_heads,
    make_penalty,
    read_head_count,
    rotate_parts,
    split_heads,
)
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.counting import count_along, emit_size
from edgewright.frontends.onnx.cutting import cut_parts, split_at
from edgewright.frontends.onnx.registry import MICROSOFT, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseAnd,
    ElementWiseGreater,
    ElementWiseLess,
    ElementWiseLessEqual,
    ElementWiseMaximum,
    ElementWiseNotEqual,
    ElementWiseSubtract,
)
from edgewright.ops.gather import Gather
from edgewright.ops.rearrange import Concat

log = logging.getLogger(__name__)
MASKED = -10000.0  # mask_filter_value of ONNX Runtime's ops


@onnx_op("RotaryEmbedding", since=23)
def rotary_embedding(ctx: Context, node: SourceNode) -> str:
    """Angles by position, or given for each element of the sequence."""
    x, cos, sin = node.inputs[:3]
    return _rotate_rows(ctx, node, x, _look_up_angles(ctx, (cos, sin), node.input(3)))


@onnx_op("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding_of_runtime(ctx: Context, node: SourceNode) -> str:
    """The same with other inputs: one position counts on from where it starts."""
    x, positions, cos, sin = node.inputs[:4]
    if node.attr("is_packed_batching", 0):
        raise ctx.refuse(node, "its batches are packed")
    if ctx.shape(positions) == (1,):
        steps = count_along(ctx, x, ctx.rank(x) - 2 if ctx.rank(x) == 4 else 1)
        first = ctx.emit(Cast(dtype=DType.INT_32), positions)
        placed = ctx.emit(ElementWiseAdd(), steps, first)
        positions = ctx.reshape(placed, (1, *ctx.shape(placed)))
    return _rotate_rows(ctx, node, x, _look_up_angles(ctx, (cos, sin), positions))


@onnx_op("MultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(ctx: Context, node: SourceNode) -> list[str]:
    """Projected query, key and value, packed or not, with bias, padding mask and cache."""
    if node.input(8) or node.input(9) or (len(node.outputs) > 3 and node.outputs[3]):
        raise ctx.refuse(node, "it shares the buffer of its cache or gives its scores away")
    heads = read_head_count(node, "num_heads")
    query, key, value = _split_operands(ctx, node, heads)
    return _answer(ctx, node, (query, key, value), (node.input(6), node.input(7)), (4, 5))


@onnx_op("Attention", domain=MICROSOFT)
def attention_of_runtime(ctx: Context, node: SourceNode) -> list[str]:
    """Projection, attention over a stacked cache, and the stacked cache again."""
    if node.input(6) or node.attr("do_rotary", 0) or node.attr("past_present_share_buffer", 0):
        raise ctx.refuse(node, "it turns its positions or shares the buffer of its cache")
    heads = read_head_count(node, "num_heads")
    projected = emit_product(ctx, node.inputs[0], node.inputs[1])
    if node.input(2):
        projected = ctx.emit(ElementWiseAdd(), projected, node.input(2))
    width = ctx.shape(projected)[-1]
    sizes = node.attr("qkv_hidden_sizes") or [int(width) // 3] * 3
    if len(sizes) != 3 or sum(sizes) != width:
        raise ShapeMismatch(f"qkv_hidden_sizes are {sizes}, expected three numbers that make {width}")
    three = [split_heads(ctx, p, heads) for p in split_at(ctx, projected, (sizes[0], sizes[0] + sizes[1]))]
    past = ("", "")
    if node.input(4):
        shape = ctx.shape(node.input(4))
        old_key, old_value = (ctx.reshape(part, shape[1:]) for part in cut_parts(ctx, node.input(4), 0, 2))
        past = old_key, old_value
    result, *present = _answer(ctx, node, three, past, (3, 5))
    if len(node.outputs) < 2 or not node.outputs[1]:
        return [result]
    stacked = [ctx.reshape(part, (1, *ctx.shape(part))) for part in present]
    return [result, ctx.emit(Concat(axis=0), *stacked)]


@onnx_op("GroupQueryAttention", domain=MICROSOFT)
def group_query_attention(ctx: Context, node: SourceNode) -> list[str]:
    """Causal attention in groups over a growing cache; new keys follow the old ones at once."""
    _refuse_group_options(ctx, node)
    heads, groups = read_head_count(node, "num_heads"), read_head_count(node, "kv_num_heads")
    query, key, value = _split_groups(ctx, node, heads, groups)
    seqlens = ctx.emit(Cast(dtype=DType.INT_32), ctx.reshape(node.input(5), (ctx.shape(query)[0], 1)))
    if node.attr("do_rotary", 0):
        angles = _look_up_angles(
            ctx, (node.input(7), node.input(8)), _find_positions(ctx, node, query, seqlens)
        )
        query, key = (_rotate_heads(ctx, node, v, angles) for v in (query, key))
    if node.input(3) and ctx.shape(query)[0] != 1:
        log.warning("%s: all sequences of a batch are taken to be as long as the cache", node.label)
    key, value = (
        _append_to_cache(ctx, old, new) for old, new in ((node.input(3), key), (node.input(4), value))
    )
    allowed = (
        _make_causal_mask(ctx, query, key, node.attr("local_window_size", -1))
        if node.attr("causal", 1)
        else ""
    )
    ends = ctx.emit(ElementWiseAdd(), seqlens, ctx.add_scalar(1, seqlens))
    inside = ctx.emit(ElementWiseLess(), count_along(ctx, key, 2), ends)
    allowed = _combine_masks(ctx, allowed, _spread(ctx, inside))
    added = [make_penalty(ctx, allowed, query), *([node.input(10)] if node.input(10) else [])]
    scores = Scores(node.attr("scale", 0.0) or None, node.attr("softcap", 0.0), added)
    return [join_heads(ctx, attend(ctx, query, key, value, scores)), key, value][: len(node.outputs)]


def _answer(
    ctx: Context, node: SourceNode, three: Sequence[str], past: tuple[str, str], places: tuple[int, int]
) -> list[str]:
    """Attention over what is remembered and what is new; the two places hold a mask and a bias."""
    query, key, value = three
    key, value = _append_to_cache(ctx, past[0], key), _append_to_cache(ctx, past[1], value)
    added = []
    if node.input(places[0]):
        mask = _make_padding_mask(ctx, node, node.input(places[0]), query, key)
        added.append(make_penalty(ctx, mask, query, node.attr("mask_filter_value", MASKED)))
    if node.attr("unidirectional", 0):
        added.append(make_penalty(ctx, _make_causal_mask(ctx, query, key), query))
    if node.input(places[1]):
        added.append(node.input(places[1]))
    scores = Scores(node.attr("scale", 0.0) or None, 0.0, added)
    wanted = max(len(node.outputs), 3) if node.op_type == "Attention" else len(node.outputs)
    return [join_heads(ctx, attend(ctx, query, key, value, scores)), key, value][:wanted]


def _split_operands(ctx: Context, node: SourceNode, heads: int) -> list[str]:
    """Query, key and value by heads, from one, two or three tensors."""
    query, key, value = node.inputs[0], node.input(1), node.input(2)
    if not key or (ctx.rank(key) == 5 and not value):
        packed = [query] if not key else [key]
        found = [part for value in packed for part in _unpack_heads(ctx, value)]
        three = found if not key else [split_heads(ctx, query, heads), *found]
        if node.input(3):
            raise ctx.refuse(node, "a bias of packed operands is not given by ONNX Runtime either")
        return three
    values = [query, key, value]
    if node.input(3):
        widths = [int(ctx.shape(v)[-1]) for v in values if ctx.rank(v) == 3]
        biases = split_at(ctx, node.input(3), (widths[0], widths[0] + widths[1 if len(widths) > 1 else 0]))
        values = [
            ctx.emit(ElementWiseAdd(), v, b) if ctx.rank(v) == 3 else v
            for v, b in zip(values, biases, strict=True)
        ]
    return [split_heads(ctx, v, heads) if ctx.rank(v) == 3 else v for v in values]


def _unpack_heads(ctx: Context, value: str) -> list[str]:
    """[batch, length, heads, 2 or 3, size] to as many tensors [batch, heads, length, size]."""
    if ctx.rank(value) != 5:
        raise ShapeMismatch(f"packed operands are {ctx.type(value)}, expected five axes")
    batch, length, heads, count, size = ctx.shape(value)
    split = cut_parts(ctx, value, 3, int(count))
    return [ctx.transpose(ctx.reshape(p, (batch, length, heads, size)), (0, 2, 1, 3)) for p in split]


def _split_groups(ctx: Context, node: SourceNode, heads: int, groups: int) -> list[str]:
    query, key, value = node.inputs[0], node.input(1), node.input(2)
    if not key:
        width = ctx.shape(query)[-1]
        if not isinstance(width, int) or width % (heads + 2 * groups):
            raise ShapeMismatch(
                f"{ctx.type(query)} cannot be split into {heads} and two times {groups} heads"
            )
        size = width // (heads + 2 * groups)
        query, key, value = split_at(ctx, query, (heads * size, (heads + groups) * size))
    counts = (heads, groups, groups)
    return [split_heads(ctx, v, n) for v, n in zip((query, key, value), counts, strict=True)]


def _refuse_group_options(ctx: Context, node: SourceNode) -> None:
    names = ("smooth_softmax", "sliding_window_cache", "qk_output", "kv_cache_bit_width")
    given = [name for name in names if node.attr(name, 0) not in {0, -1}]
    given += [f"input {place}" for place in range(11, 16) if node.input(place)]
    if given:
        raise ctx.refuse(node, f"it uses {', '.join(given)}")


def _append_to_cache(ctx: Context, old: str, new: str) -> str:
    """The cache and what follows it."""
    if not old or ctx.shape(old)[2] == 0:
        return new
    return ctx.emit(Concat(axis=2), old, new)


def _make_causal_mask(ctx: Context, query: str, key: str, window: int = -1) -> str:
    """[length, total]: whether a key stands at or before the query, and inside its window."""
    length, total = ctx.shape(query)[2], ctx.shape(key)[2]
    rows, columns = count_along(ctx, query, 2), ctx.reshape(count_along(ctx, key, 2), (1, total))
    rows = ctx.reshape(rows, (length, 1))
    if length != total:
        # The last query stands at the last key.
        offset = ctx.emit(ElementWiseSubtract(), emit_size(ctx, key, 2), emit_size(ctx, query, 2))
        rows = ctx.emit(ElementWiseAdd(), rows, offset)
    allowed = ctx.emit(ElementWiseLessEqual(), columns, rows)
    if window < 0:
        return allowed
    edge = ctx.emit(ElementWiseAdd(), rows, ctx.add_scalar(-window, rows))
    return _combine_masks(ctx, allowed, ctx.emit(ElementWiseGreater(), columns, edge))


def _make_padding_mask(ctx: Context, node: SourceNode, mask: str, query: str, key: str) -> str:
    """Whether a key counts, from lengths [batch], or from a mask of two or three axes."""
    rank, batch = ctx.rank(mask), ctx.shape(query)[0]
    if rank == 1 and ctx.shape(mask) == (batch,):
        ends = ctx.reshape(ctx.emit(Cast(dtype=DType.INT_32), mask), (batch, 1))
        return _spread(ctx, ctx.emit(ElementWiseLess(), count_along(ctx, key, 2), ends))
    if rank not in {2, 3}:
        raise ctx.refuse(node, f"its mask is {ctx.type(mask)}, expected [batch], or two or three axes")
    real = ctx.emit(ElementWiseNotEqual(), mask, ctx.add_scalar(0, mask))
    shape = ctx.shape(real)
    return _spread(ctx, real) if rank == 2 else ctx.reshape(real, (shape[0], 1, *shape[1:]))


def _spread(ctx: Context, mask: str) -> str:
    """[batch, total] for every head and query."""
    batch, total = ctx.shape(mask)
    return ctx.reshape(mask, (batch, 1, 1, total))


def _combine_masks(ctx: Context, left: str, right: str) -> str:
    return ctx.emit(ElementWiseAnd(), left, right) if left else right


def _find_positions(ctx: Context, node: SourceNode, query: str, seqlens: str) -> str:
    """[batch, length]: given, or counted on from what the cache holds."""
    if node.input(9):
        return node.input(9)
    ends = ctx.emit(ElementWiseAdd(), seqlens, ctx.add_scalar(1, seqlens))
    first = ctx.emit(ElementWiseSubtract(), ends, emit_size(ctx, query, 2))
    first = ctx.emit(ElementWiseMaximum(), first, ctx.add_scalar(0, first))
    return ctx.emit(ElementWiseAdd(), first, count_along(ctx, query, 2))


def _look_up_angles(ctx: Context, caches: tuple[str, str], positions: str) -> tuple[str, str]:
    """Cos and sin [batch, length, half]."""
    if not positions:
        return caches
    cos, sin = (ctx.emit(Gather(axis=0), cache, positions) for cache in caches)
    return cos, sin


def _rotate_rows(ctx: Context, node: SourceNode, x: str, angles: tuple[str, str]) -> str:
    if ctx.rank(x) == 4:
        return _rotate_heads(ctx, node, x, angles, "interleaved")
    shape, half = ctx.shape(x), ctx.shape(angles[0])[-1]
    heads = node.attr("num_heads", 0)
    width = shape[-1]
    if len(shape) != 3 or not isinstance(width, int) or not isinstance(half, int) or half < 1:
        raise ShapeMismatch(f"x is {ctx.type(x)} with {half} angles, expected three or four axes")
    heads = heads or width // (2 * half)
    if heads < 1 or width % heads:
        raise ShapeMismatch(f"{ctx.type(x)} cannot be split into {heads} heads")
    shaped = ctx.reshape(x, (*shape[:2], heads, width // heads))
    cos, sin = (_with_axis(ctx, angle, 2) for angle in angles)
    turned = rotate_parts(ctx, shaped, cos, sin, is_interleaved=bool(node.attr("interleaved", 0)))
    return ctx.reshape(turned, shape)


def _rotate_heads(
    ctx: Context, node: SourceNode, x: str, angles: tuple[str, str], option: str = "rotary_interleaved"
) -> str:
    """The rotation of [batch, heads, length, size]."""
    cos, sin = (_with_axis(ctx, angle, 1) for angle in angles)
    return rotate_parts(ctx, x, cos, sin, is_interleaved=bool(node.attr(option, 0)))


def _with_axis(ctx: Context, value: str, axis: int) -> str:
    shape = ctx.shape(value)
    if len(shape) != 3:
        raise ShapeMismatch(f"angles are {ctx.type(value)}, expected [batch, length, half]")
    return ctx.reshape(value, (*shape[:axis], 1, *shape[axis:]))
