"""Elementwise ops of two and more operands, and the bases of all elementwise ops."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from edgewright.core.errors import TypeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import FIXED_POINTS, NUMERIC, Op, Port, Sample, register
from edgewright.ir.traits import HtpPrecision, HtpWork
from edgewright.ir.types import TensorType
from edgewright.ops.broadcast import broadcast_shapes
from edgewright.ops.elementwise_dims import (
    compare_objects,
    divide_objects,
    maximum_objects,
    minimum_objects,
)

# Bool, integers and objects, which numpy computes as they are.
PLAIN_KINDS = "biuO"
BOOLS = frozenset({DType.BOOL_8})
WIDE_BITS = 16
# What is true or false: of fixed-point numbers everything but zero is true.
TRUTHS = BOOLS | FIXED_POINTS
CONDITIONS = TRUTHS | {DType.INT_32}


@dataclass(frozen=True, kw_only=True)
class Unary(Op):
    """An op that maps each element by itself; ``meaning`` is the function."""

    htp_work = HtpWork.CURVE
    is_tabulated_on_htp = True
    inputs = (Port("in[0]", NUMERIC),)
    meaning: ClassVar[Callable[..., Any]]

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the input."""
        check_dtypes(self, *inputs)
        return (inputs[0],)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The function of each element, in the input's datatype."""
        return (in_dtype(self.apply(widened(inputs[0])), inputs[0].dtype),)

    def apply(self, x: Array) -> Array:
        """The function of each element; ops with parameters say it here."""
        result: Array = type(self).meaning(x)
        return result

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """Any order will do."""
        del order, inputs
        return self, [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A plain tensor."""
        yield Sample("plain", cls(), (TensorType((2, 3, 4)),))


@dataclass(frozen=True, kw_only=True)
class Broadcasting(Op):
    """An op whose operands broadcast against each other as numpy's do."""

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """Operands of full rank are transposed, scalars stay; a rank between would change the meaning."""
        if any(t.rank != len(order) and t.count != 1 for t in inputs):
            return None
        return self, [t.rank == len(order) and t.count != 1 for t in inputs]


@dataclass(frozen=True, kw_only=True)
class Binary(Broadcasting):
    """An op of two operands of one datatype; ``meaning`` is the function."""

    is_tabulated_on_htp = True
    has_even_ties_on_htp = False

    inputs = (Port("in[0]", NUMERIC), Port("in[1]", NUMERIC))
    meaning: ClassVar[Callable[..., Any]]

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The broadcast shape in the datatype of the operands."""
        check_dtypes(self, *inputs)
        same_dtype(*inputs)
        return (TensorType(broadcast_shapes(*(t.shape for t in inputs)), inputs[0].dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The function of each pair of elements."""
        dtype = object if is_symbolic(*inputs) else inputs[0].dtype
        return (in_dtype(type(self).meaning(*(widened(array) for array in inputs)), dtype),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Equal shapes and a broadcast."""
        yield Sample("plain", cls(), (TensorType((2, 3)), TensorType((2, 3))))
        yield Sample("broadcast", cls(), (TensorType((2, 1, 3)), TensorType((4, 1))))


@dataclass(frozen=True, kw_only=True)
class Comparison(Binary):
    """A binary op whose result is true or false."""

    inputs = (Port("in[0]"), Port("in[1]"))
    outputs = (Port("out[0]", BOOLS),)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The broadcast shape, bool."""
        return (super().infer(*inputs)[0].with_dtype(DType.BOOL_8),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The function of each pair of elements, as bool."""
        if is_symbolic(*inputs):
            return (compare_objects(type(self).meaning, *inputs),)
        return (in_dtype(type(self).meaning(*(widened(array) for array in inputs)), np.bool_),)


@dataclass(frozen=True, kw_only=True)
class Logical(Comparison):
    """A comparison of truth values; of fixed-point numbers everything but a real 0 is true."""

    inputs = (Port("in[0]", TRUTHS), Port("in[1]", TRUTHS))
    outputs = (Port("out[0]", TRUTHS),)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The broadcast shape; truth values stay what they are."""
        (found,) = super().infer(*inputs)
        return (found.with_dtype(inputs[0].dtype),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Truth values that broadcast."""
        shapes = ((2, 1, 8), (4, 1))
        yield Sample("broadcast", cls(), tuple(TensorType(shape, DType.BOOL_8) for shape in shapes))


def check_dtypes(op: Op, *operands: TensorType) -> None:
    """Refuses operands of datatypes that the op's ports do not take."""
    for port, operand in zip(op.inputs, operands, strict=False):
        if operand.dtype not in port.dtypes:
            wanted = "numbers" if port.dtypes == NUMERIC else "BOOL_8"
            raise TypeMismatch(
                f"{port.name} of {op.qnn_name()} is {operand.dtype.name}, expected {wanted}",
                do="cast or compare it first",
            )


def has_wide_numbers(types: Sequence[TensorType | None]) -> bool:
    """Whether the first operand is in fixed point of 16 bits."""
    return types[0] is not None and types[0].dtype.is_fixed_point and types[0].dtype.bits == WIDE_BITS


def same_dtype(*operands: TensorType) -> None:
    """Refuses operands of different datatypes; fixed-point ones may differ, their encodings say how."""
    found = {operand.dtype for operand in operands}
    if len(found) > 1 and not any(dtype.is_fixed_point for dtype in found):
        raise TypeMismatch(
            f"operands are {' and '.join(operand.dtype.name for operand in operands)}, expected one datatype",
            do="cast one of them",
        )


def in_dtype(result: Any, dtype: Any) -> Array:
    """The result as an array of the datatype; symbolic dimensions (object arrays) stay what they are."""
    array: Array = np.asarray(result)
    return array if array.dtype == object else array.astype(dtype, copy=False)


def is_symbolic(*arrays: Array) -> bool:
    """Whether one of the arrays holds symbolic dimensions (or strings)."""
    return any(array.dtype == object for array in arrays)


def widened(array: Array) -> Array:
    """Narrow floats and integers of less than a byte in a type that numpy computes well in."""
    if array.dtype.kind in PLAIN_KINDS or array.dtype in (np.float32, np.float64):
        return array
    dtype = DType.of(array.dtype)
    if dtype.is_float:
        return array.astype(np.float32)
    return array.astype(np.int8) if dtype.is_integer else array


@register
class ElementWiseAdd(Binary):
    """Sum of two tensors."""

    slopes = (1, 1)
    is_arithmetic = True
    is_rectified_on_htp = True
    meaning = np.add


@register
class ElementWiseSubtract(Binary):
    """Difference of two tensors."""

    slopes = (1, -1)
    is_arithmetic = True
    is_rectified_on_htp = True
    meaning = np.subtract


@register
class ElementWiseMultiply(Binary):
    """Product of two tensors."""

    is_arithmetic = True
    is_rectified_on_htp = True
    scaled_inputs = (0, 1)
    meaning = np.multiply


@register
class ElementWiseDivide(Binary):
    """Quotient of two tensors; integers are rounded towards zero."""

    is_arithmetic = True
    scaled_inputs = (0,)
    may_make_nan = True

    @staticmethod
    def meaning(a: Array, b: Array) -> Array:
        """Truncated for integers."""
        if is_symbolic(a, b):
            return divide_objects(a, b)
        if a.dtype.kind not in "iu":
            return np.asarray(np.divide(a, b))
        quotient = np.floor_divide(a, b)
        is_rounded_down = (quotient < 0) & (quotient * b != a)
        return np.asarray(quotient + is_rounded_down.astype(a.dtype))


@register
class ElementWiseFloorDiv(Binary):
    """Quotient of two tensors, rounded down."""

    may_make_nan = True

    def is_wrong_on_htp(self, inputs: Sequence[TensorType | None]) -> bool:
        """With 16 bits some quotients are not rounded; in floats those of two shapes are wrong."""
        shapes = {kind.shape for kind in inputs if kind is not None}
        return has_wide_numbers(inputs) and len(shapes) == 1

    @staticmethod
    def meaning(a: Array, b: Array) -> Array:
        """Rounded down."""
        if is_symbolic(a, b):
            return divide_objects(a, b)
        is_integer = a.dtype.kind in "iu"
        return np.asarray(np.floor_divide(a, b) if is_integer else np.floor(np.divide(a, b)))


@register
class ElementWiseMod(Binary):
    """Remainder with the sign of the divisor."""

    htp_precision = HtpPrecision.FLOAT
    may_make_nan = True
    meaning = np.mod


@register
class ElementWiseFmod(Binary):
    """Remainder with the sign of the dividend, as C's fmod."""

    htp_precision = HtpPrecision.FLOAT
    may_make_nan = True
    meaning = np.fmod


@register
class ElementWisePower(Binary):
    """The first operand to the power of the second."""

    is_arithmetic = True
    is_fragile = True
    may_make_nan = True

    @staticmethod
    def meaning(a: Array, b: Array) -> Array:
        """Integers with a negative exponent go through floating point: numpy refuses them."""
        if b.dtype.kind == "i" and np.any(b < 0):
            with np.errstate(all="ignore"):
                return np.asarray(np.power(a.astype(np.float64), b))
        return np.asarray(np.power(a, b))

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Positive bases (the others have no real power), and whole numbers."""
        bases = np.linspace(0.25, 4, 6, dtype=np.float32).reshape(2, 3)
        yield Sample("positive", cls(), (bases, TensorType((2, 3))))
        yield Sample("square", cls(), (TensorType((2, 3)), np.full((1,), 2, np.float32)))
        yield Sample("integer", cls(), (np.arange(6, dtype=np.int32), np.arange(6, dtype=np.int32)))


@register
class ElementWiseMaximum(Binary):
    """The larger of two; not-a-number wins."""

    slopes = (1, 1)
    is_arithmetic = True

    @staticmethod
    def meaning(a: Array, b: Array) -> Array:
        """The larger."""
        return maximum_objects(a, b) if is_symbolic(a, b) else np.asarray(np.maximum(a, b))


@register
class ElementWiseMinimum(Binary):
    """The smaller of two; not-a-number wins."""

    slopes = (1, 1)
    is_arithmetic = True

    @staticmethod
    def meaning(a: Array, b: Array) -> Array:
        """The smaller."""
        return minimum_objects(a, b) if is_symbolic(a, b) else np.asarray(np.minimum(a, b))


@register
class ElementWiseSquaredDifference(Binary):
    """(a - b) squared."""

    is_arithmetic = True

    @staticmethod
    def meaning(a: Array, b: Array) -> Array:
        """(a - b) squared."""
        return np.asarray(np.square(np.subtract(a, b)))


@register
class ElementWiseEqual(Comparison):
    """Whether a is b."""

    meaning = np.equal


@register
class ElementWiseNotEqual(Comparison):
    """Whether a is not b."""

    meaning = np.not_equal


@register
class ElementWiseGreater(Comparison):
    """Whether a is larger than b."""

    meaning = np.greater


@register
class ElementWiseGreaterEqual(Comparison):
    """Whether a is at least b."""

    meaning = np.greater_equal


@register
class ElementWiseLess(Comparison):
    """Whether a is smaller than b."""

    meaning = np.less


@register
class ElementWiseLessEqual(Comparison):
    """Whether a is at most b."""

    meaning = np.less_equal


@register
class ElementWiseAnd(Logical):
    """Whether both are true."""

    meaning = np.logical_and


@register
class ElementWiseOr(Logical):
    """Whether one is true."""

    meaning = np.logical_or


@register
class ElementWiseXor(Logical):
    """Whether exactly one is true."""

    meaning = np.logical_xor


@register
@dataclass(frozen=True, kw_only=True)
class ElementWiseSelect(Broadcasting):
    """The second operand where the first is true, else the third."""

    slopes = (0, 1, 1)
    inputs = (Port("in[0]", CONDITIONS), Port("in[1]"), Port("in[2]"))

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The broadcast shape in the datatype of the second operand."""
        check_dtypes(self, *inputs)
        same_dtype(*inputs[1:])
        return (TensorType(broadcast_shapes(*(t.shape for t in inputs)), inputs[1].dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """One or the other."""
        condition, a, b = inputs
        return (np.where(condition.astype(np.bool_), a, b),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Three shapes that broadcast."""
        condition = TensorType((4, 1), DType.BOOL_8)
        yield Sample("broadcast", cls(), (condition, TensorType((2, 4, 3)), TensorType((3,))))
