"""TensorFlow ops that fold axes, rank elements and run sums."""

from collections.abc import Callable

from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ir.op import Op
from edgewright.ops.axes import normal_axes, normal_axis
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.elementwise_unary import ElementWiseSquareRoot
from edgewright.ops.reduce import ReduceMax, ReduceMean, ReduceMin, ReduceProd, ReduceSum
from edgewright.ops.reduce_order import Argmax, Argmin, CumulativeSum, TopK

KINDS: dict[str, Callable[..., Op]] = {
    "EuclideanNorm": ReduceSum,
    "Max": ReduceMax,
    "Mean": ReduceMean,
    "Min": ReduceMin,
    "Prod": ReduceProd,
    "Sum": ReduceSum,
}
# Whether all or any hold is the smallest or largest of ones and zeros.
CONDITIONS: dict[str, Callable[..., Op]] = {"All": ReduceMin, "Any": ReduceMax}


@tf_op(*KINDS)
def reduction(ctx: Context, node: SourceNode) -> str:
    """Over the axes that the second input names."""
    (x,) = node.need(0)
    axes = _read_axes(ctx, node)
    if node.op == "EuclideanNorm":
        squares = ctx.emit(ElementWiseMultiply(), x, x)
        return ctx.emit(ElementWiseSquareRoot(), _emit_reduction(ctx, node, ReduceSum, squares, axes))
    return _emit_reduction(ctx, node, KINDS[node.op], x, axes)


@tf_op(*CONDITIONS)
def condition(ctx: Context, node: SourceNode) -> str:
    """In numbers, and back."""
    numbers = cast_to(ctx, node.need(0)[0], DType.INT_32)
    folded = _emit_reduction(ctx, node, CONDITIONS[node.op], numbers, _read_axes(ctx, node))
    return cast_to(ctx, folded, DType.BOOL_8)


@tf_op("ArgMax", "ArgMin")
def position(ctx: Context, node: SourceNode) -> str:
    """Where the largest or smallest element stands."""
    x, axis = node.need(0, 1)
    place = normal_axis(ctx.read_ints(axis)[0], ctx.rank(x))
    wanted = node.type("output_type") if "output_type" in node.attributes else DType.INT_64
    found = ctx.emit((Argmax if node.op == "ArgMax" else Argmin)(axis=place), x)
    return cast_to(ctx, found, wanted)


@tf_op("TopK", "TopKV2")
def top_k(ctx: Context, node: SourceNode) -> list[str]:
    """The largest of the last axis and where they stand; always sorted."""
    (x,) = node.need(0)
    count = ctx.read_dims(node.need(1)[0]) if node.op == "TopKV2" else (node.attributes.whole("k"),)
    if len(count) != 1:
        raise BadInput(f"k has {len(count)} elements, expected 1", node.where)
    values, places = ctx.emit_all(TopK(k=count[0]), x)
    wanted = node.type("index_type") if "index_type" in node.attributes else DType.INT_32
    return [values, cast_to(ctx, places, wanted)]


@tf_op("Cumsum")
def running_sum(ctx: Context, node: SourceNode) -> str:
    """Along an axis that must be known."""
    x, axis = node.need(0, 1)
    op = CumulativeSum(
        axis=normal_axis(ctx.read_ints(axis)[0], ctx.rank(x)),
        exclusive=node.attributes.flag("exclusive"),
        reverse=node.attributes.flag("reverse"),
    )
    return ctx.emit(op, x)


@tf_op("L2Loss")
def half_of_squares(ctx: Context, node: SourceNode) -> str:
    """Half the sum of all squares."""
    (x,) = node.need(0)
    squares = ctx.emit(ElementWiseMultiply(), x, x)
    total = ctx.emit(ReduceSum(axes=tuple(range(ctx.rank(x)))), squares)
    return ctx.emit(ElementWiseMultiply(), total, ctx.add_scalar(0.5, total))


def _read_axes(ctx: Context, node: SourceNode) -> tuple[int, ...]:
    x, axes = node.need(0, 1)
    return normal_axes(ctx.read_ints(axes), ctx.rank(x))


def _emit_reduction(
    ctx: Context, node: SourceNode, kind: Callable[..., Op], x: str, axes: tuple[int, ...]
) -> str:
    if not axes:
        return x
    return ctx.emit(kind(axes=axes, keep_dims=node.attributes.flag("keep_dims")), x)
