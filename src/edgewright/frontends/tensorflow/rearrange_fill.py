"""TensorFlow ops that make tensors from shapes: Shape, Fill, Range, and padding."""

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.builder import LARGEST_FOLD, NeedsValue
from edgewright.frontends._common.terms import cast_to, read_number
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ir.dims import is_static, lower_bound
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseSelect, ElementWiseSubtract
from edgewright.ops.rearrange_fill import ConstantOfShape, Pad, Scheme, Shape
from edgewright.ops.reduce_order import CumulativeSum

MIRRORS = {"REFLECT": Scheme.MIRROR_REFLECT, "SYMMETRIC": Scheme.MIRROR_SYMMETRIC}


@tf_op("Shape", "ShapeN")
def shape(ctx: Context, node: SourceNode) -> list[str]:
    """All sizes: a constant where they are known, else followed by name."""
    node.need(0)
    dtype = node.type("out_type") if "out_type" in node.attributes else DType.INT_32
    return [shape_value(ctx, value, dtype) for value in node.inputs]


@tf_op("Size")
def size(ctx: Context, node: SourceNode) -> str:
    """The number of elements: the one size of the flat tensor."""
    (x,) = node.need(0)
    dtype = node.type("out_type") if "out_type" in node.attributes else DType.INT_32
    return ctx.reshape(shape_value(ctx, ctx.reshape(x, (ctx.type(x).count,)), dtype), ())


@tf_op("Rank")
def rank(ctx: Context, node: SourceNode) -> str:
    """The number of axes."""
    return ctx.add_constant(np.asarray(ctx.rank(node.need(0)[0]), np.int32))


@tf_op("BroadcastArgs")
def broadcast_args(ctx: Context, node: SourceNode) -> str:
    """The shape that two shapes broadcast to."""
    left, right = (ctx.read_ints(value) for value in node.need(0, 1))
    return ctx.add_constant(np.asarray(np.broadcast_shapes(left, right), ctx.dtype(node.inputs[0]).numpy))


@tf_op("Fill")
def fill(ctx: Context, node: SourceNode) -> str:
    """One number everywhere."""
    dims, value = node.need(0, 1)
    return emit_filled(ctx, dims, read_number(ctx, value), ctx.dtype(value))


@tf_op("ZerosLike", "OnesLike")
def like(ctx: Context, node: SourceNode) -> str:
    """Zeros or ones in the shape of another tensor, or of a list of them."""
    (x,) = node.need(0)
    number = 0 if node.op == "ZerosLike" else 1
    return emit_filled(ctx, shape_value(ctx, x, DType.INT_32), number, ctx.dtype(x))


@tf_op("Range")
def range_(ctx: Context, node: SourceNode) -> str:
    """Numbers from start up to limit: a constant, or counted along a symbolic size."""
    start, limit, delta = node.need(0, 1, 2)
    values = [ctx.find_array(value) for value in (start, limit, delta)]
    if all(value is not None for value in values):
        return ctx.add_constant(_count_range(*(np.asarray(value).reshape(-1)[0] for value in values)))
    first, last = ctx.read_dims(start)[0], ctx.read_dims(limit)[0]
    low = lower_bound(last - first)
    if ctx.read_ints(delta)[0] != 1 or low is None or low < 0:
        # Steps and empty ranges depend on the sizes' numbers.
        raise NeedsValue(start if isinstance(last, int) else limit)
    length = limit if first == 0 else ctx.emit(ElementWiseSubtract(), limit, start)
    dtype = ctx.dtype(start)
    op = ConstantOfShape(value=1, shape=(last - first,), dtype=dtype)
    places = ctx.emit(CumulativeSum(axis=0, exclusive=True), ctx.emit(op, ctx.reshape(length, (1,))))
    return places if first == 0 else ctx.emit(ElementWiseAdd(), places, start)


@tf_op("LinSpace")
def linear_space(ctx: Context, node: SourceNode) -> str:
    """Numbers at equal distances."""
    start, stop, count = (read_number(ctx, value) for value in node.need(0, 1, 2))
    _check_count(int(count))
    return ctx.add_constant(np.linspace(start, stop, int(count)).astype(ctx.dtype(node.inputs[0]).numpy))


