"""Fixed-point ops as sums of whole numbers that are rounded step by step, as a backend's hardware does it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from edgewright.backends.cpu.column_products import ColumnProduct
from edgewright.backends.cpu.fused_products import multiply_in_one_pass
from edgewright.backends.cpu.fused_steps import (
    SumSteps,
    look_up_in_one_pass,
    round_in_one_pass,
    split_in_one_pass,
)
from edgewright.backends.cpu.halves import HalfArithmetic
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.windows import Geometry

if TYPE_CHECKING:
    from edgewright.backends.cpu.writer import Writer
    from edgewright.ops.matmul import MatMul

# An end of a slice that is the end of everything.
LAST = np.iinfo(np.int64).max
BYTE = 256
# What two signed bytes hold at most.
LARGEST_OF_BYTES = 0x7F7F


@dataclass(frozen=True)
class Step:
    """An engine op on the sums; its operand is one number, one for each channel (the last axis), or none.

    With a branch the operand is what these steps make of the same sums; a trunk is taken before, by the sums
    themselves.
    """

    op: str
    operand: Array | None = None
    to: DType | None = None
    branch: tuple["Step", ...] = ()
    trunk: tuple["Step", ...] = ()


@dataclass(frozen=True)
class IntegerProduct:
    """Rows of stored integers times a matrix of integers [K, N], in units of each column, plus a bias.

    With a window a row is what it sees at one place of an image, place after place. Where that is depthwise
    the matrix has a number for each place of the window and each channel: [height, width, channels].
    """

    matrix: Array
    units: Array
    bias: Array
    window: Geometry | None = None
    # Of the window.
    places: tuple[int, ...] = (1, 1)
    is_depthwise: bool = False
    # Whether our kernel computes it, together with the steps: it needs a window.
    is_fused: bool = False


@dataclass(frozen=True)
class WideSums:
    """An input of 16 bits as two bytes: their sums are computed one by one.

    Those of low bytes plus a shift for each channel are cut to whole units of the others; without a shift
    nothing is cut, and sums have the units of low bytes.
    """

    # The integer that stands for zero.
    zero: int
    shift: Array | None
    # What is done to the sums of each byte first.
    before: tuple[Step, ...] = ()


@dataclass(frozen=True)
class SumForm:
    """How a node is computed: inputs and weights as whole numbers, then the steps.

    After them the nearest whole number is stored, shifted by the offset of the output and clamped.
    """

    inputs: Mapping[str, Encoding]
    constants: Mapping[str, Array] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    # Where the sums are those of a plain matrix product: the engine has a kernel of integers for it.
    product: IntegerProduct | None = None
    # What is added to inputs.
    shifts: Mapping[str, float] = field(default_factory=dict)
    # What inputs are multiplied with, in float64.
    factors: Mapping[str, float] = field(default_factory=dict)
    # Where the result only depends on the one input: the integer that each of its integers has.
    table: Array | None = None
    # Where it only depends on two inputs of 8 bits: the integers that each of their pairs has.
    pairs: Array | None = None
    # The real numbers that integers of inputs are read as, where these are not evenly spaced.
    tables: Mapping[str, Array] = field(default_factory=dict)
    wide: WideSums | None = None
    # Of a product of two matrices of 16 bits: the integer of the first that stands for zero.
    zero: int | None = None
    # Of a product of two matrices of 8 bits, the second of which has columns beyond a signed byte.
    columns: ColumnProduct | None = None


# The form of a node, or None where the usual one (decoded, computed, encoded) serves.
Arithmetic = Callable[[Graph, Node], SumForm | None]


@dataclass(frozen=True)
class Rounding:
    """How results are rounded where that is not the engine's own way."""

    sums: Arithmetic | None = None
    # Where float32 results of ops that compute have only the 11 bits of a float16.
    halves: HalfArithmetic | None = None


# The engine's own way.
PLAIN = Rounding()


