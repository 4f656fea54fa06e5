"""Reductions over axes: sums, means, extremes, products and moments."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, Shape
from edgewright.ir.op import Op, Port, Sample, register, scalar, tensor
from edgewright.ir.traits import EncodingRule, HtpPrecision
from edgewright.ir.types import TensorType
from edgewright.ops.axes import moved_axis
from edgewright.ops.elementwise import in_dtype, widened


def reduced_shape(shape: Shape, axes: tuple[int, ...], *, keep_dims: bool) -> Shape:
    """The shape without the axes, or with 1 in their places."""
    if len(set(axes)) != len(axes) or not all(0 <= axis < len(shape) for axis in axes):
        raise ShapeMismatch(
            f"axes {list(axes)} do not fit a tensor of rank {len(shape)}",
            do=f"name axes from 0 to {len(shape) - 1}, each once",
        )
    kept: list[Dim] = [1 if axis in axes else dim for axis, dim in enumerate(shape)]
    return tuple(dim for axis, dim in enumerate(kept) if keep_dims or axis not in axes)


@dataclass(frozen=True, kw_only=True)
class Reduction(Op):
    """Several axes brought down to one value; ``meaning(x, axis=..., keepdims=...)`` says how."""

    meaning: ClassVar[Callable[..., Any]]

    axes: tuple[int, ...] = tensor(DType.UINT_32)
    keep_dims: bool = scalar(DType.BOOL_8, False)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The axes gone, or 1."""
        shape = reduced_shape(inputs[0].shape, self.axes, keep_dims=self.keep_dims)
        return (replace(inputs[0], shape=shape, layout=None),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Narrow floats are reduced in a wider type."""
        x = inputs[0]
        result = type(self).meaning(widened(x), axis=self.axes, keepdims=self.keep_dims)
        return (in_dtype(result, x.dtype),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axes move with the others as long as the rank stays."""
        if not self.keep_dims:
            return None
        return replace(self, axes=tuple(sorted(moved_axis(axis, order) for axis in self.axes))), [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """One axis gone, two kept, all."""
        x = (TensorType((2, 3, 4)),)
        yield Sample("one", cls(axes=(1,)), x)
        yield Sample("keep", cls(axes=(0, 2), keep_dims=True), x)
        yield Sample("all", cls(axes=(0, 1, 2)), x)


@register
class ReduceSum(Reduction):
    """Sum; 0 for nothing."""

    is_arithmetic = True

    @staticmethod
    def meaning(x: Array, **where: Any) -> Array:
        """In the datatype of the elements: integers wrap."""
        return np.asarray(np.sum(x, dtype=x.dtype, **where))


@register
class ReduceMean(Reduction):
    """Mean; integers are rounded towards zero."""

    has_even_ties_on_htp = False

    is_arithmetic = True
    meaning = np.mean


@register
class ReduceProd(Reduction):
    """Product; 1 for nothing."""

    htp_precision = HtpPrecision.FLOAT

    @staticmethod
    def meaning(x: Array, **where: Any) -> Array:
        """In the datatype of the elements: integers wrap."""
        return np.asarray(np.prod(x, dtype=x.dtype, **where))


@register
class ReduceSumSquare(Reduction):
    """Sum of squares; 0 for nothing."""

    htp_precision = HtpPrecision.FLOAT

    @staticmethod
    def meaning(x: Array, **where: Any) -> Array:
        """In the datatype of the elements: integers wrap."""
        return np.asarray(np.sum(np.square(x), dtype=x.dtype, **where))


@register
class ReduceMax(Reduction):
    """Largest value; the smallest there is for nothing."""

    encoding_rule = EncodingRule.SAME_AS_INPUT
    is_selection = True

    @staticmethod
    def meaning(x: Array, **where: Any) -> Array:
        """Starts from the smallest value there is."""
        return np.asarray(np.max(x, initial=_bounds(x)[0], **where))


@register
class ReduceMin(Reduction):
    """Smallest value; the largest there is for nothing."""

    encoding_rule = EncodingRule.SAME_AS_INPUT
    is_selection = True

    @staticmethod
    def meaning(x: Array, **where: Any) -> Array:
        """Starts from the largest value there is."""
        return np.asarray(np.min(x, initial=_bounds(x)[1], **where))


@register
@dataclass(frozen=True, kw_only=True)
class Moments(Op):
    """Mean and variance over axes."""

    htp_precision = HtpPrecision.FLOAT
    outputs = (Port("out[0]"), Port("out[1]"))

    axes: tuple[int, ...] = tensor(DType.INT_32)
    keep_dims: bool = scalar(DType.BOOL_8)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Two tensors with the axes gone, or 1."""
        shape = reduced_shape(inputs[0].shape, self.axes, keep_dims=self.keep_dims)
        return (replace(inputs[0], shape=shape, layout=None),) * 2

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The variance of the whole population, not of a sample."""
        x = widened(inputs[0])
        found = (function(x, axis=self.axes, keepdims=self.keep_dims) for function in (np.mean, np.var))
        return tuple(in_dtype(array, inputs[0].dtype) for array in found)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Kept and gone."""
        x = (TensorType((1, 4, 5, 3)),)
        yield Sample("keep", cls(axes=(1, 2), keep_dims=True), x)
        yield Sample("gone", cls(axes=(1, 2), keep_dims=False), x)


def _bounds(x: Array) -> tuple[Any, Any]:
    """The smallest and the largest value of the datatype."""
    if x.dtype.kind == "b":
        return False, True
    if x.dtype.kind in "iu":
        return np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    return -np.inf, np.inf
