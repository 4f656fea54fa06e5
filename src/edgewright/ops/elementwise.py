"""The shapes of elementwise ops: one operand, two operands, comparisons."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.op import Op, Port, Sample, register
from edgewright.ir.types import TensorType
from edgewright.ops.broadcast import broadcast_shapes

__all__ = ["Binary", "Comparison", "ElementWiseAdd", "ElementWiseMultiply", "Unary"]


@dataclass(frozen=True, kw_only=True)
class Unary(Op):
    """An op that maps each element by itself; ``meaning`` is the function."""

    meaning: ClassVar[Callable[..., Any]]

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the input."""
        return (inputs[0],)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The function of each element, in the input's datatype."""
        return (in_dtype(type(self).meaning(*inputs), inputs[0].dtype),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """Any order will do."""
        del order, inputs
        return self, [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A plain tensor."""
        yield Sample("plain", cls(), (TensorType((2, 3, 4)),))


@dataclass(frozen=True, kw_only=True)
class Binary(Op):
    """An op of two operands that broadcast against each other as numpy's do; ``meaning`` is the function."""

    inputs = (Port("in[0]"), Port("in[1]"))
    meaning: ClassVar[Callable[..., Any]]

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The broadcast shape in the datatype of the first operand."""
        return (TensorType(broadcast_shapes(*(t.shape for t in inputs)), inputs[0].dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The function of each pair of elements."""
        return (in_dtype(type(self).meaning(*inputs), inputs[0].dtype),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """Operands of full rank are transposed, scalars stay; a rank between would change the meaning."""
        if any(t.rank != len(order) and t.count != 1 for t in inputs):
            return None
        return self, [t.rank == len(order) and t.count != 1 for t in inputs]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Equal shapes and a broadcast."""
        yield Sample("plain", cls(), (TensorType((2, 3)), TensorType((2, 3))))
        yield Sample("broadcast", cls(), (TensorType((2, 1, 3)), TensorType((4, 1))))


@dataclass(frozen=True, kw_only=True)
class Comparison(Binary):
    """A binary op whose result is true or false."""

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The broadcast shape, bool."""
        return (TensorType(broadcast_shapes(*(t.shape for t in inputs)), DType.BOOL_8),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The function of each pair of elements, as bool."""
        return (in_dtype(type(self).meaning(*inputs), np.bool_),)


def in_dtype(result: Any, dtype: Any) -> Array:
    """The result as an array of the datatype; symbolic dimensions (object arrays) stay what they are."""
    array: Array = np.asarray(result)
    return array if array.dtype == object else array.astype(dtype, copy=False)


@register
class ElementWiseAdd(Binary):
    """Sum of two tensors."""

    meaning = np.add


@register
class ElementWiseMultiply(Binary):
    """Product of two tensors."""

    meaning = np.multiply