def write_fused_product(w: "Writer", node: Node, form: SumForm) -> str:
    """The integers that are stored for a product that our kernel computes."""
    given, stored = (w.graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    assert form.product is not None
    assert given.encoding is not None
    assert stored.encoding is not None
    taken = SumSteps(form.steps, *_list_joining_steps(form.wide))
    zeros = (-given.encoding.offsets[0], -stored.encoding.offsets[0])
    return multiply_in_one_pass(w, w.value(node.inputs[0]), form.product, taken, zeros, stored.dtype)


def write_product(w: "Writer", node: Node, product: IntegerProduct, rows: str, zero: Array) -> str:
    """The sums of a product of the last axis, in real numbers that hold them exactly; rows have 8 bits."""
    if product.window is not None:
        parts = list_window_parts(w, rows, product.window, product.places, zero)
        rows = w.node("Concat", *parts, axis=3) if len(parts) > 1 else parts[0]
    elif _is_folded(w, node, product):
        rows = w.node("Reshape", rows, w.ints((-1, len(product.matrix))))
    zeros = (zero, np.zeros(product.units.shape, np.int8))
    operands = (product.matrix, np.float32(1), product.units, *zeros, product.bias)
    names = [w.constant(np.asarray(operand)) for operand in operands]
    return w.node("MatMulIntegerToFloat", rows, *names, domain="com.microsoft")


def write_matrix_sums(w: "Writer", node: Node, zero: int) -> str:
    """Products of matrices of 16 bits in whole units of two high bytes, in float64.

    The second is two signed bytes. What the zero of the first adds to each column is rounded by itself.
    """
    op, names = cast("MatMul", node.op), node.inputs[:2]
    left, right = (
        _cast_matrix(w, value, is_swapped)
        for value, is_swapped in zip(names, (op.transpose_in0, op.transpose_in1), strict=True)
    )
    right = w.node("Min", right, w.scalar(LARGEST_OF_BYTES, DType.FLOAT_64))
    unit = w.scalar(1 / (BYTE * BYTE), DType.FLOAT_64)
    sums = w.node("Floor", w.node("Mul", w.node("MatMul", left, right), unit))
    columns = w.node("ReduceSum", right, w.ints((-2,)), keepdims=1)
    shift = w.node("Mul", columns, w.scalar(zero / (BYTE * BYTE), DType.FLOAT_64))
    return w.node("Sub", sums, w.node("Floor", w.node("Add", shift, w.scalar(0.5, DType.FLOAT_64))))


def _cast_matrix(w: "Writer", value: str, is_swapped: bool) -> str:
    whole = w.node("Cast", w.value(value), to=w.code(DType.FLOAT_64))
    rank = w.graph.types[value].rank
    order = (*range(rank - 2), rank - 1, rank - 2)
    return w.node("Transpose", whole, perm=list(order)) if is_swapped else whole


def _is_folded(w: "Writer", node: Node, product: IntegerProduct) -> bool:
    """Whether all axes but the last become one."""
    given, made = (w.graph.types[value] for value in (node.inputs[0], node.outputs[0]))
    return (given.rank, given.shape[-1]) != (made.rank, len(product.matrix))


def split_bytes(w: "Writer", value: str) -> list[str]:
    """The high and the low bytes of 16 bits."""
    base, order = w.before_transpose(value)
    if order is not None:
        return [w.transpose(byte, order) for byte in split_bytes(w, base)]
    if parts := split_in_one_pass(w, value):
        return parts
    real = w.node("Cast", value, to=w.code(DType.FLOAT_32))
    high = w.node("Floor", w.node("Mul", real, w.scalar(1 / BYTE, DType.FLOAT_32)))
    low = w.node("Sub", real, w.node("Mul", high, w.scalar(BYTE, DType.FLOAT_32)))
    return [w.node("Cast", byte, to=w.code(DType.UINT_8)) for byte in (high, low)]


def _list_joining_steps(wide: WideSums | None) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """What is done to the sums of high and of low bytes before they are added."""
    if wide is None:
        return (), ()
    if wide.shift is None:
        real = Step("Cast", to=DType.FLOAT_64)
        return (*wide.before, real, Step("Mul", np.asarray(BYTE, np.float64))), (*wide.before, real)
    unit = np.asarray(1 / BYTE, np.float32)
    cut = (Step("Add", wide.shift.astype(np.float32)), Step("Mul", unit), Step("Floor"))
    return wide.before, (*wide.before, *cut)


def list_window_parts(
    w: "Writer", image: str, window: Geometry, size: tuple[int, ...], zero: Array
) -> list[str]:
    """What each place of a window sees: shifted images."""
    (top, bottom), (left, right) = window.pads
    if any((top, bottom, left, right)):
        image = w.node("Pad", image, w.ints((0, top, left, 0, 0, bottom, right, 0)), w.constant(zero))
    axes, steps = w.ints((1, 2)), w.ints(window.stride)
    parts = []
    for place in np.ndindex(*size):
        start = [int(at * gap) for at, gap in zip(place, window.dilation, strict=True)]
        # So far from the end of the padded image that the last places of the window still lie in it.
        ends = [s - (n - 1) * gap for s, n, gap in zip(start, size, window.dilation, strict=True)]
        end = [last if last < 0 else LAST for last in ends]
        parts.append(w.node("Slice", image, w.ints(start), w.ints(end), axes, steps))
    return parts


def round_sums(w: "Writer", sums: Sequence[str], form: SumForm, stored: TensorType, channels: int) -> str:
    """The integers that are stored for sums, or those of two bytes, whose channels lie along an axis."""
    bases, orders = zip(*(w.before_transpose(name) for name in sums), strict=True)
    if (order := orders[0]) is not None:
        back = tuple(order.index(axis) for axis in range(len(order)))
        return w.transpose(round_sums(w, bases, form, stored.permuted(back), order[channels]), order)
    assert stored.encoding is not None
    first, second = _list_joining_steps(form.wide)
    zero = -stored.encoding.offsets[0]
    taken = SumSteps(form.steps, first, second)
    # Our kernel reads float32.
    is_float64 = bool(form.factors) or form.zero is not None
    is_float64 = is_float64 or any(table.dtype == np.float64 for table in form.tables.values())
    if not is_float64 and (name := round_in_one_pass(w, sums, taken, stored.dtype, zero, channels)):
        return name
    parts = [
        _write_steps(w, steps, name, stored.rank, channels)
        for name, steps in zip(sums, (first, second), strict=False)
    ]
    value = w.node("Add", *parts) if len(parts) > 1 else parts[0]
    value = _write_steps(w, form.steps, value, stored.rank, channels)
    zero_point = w.constant(np.asarray(zero, stored.dtype.numpy))
    return w.node("QuantizeLinear", value, w.scalar(1.0, DType.FLOAT_32), zero_point)


def shift_value(w: "Writer", value: str, number: float) -> str:
    """A value plus a number."""
    if not number:
        return value
    base, order = w.before_transpose(value)
    if order is not None:
        return w.transpose(shift_value(w, base, number), order)
    return w.node("Add", value, w.scalar(number, DType.FLOAT_32))


def scale_value(w: "Writer", value: str, number: float) -> str:
    """A value times a number, in float64."""
    base, order = w.before_transpose(value)
    if order is not None:
        return w.transpose(scale_value(w, base, number), order)
    whole = w.node("Cast", value, to=w.code(DType.FLOAT_64))
    return w.node("Mul", whole, w.scalar(number, DType.FLOAT_64))


def look_up(w: "Writer", indices: str, dtype: DType, table: Array) -> str:
    """What a table has for whole numbers of a datatype."""
    base, order = w.before_transpose(indices)
    if order is not None:
        return w.transpose(look_up(w, base, dtype, table), order)
    if name := look_up_in_one_pass(w, indices, dtype, table):
        return name
    return w.node("Gather", w.constant(table), w.node("Cast", indices, to=w.code(DType.INT_32)))


def look_up_pairs(w: "Writer", first: str, second: str, table: Array) -> str:
    """What a table has for pairs of bytes; they are broadcast."""
    row, column = (w.node("Cast", value, to=w.code(DType.INT_32)) for value in (first, second))
    place = w.node("Add", w.node("Mul", row, w.scalar(BYTE, DType.INT_32)), column)
    return w.node("Gather", w.constant(table.reshape(-1)), place)


def _write_steps(w: "Writer", steps: Iterable[Step], value: str, rank: int, channels: int) -> str:
    for step in steps:
        value = _write_step(w, step, value, rank, channels)
    return value


def _write_step(w: "Writer", step: Step, value: str, rank: int, channels: int) -> str:
    if step.to is not None:
        return w.node(step.op, value, to=w.code(step.to))
    if step.branch:
        sides = [_write_steps(w, steps, value, rank, channels) for steps in (step.trunk, step.branch)]
        return w.node(step.op, *sides)
    if step.operand is None:
        return w.node(step.op, value)
    if not step.operand.ndim:
        return w.node(step.op, value, w.constant(step.operand))
    shape = [1] * rank
    shape[channels] = step.operand.size
    return w.node(step.op, value, w.constant(step.operand.reshape(shape)))
