"""TFLite reductions, searches and softmaxes."""

from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ops.axes import normal_axes, normal_axis
from edgewright.ops.reduce import ReduceMax, ReduceMean, ReduceMin, ReduceProd, ReduceSum, Reduction
from edgewright.ops.reduce_order import Arg, Argmax, Argmin, CumulativeSum, TopK
from edgewright.ops.reduce_softmax import LogSoftmax, Softmax

_REDUCTIONS: dict[str, type[Reduction]] = {
    "MEAN": ReduceMean,
    "REDUCE_MAX": ReduceMax,
    "REDUCE_MIN": ReduceMin,
    "REDUCE_PROD": ReduceProd,
    "SUM": ReduceSum,
}
# Of booleans: the largest says whether any is true, the smallest whether all are.
_QUANTORS: dict[str, type[Reduction]] = {"REDUCE_ALL": ReduceMin, "REDUCE_ANY": ReduceMax}
_SEARCHES: dict[str, type[Arg]] = {"ARG_MAX": Argmax, "ARG_MIN": Argmin}


@tflite_op(*_REDUCTIONS)
def reduction(ctx: Context, node: SourceNode) -> str:
    """Over the axes that the second input lists."""
    x, axes = node.need(0, 1)
    return _emit_reduction(ctx, node, _REDUCTIONS[node.op], x, axes)


@tflite_op(*_QUANTORS)
def quantor(ctx: Context, node: SourceNode) -> str:
    """As integers: QNN reduces no booleans."""
    x, axes = node.need(0, 1)
    found = _emit_reduction(ctx, node, _QUANTORS[node.op], cast_to(ctx, x, DType.INT_32), axes)
    return cast_to(ctx, found, DType.BOOL_8)


@tflite_op(*_SEARCHES)
def search(ctx: Context, node: SourceNode) -> str:
    """The first place of the extreme."""
    x, axis = node.need(0, 1)
    place = normal_axis(_number(ctx, node, axis), ctx.rank(x))
    wanted = node.results[0].dtype or DType.INT_32
    return cast_to(ctx, ctx.emit(_SEARCHES[node.op](axis=place), x), wanted)


@tflite_op("TOPK_V2")
def top_k(ctx: Context, node: SourceNode) -> list[str]:
    """Of the last axis, in order."""
    x, k = node.need(0, 1)
    return ctx.emit_all(TopK(k=_number(ctx, node, k)), x)


@tflite_op("CUMSUM")
def cumsum(ctx: Context, node: SourceNode) -> str:
    """Along one axis."""
    x, axis = node.need(0, 1)
    op = CumulativeSum(
        axis=normal_axis(_number(ctx, node, axis), ctx.rank(x)),
        exclusive=node.option("exclusive"),
        reverse=node.option("reverse"),
    )
    return ctx.emit(op, x)


@tflite_op("SOFTMAX")
def softmax(ctx: Context, node: SourceNode) -> str:
    """Over the last axis."""
    (x,) = node.need(0)
    return ctx.emit(Softmax(axis=ctx.rank(x) - 1, beta=node.option("beta")), x)


@tflite_op("LOG_SOFTMAX")
def log_softmax(ctx: Context, node: SourceNode) -> str:
    """Over the last axis."""
    (x,) = node.need(0)
    return ctx.emit(LogSoftmax(axis=ctx.rank(x) - 1), x)


def _emit_reduction(ctx: Context, node: SourceNode, kind: type[Reduction], x: str, axes: str) -> str:
    places = normal_axes(ctx.read_ints(axes), ctx.rank(x))
    return ctx.emit(kind(axes=places, keep_dims=node.option("keep_dims")), x) if places else x


def _number(ctx: Context, node: SourceNode, value: str) -> int:
    found = ctx.read_ints(value)
    if len(found) != 1:
        raise BadInput(f"{ctx.type(value)} is given, expected one number", node.where)
    return found[0]
