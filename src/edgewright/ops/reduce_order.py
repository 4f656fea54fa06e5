"""Ops that rank elements along an axis, and running sums."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, register, scalar, structural
from edgewright.ir.traits import EncodingRule
from edgewright.ir.types import TensorType
from edgewright.ops.axes import moved_axis
from edgewright.ops.elementwise import in_dtype, widened
from edgewright.ops.reduce import reduced_shape

BYTE_BITS = 8
INDEX = frozenset({DType.INT_32, DType.UINT_32})


@dataclass(frozen=True, kw_only=True)
class Arg(Op):
    """Position of an extreme along an axis, the first where there are several."""

    outputs = (Port("out[0]", INDEX),)
    encoding_rule = EncodingRule.FIXED
    meaning: ClassVar[Callable[..., Any]]

    axis: int = scalar(DType.UINT_32)
    keep_dims: bool = scalar(DType.BOOL_8, False)
    dtype: DType = structural(DType.INT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The axis gone, or 1; it must have elements to choose from."""
        shape = reduced_shape(inputs[0].shape, (self.axis,), keep_dims=self.keep_dims)
        if inputs[0].shape[self.axis] == 0:
            raise ShapeMismatch(
                f"axis {self.axis} of {inputs[0]} is empty", do="give it at least one element"
            )
        return (TensorType(shape, self.dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The position as a 32-bit integer."""
        found = type(self).meaning(widened(inputs[0]), axis=self.axis, keepdims=self.keep_dims)
        return (np.asarray(found, self.dtype.numpy),)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The datatype is the output's."""
        return {"dtype": outputs[0].dtype}

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axis moves with the others as long as the rank stays."""
        return (replace(self, axis=moved_axis(self.axis, order)), [True]) if self.keep_dims else None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """The axis gone and kept."""
        x = (TensorType((2, 3, 4)),)
        yield Sample("gone", cls(axis=1), x)
        yield Sample("keep", cls(axis=2, keep_dims=True), x)


@register
class Argmax(Arg):
    """Position of the largest value."""

    meaning = np.argmax


@register
class Argmin(Arg):
    """Position of the smallest value."""

    meaning = np.argmin


@register
@dataclass(frozen=True, kw_only=True)
class TopK(Op):
    """The k largest (or smallest) values of the last axis in order, and their positions.

    Equal values stand in the order of their positions.
    """

    outputs = (Port("out[0]"), Port("out[1]", INDEX))
    encoding_rule = EncodingRule.SAME_AS_INPUT
    is_selection = True

    k: Dim = scalar(DType.UINT_32)
    largest: bool = scalar(DType.BOOL_8, True)
    dtype: DType = structural(DType.INT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The last axis has k elements."""
        x = inputs[0]
        size = x.shape[-1] if x.rank else 0
        if isinstance(self.k, int) and (self.k < 0 or (isinstance(size, int) and self.k > size)):
            raise ShapeMismatch(
                f"k is {self.k}, but the axis has {size} elements", do=f"choose k from 0 to {size}"
            )
        shape = (*x.shape[:-1], self.k)
        return (x.with_shape(shape), TensorType(shape, self.dtype))

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """By a stable sort; for the largest it runs from the back, so that ties keep their order."""
        x = widened(inputs[0])
        if self.largest:
            order = x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        else:
            order = np.argsort(x, axis=-1, kind="stable")
        order = order[..., : int(self.k)]
        return (np.take_along_axis(inputs[0], order, axis=-1), order.astype(self.dtype.numpy))

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The datatype is the output's."""
        return {"dtype": outputs[1].dtype}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Largest, smallest, and ties."""
        x = (TensorType((2, 3, 7)),)
        yield Sample("largest", cls(k=3), x)
        yield Sample("smallest", cls(k=2, largest=False), x)
        yield Sample("ties", cls(k=3), (np.asarray([[1, 2, 2, 1, 2]], np.float32),))


@register
@dataclass(frozen=True, kw_only=True)
class CumulativeSum(Op):
    """Running sum along an axis: from either end, with or without the element itself."""

    axis: int = scalar(DType.UINT_32)
    exclusive: bool = scalar(DType.BOOL_8, False)
    reverse: bool = scalar(DType.BOOL_8, False)

    def is_wrong_on_htp(self, inputs: Sequence[TensorType | None]) -> bool:
        """With 8 bits the zero points of two elements are taken off every sum, however many it has."""
        encoding = inputs[0].encoding if inputs[0] is not None else None
        return encoding is not None and encoding.bitwidth == BYTE_BITS and any(encoding.offsets)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the input."""
        reduced_shape(inputs[0].shape, (self.axis,), keep_dims=True)
        return (inputs[0],)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Without the element itself means one place later."""
        x = widened(inputs[0])
        x = np.flip(x, self.axis) if self.reverse else x
        total = np.cumsum(x, axis=self.axis, dtype=x.dtype)
        if self.exclusive:
            total = np.roll(total, 1, self.axis)
            np.moveaxis(total, self.axis, 0)[:1] = 0
        return (in_dtype(np.flip(total, self.axis) if self.reverse else total, inputs[0].dtype),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axis moves with the others."""
        return replace(self, axis=moved_axis(self.axis, order)), [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Every direction."""
        x = (TensorType((2, 3, 4)),)
        yield Sample("plain", cls(axis=1), x)
        yield Sample("exclusive", cls(axis=2, exclusive=True), x)
        yield Sample("reverse", cls(axis=0, reverse=True), x)
        yield Sample("reverse_exclusive", cls(axis=2, exclusive=True, reverse=True), x)
