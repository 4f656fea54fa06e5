"""Ops that move elements without changing them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, Shape, element_count, is_static
from edgewright.ir.op import EncodingRule, Op, Port, Sample, register, scalar, structural, tensor
from edgewright.ir.types import TensorType
from edgewright.ops.axes import moved_axis, permute_shape

__all__ = ["Concat", "Reshape", "Transpose"]


@register
@dataclass(frozen=True, kw_only=True)
class Reshape(Op):
    """The same elements in row-major order, in another shape."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    shape: Shape = structural()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The new shape, of as many elements."""
        found, wanted = inputs[0].count, element_count(self.shape)
        if is_static(inputs[0].shape) and is_static(self.shape) and found != wanted:
            raise ShapeMismatch(
                f"shape {list(inputs[0].shape)} has {found} elements, shape {list(self.shape)} has {wanted}",
                do="make the two counts equal",
            )
        return (replace(inputs[0], shape=self.shape, layout=None),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Reshaped."""
        return (inputs[0].reshape(tuple(int(dim) for dim in self.shape)),)

    @classmethod
    def structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The shape is the output's."""
        return {"shape": outputs[0].shape}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Flattening."""
        yield Sample("flatten", cls(shape=(2, 12)), (TensorType((2, 3, 4)),))


@register
@dataclass(frozen=True, kw_only=True)
class Transpose(Op):
    """Axes in another order: output axis i is input axis perm[i]."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    perm: tuple[int, ...] = tensor(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The permuted shape."""
        if sorted(self.perm) != list(range(inputs[0].rank)):
            raise ShapeMismatch(
                f"perm {list(self.perm)} does not order the {inputs[0].rank} axes of {inputs[0]}",
                do="name every axis once",
            )
        return (replace(inputs[0], shape=permute_shape(inputs[0].shape, self.perm), layout=None),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Transposed (a view)."""
        return (np.transpose(inputs[0], self.perm),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Channel last."""
        yield Sample("nchw_to_nhwc", cls(perm=(0, 2, 3, 1)), (TensorType((1, 3, 4, 5)),))


@register
@dataclass(frozen=True, kw_only=True)
class Concat(Op):
    """Tensors joined along one axis."""

    inputs = (Port("in[0..m]", is_repeated=True),)
    encoding_rule = EncodingRule.SAME_AS_INPUT

    axis: int = scalar(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The sizes along the axis added up."""
        for other in inputs[1:]:
            self._check(inputs[0], other)
        total: Dim = sum((t.shape[self.axis] for t in inputs[1:]), start=inputs[0].shape[self.axis])
        shape = inputs[0].shape
        return (inputs[0].with_shape((*shape[: self.axis], total, *shape[self.axis + 1 :])),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Concatenated."""
        return (np.concatenate(inputs, axis=self.axis),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axis moves with the others."""
        return replace(self, axis=moved_axis(self.axis, order)), [True] * len(inputs)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Two and three tensors."""
        yield Sample("last", cls(axis=1), (TensorType((2, 3)), TensorType((2, 5))))
        yield Sample("three", cls(axis=0), (TensorType((1, 3)), TensorType((2, 3)), TensorType((4, 3))))

    def _check(self, first: TensorType, other: TensorType) -> None:
        mine, theirs = list(first.shape), list(other.shape)
        fits = len(mine) == len(theirs) and all(
            a == b or axis == self.axis or not (isinstance(a, int) and isinstance(b, int))
            for axis, (a, b) in enumerate(zip(mine, theirs, strict=True))
        )
        if not fits:
            raise ShapeMismatch(
                f"shapes {mine} and {theirs} differ outside axis {self.axis}",
                do="make all other dimensions equal",
            )
