"""TensorFlow ops that pick elements by index, write them there, or make indices."""

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to, emit_nonzero_places, read_number
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.rearrange_fill import emit_filled
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ops.axes import normal_axis
from edgewright.ops.gather import Gather, GatherNd, OneHot
from edgewright.ops.gather_scatter import Reduction, ScatterNd

INDICES = frozenset({DType.INT_32, DType.INT_64})
SCATTERS = {
    "TensorScatterAdd": Reduction.ADD,
    "TensorScatterUpdate": Reduction.NONE,
}


@tf_op("Gather", "GatherV2")
def gather(ctx: Context, node: SourceNode) -> str:
    """Along one axis, the first one where none is named."""
    x, indices = node.need(0, 1)
    batch = node.attributes.whole("batch_dims")
    axis = normal_axis(ctx.read_ints(node.inputs[2])[0], ctx.rank(x)) if len(node.inputs) > 2 else 0
    if batch:
        batch = normal_axis(batch, ctx.rank(indices) + 1)
        return _gather_batches(ctx, node, x, indices, axis, batch)
    return ctx.emit(Gather(axis=axis), x, _as_index(ctx, indices))


@tf_op("GatherNd")
def gather_nd(ctx: Context, node: SourceNode) -> str:
    """By index tuples."""
    x, indices = node.need(0, 1)
    return ctx.emit(GatherNd(), x, _as_index(ctx, indices))


@tf_op("OneHot")
def one_hot(ctx: Context, node: SourceNode) -> str:
    """Depth and values are parameters."""
    indices, depth, on, off = node.need(0, 1, 2, 3)
    op = OneHot(
        depth=ctx.read_ints(depth)[0],
        axis=normal_axis(node.attributes.whole("axis", -1), ctx.rank(indices) + 1),
        on_value=read_number(ctx, on),
        off_value=read_number(ctx, off),
        dtype=ctx.dtype(on),
    )
    return ctx.emit(op, _as_index(ctx, indices))


@tf_op("Where")
def where(ctx: Context, node: SourceNode) -> str:
    """The places of what is not 0."""
    (x,) = node.need(0)
    return emit_nonzero_places(ctx, x, "Where")


@tf_op("ScatterNd")
def scatter_nd(ctx: Context, node: SourceNode) -> str:
    """Added up into zeros."""
    indices, updates, shape = node.need(0, 1, 2)
    number = 0.0 if ctx.dtype(updates).is_float else 0
    base = emit_filled(ctx, shape, number, ctx.dtype(updates))
    return ctx.emit(ScatterNd(reduction=Reduction.ADD), base, _as_index(ctx, indices), updates)


@tf_op(*SCATTERS)
def tensor_scatter(ctx: Context, node: SourceNode) -> str:
    """Into a copy of the data."""
    x, indices, updates = node.need(0, 1, 2)
    return ctx.emit(ScatterNd(reduction=SCATTERS[node.op]), x, _as_index(ctx, indices), updates)


def _as_index(ctx: Context, value: str) -> str:
    return value if ctx.dtype(value) in INDICES else cast_to(ctx, value, DType.INT_32)


def _gather_batches(ctx: Context, node: SourceNode, x: str, indices: str, axis: int, batch: int) -> str:
    """With indices for each element of the leading axes: tuples of one, along the axis behind them."""
    if axis < batch or batch >= ctx.rank(x):
        raise ShapeMismatch(
            f"axis {axis} of {ctx.type(x)} lies before its {batch} batch axes", do="export the model again"
        )
    if axis != batch:
        order = (*range(batch), axis, *(a for a in range(batch, ctx.rank(x)) if a != axis))
        if ctx.rank(indices) != batch + 1:
            raise ctx.refuse(node, f"indices {ctx.type(indices)} with axis {axis} and {batch} batch axes")
        picked = _gather_batches(ctx, node, ctx.transpose(x, order), indices, batch, batch)
        back = (*range(batch), *range(batch + 1, axis + 1), batch, *range(axis + 1, ctx.rank(x)))
        return ctx.transpose(picked, back)
    if ctx.dtype(indices) not in INDICES:
        raise BadInput(f"indices are {ctx.type(indices)}, expected whole numbers", node.where)
    tuples = ctx.reshape(indices, (*ctx.shape(indices), 1))
    return ctx.emit(GatherNd(batch_dims=batch), x, tuples)
