"""ONNX ops that make tensors from shapes: Shape, Size, ConstantOfShape, Range, EyeLike, Trilu, Random*."""

import numpy as np

from edgewright.core.errors import BadInput, LimitExceeded, ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.frontends._common.builder import LARGEST_FOLD, NeedsValue
from edgewright.frontends._common.terms import read_number
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import MICROSOFT, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.tensors import find_dtype
from edgewright.ir.dims import Dim, is_static, lower_bound
from edgewright.ir.op import Op
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseGreaterEqual,
    ElementWiseLessEqual,
    ElementWiseSelect,
    ElementWiseSubtract,
)
from edgewright.ops.rearrange_fill import ConstantOfShape, RandomNormalLike, RandomUniformLike, Shape
from edgewright.ops.reduce_order import CumulativeSum


@onnx_op("Shape")
def shape(ctx: Context, node: SourceNode) -> str:
    """Some or all sizes: constants where they are known, else followed by name."""
    rank = ctx.rank(node.inputs[0])
    start, end = (
        _clamp_edge(node.attr(name, default), rank) for name, default in (("start", 0), ("end", rank))
    )
    return shape_value(ctx, node.inputs[0], start, end)


@onnx_op("Size")
def size(ctx: Context, node: SourceNode) -> str:
    """The number of elements: the one size of the flat tensor."""
    x = node.inputs[0]
    flat = shape_value(ctx, ctx.reshape(x, (ctx.type(x).count,)), 0, 1)
    return ctx.reshape(flat, ())


@onnx_op("ConstantOfShape")
def constant_of_shape(ctx: Context, node: SourceNode) -> str:
    """A filled tensor; a constant where its shape is known and no bomb."""
    filling = ctx.tensor(node.need("value"), node) if node.has("value") else np.zeros(1, np.float32)
    number = read_number(ctx, ctx.add_constant(filling))
    dims = ctx.read_dims(node.inputs[0])
    op = ConstantOfShape(value=number, shape=dims, dtype=DType.of(filling.dtype))
    (result,) = op.infer(ctx.type(node.inputs[0]))
    if isinstance(result.count, int) and result.count <= LARGEST_FOLD:
        return ctx.add_constant(op.compute()[0], result)
    return ctx.emit(op, node.inputs[0])


@onnx_op("Range")
@onnx_op("Range", domain=MICROSOFT)
def range_(ctx: Context, node: SourceNode) -> str:
    """Numbers from start up to limit: a constant, or counted along a symbolic size."""
    start, limit = node.inputs[:2]
    delta = node.input(2) or ctx.add_scalar(1, start)
    values = [ctx.find_array(value) for value in (start, limit, delta)]
    if all(value is not None for value in values):
        return ctx.add_constant(_count_range(*(np.asarray(value).reshape(-1)[0] for value in values)))
    first, last = ctx.read_dims(start)[0], ctx.read_dims(limit)[0]
    span = last - first
    low = lower_bound(span)
    if ctx.read_ints(delta)[0] != 1 or low is None or low < 0:
        # Steps and empty ranges depend on the sizes' numbers.
        raise NeedsValue(start if isinstance(last, int) else limit)
    length = limit if first == 0 else ctx.emit(ElementWiseSubtract(), limit, start)
    places = emit_iota(ctx, ctx.reshape(length, (1,)), span, ctx.dtype(start))
    return places if first == 0 else ctx.emit(ElementWiseAdd(), places, start)


@onnx_op("EyeLike")
def eye_like(ctx: Context, node: SourceNode) -> str:
    """Ones on a diagonal."""
    x = node.inputs[0]
    if ctx.rank(x) != 2:
        raise ShapeMismatch(f"{ctx.type(x)} is given, expected a matrix", do="give a tensor of rank 2")
    dtype = find_dtype(node.need("dtype"), node.where) if node.has("dtype") else ctx.dtype(x)
    rows, columns = _read_numbers(ctx, x)
    return ctx.add_constant(np.eye(rows, columns, node.attr("k", 0)).astype(dtype.numpy))