@tf_op("Pad", "PadV2", "MirrorPad")
def pad(ctx: Context, node: SourceNode) -> str:
    """Zeros, a number, or the data mirrored at its edges."""
    x, amounts = node.need(0, 1)
    flat = ctx.read_dims(amounts)
    if len(flat) != 2 * ctx.rank(x):
        raise ShapeMismatch(
            f"{len(flat)} amounts are given for {ctx.type(x)}, expected two for each axis",
            do="export the model again",
        )
    pairs = tuple(zip(flat[::2], flat[1::2], strict=True))
    if all(pair == (0, 0) for pair in pairs):
        return x
    if node.op == "MirrorPad":
        scheme = MIRRORS[node.choice("mode", "REFLECT", tuple(MIRRORS))]
        return ctx.emit(Pad(scheme=scheme, pad_amount=pairs), x)
    number = read_number(ctx, node.need(2)[0]) if node.op == "PadV2" else _make_zero(ctx.dtype(x))
    return ctx.emit(Pad(scheme=Scheme.CONSTANT, pad_amount=pairs, pad_constant_value=number), x)


@tf_op("MatrixBandPart")
def band(ctx: Context, node: SourceNode) -> str:
    """Zeros outside of a band around the diagonal."""
    x = node.need(0)[0]
    below, above = (int(read_number(ctx, value)) for value in node.need(1, 2))
    dims = ctx.shape(x)[-2:]
    if len(dims) < 2 or not is_static(dims):
        raise NeedsValue(x, is_shape=True)
    rows, columns = (int(dim) for dim in dims)
    _check_count(rows * columns)
    distance = np.arange(columns) - np.arange(rows)[:, None]
    kept = ((below < 0) | (-distance <= below)) & ((above < 0) | (distance <= above))
    return ctx.emit(ElementWiseSelect(), ctx.add_constant(kept), x, ctx.add_scalar(0, x))


def shape_value(ctx: Context, value: str, dtype: DType) -> str:
    """The sizes of a value as a vector."""
    dims = ctx.shape(value)
    if is_static(dims):
        return ctx.add_constant(np.asarray([int(dim) for dim in dims], dtype.numpy))
    found = ctx.emit(Shape(dtype=DType.INT_64), value)
    ctx.set_dims(found, dims)
    narrow = cast_to(ctx, found, dtype)
    ctx.set_dims(narrow, dims)
    return narrow


def emit_filled(ctx: Context, dims: str, number: float | int | bool, dtype: DType) -> str:
    """A filled tensor; a constant where its shape is known and no bomb."""
    shape_ = ctx.read_dims(dims)
    op = ConstantOfShape(value=number, shape=shape_, dtype=dtype)
    (result,) = op.infer(ctx.type(dims))
    if isinstance(result.count, int) and result.count <= LARGEST_FOLD:
        return ctx.add_constant(op.compute()[0], result)
    return ctx.emit(op, dims)


def _make_zero(dtype: DType) -> float | int | bool:
    return False if dtype == DType.BOOL_8 else 0.0 if dtype.is_float else 0


def _count_range(start: Array, limit: Array, delta: Array) -> Array:
    """Every number by itself from the first one: adding up would add up the rounding too."""
    if not delta or not np.isfinite(float(start)) or not np.isfinite(float(limit)):
        raise BadInput(
            f"a range from {start} to {limit} in steps of {delta} has no end", do="use another step than 0"
        )
    span = float(limit) - float(start)
    count = max(int(np.ceil(span / float(delta))), 0)
    _check_count(count)
    numbers: Array = start + np.arange(count).astype(start.dtype) * delta
    return numbers.astype(start.dtype)


def _check_count(count: int) -> None:
    if count > LARGEST_FOLD:
        raise LimitExceeded(f"{count} elements are counted, the limit is {LARGEST_FOLD}", do="count less")