@onnx_op("Trilu")
@onnx_op("Trilu", domain=MICROSOFT)
def trilu(ctx: Context, node: SourceNode) -> str:
    """Zeros below or above a diagonal of the last two axes."""
    x, rank = node.inputs[0], ctx.rank(node.inputs[0])
    if rank < 2:
        raise ShapeMismatch(f"{ctx.type(x)} is given, expected rank 2 or more", do="give a matrix")
    diagonal = ctx.read_ints(node.inputs[1])[0] if node.input(1) else 0
    rows, columns = ctx.shape(x)[-2:]
    places = [
        emit_iota(ctx, shape_value(ctx, x, rank - back, rank - back + 1), dim, DType.INT_64)
        for back, dim in ((2, rows), (1, columns))
    ]
    distance = ctx.emit(ElementWiseSubtract(), places[1], ctx.reshape(places[0], (rows, 1)))
    relation: Op = ElementWiseGreaterEqual() if node.attr("upper", 1) else ElementWiseLessEqual()
    is_kept = ctx.emit(relation, distance, ctx.add_constant(np.asarray(diagonal, np.int64)))
    return ctx.emit(ElementWiseSelect(), is_kept, x, ctx.add_scalar(0, x))


@onnx_op("RandomNormal", "RandomNormalLike")
def random_normal(ctx: Context, node: SourceNode) -> str:
    """A seed is not kept: QNN has none."""
    model, dtype = _read_random_shape(ctx, node)
    mean, scale = node.attr("mean", 0.0), node.attr("scale", 1.0)
    return ctx.emit(RandomNormalLike(mean=mean, scale=scale, dtype=dtype), model)


@onnx_op("RandomUniform", "RandomUniformLike")
def random_uniform(ctx: Context, node: SourceNode) -> str:
    """A seed is not kept: QNN has none."""
    model, dtype = _read_random_shape(ctx, node)
    low, high = node.attr("low", 0.0), node.attr("high", 1.0)
    return ctx.emit(RandomUniformLike(low=low, high=high, dtype=dtype), model)


def shape_value(ctx: Context, value: str, start: int, end: int) -> str:
    """The sizes of some axes as an int64 vector."""
    dims = ctx.shape(value)[start:end]
    if is_static(dims):
        return ctx.add_constant(np.asarray([int(dim) for dim in dims], np.int64))
    last = None if end == ctx.rank(value) else end
    found = ctx.emit(Shape(start=start, end=last, dtype=DType.INT_64), value)
    ctx.set_dims(found, dims)
    return found


def emit_iota(ctx: Context, length: str, count: Dim, dtype: DType) -> str:
    """0, 1, 2 ... up to a count that the value ``length`` (a vector of one) holds."""
    if isinstance(count, int):
        _check_count(count)
        return ctx.add_constant(np.arange(count).astype(dtype.numpy))
    ones = ctx.emit(ConstantOfShape(value=1, shape=(count,), dtype=dtype), length)
    return ctx.emit(CumulativeSum(axis=0, exclusive=True), ones)


def _clamp_edge(given: int, rank: int) -> int:
    return min(max(given + rank if given < 0 else given, 0), rank)


def _count_range(start: Array, limit: Array, delta: Array) -> Array:
    """Every number by itself from the first one: adding up would add up the rounding too."""
    if not (delta != 0 and np.isfinite(float(start)) and np.isfinite(float(limit))):
        raise BadInput(
            f"a range from {start} to {limit} in steps of {delta} has no end", do="use another step than 0"
        )
    # Half-precision types are computed in single precision, as ONNX asks for.
    working = np.promote_types(start.dtype, np.float32) if start.dtype.kind not in "iu" else np.int64
    first, last, step = (np.asarray(item).astype(working) for item in (start, limit, delta))
    span = (int(last) - int(first), int(step)) if working == np.int64 else None
    count = -(-span[0] // span[1]) if span else int(np.ceil((last - first) / step))
    _check_count(count)
    numbers: Array = first + np.arange(max(count, 0), dtype=working) * step
    return numbers.astype(start.dtype)


def _check_count(count: int) -> None:
    if count > LARGEST_FOLD:
        raise LimitExceeded(f"{count} elements are counted, the limit is {LARGEST_FOLD}", do="count less")


def _read_numbers(ctx: Context, value: str) -> tuple[int, ...]:
    """A shape that must be numbers."""
    if not ctx.type(value).is_static:
        raise NeedsValue(value, is_shape=True)
    _check_count(int(ctx.type(value).count))
    return ctx.type(value).static_shape()


def _read_random_shape(ctx: Context, node: SourceNode) -> tuple[str, DType]:
    """A tensor of the shape wanted, and the datatype wanted."""
    dtype = find_dtype(node.need("dtype"), node.where) if node.has("dtype") else DType.FLOAT_32
    if node.op_type.endswith("Like"):
        return node.inputs[0], dtype if node.has("dtype") else ctx.dtype(node.inputs[0])
    dims = node.need("shape")
    if any(dim < 0 for dim in dims):
        raise BadInput(f"shape {dims} has a negative size", do="use sizes of 0 or more")
    return ctx.add_constant(np.broadcast_to(np.zeros((), np.float32), dims)), dtype
