"""Ops that move elements without changing them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, Shape, element_count, is_static
from edgewright.ir.op import Op, Port, Sample, register, scalar, structural, tensor
from edgewright.ir.traits import EncodingRule, HtpWork
from edgewright.ir.types import TensorType
from edgewright.ops.axes import moved_axis, permute_shape


@register
@dataclass(frozen=True, kw_only=True)
class Reshape(Op):
    """The same elements in row-major order, in another shape."""

    htp_work = HtpWork.NONE
    is_arithmetic = True
    scaled_inputs = (0,)
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
    def read_structure(
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

    htp_work = HtpWork.TRANSPOSE
    is_arithmetic = True
    scaled_inputs = (0,)
    encoding_rule = EncodingRule.SAME_AS_INPUT

    perm: tuple[int, ...] = tensor(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The permuted shape."""
        if sorted(self.perm) != list(range(inputs[0].rank)):
            raise ShapeMismatch(
                f"perm {list(self.perm)} does not order the {inputs[0].rank} axes of {inputs[0]}",
                do="name every axis once",
            )
        x = inputs[0]
        encoding = x.encoding.permuted(self.perm) if x.encoding is not None else None
        return (replace(x, shape=permute_shape(x.shape, self.perm), layout=None, encoding=encoding),)

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

    htp_work = HtpWork.PLACEMENT
    inputs = (Port("in[0..m]", is_repeated=True),)
    encoding_rule = EncodingRule.SAME_AS_INPUT

    axis: int = scalar(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The sizes along the axis added up."""
        _check_axis(self.axis, inputs[0].rank - 1, inputs[0])
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


@register
@dataclass(frozen=True, kw_only=True)
class Squeeze(Op):
    """The tensor without some of its axes of size 1."""

    htp_work = HtpWork.NONE
    is_arithmetic = True
    encoding_rule = EncodingRule.SAME_AS_INPUT

    axes: tuple[int, ...] = structural()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The shape without the axes."""
        for axis in self.axes:
            _check_axis(axis, inputs[0].rank - 1, inputs[0])
            if isinstance(inputs[0].shape[axis], int) and inputs[0].shape[axis] != 1:
                raise ShapeMismatch(
                    f"axis {axis} of {inputs[0]} has size {inputs[0].shape[axis]}, expected 1",
                    do="squeeze axes of size 1",
                )
        shape = (dim for axis, dim in enumerate(inputs[0].shape) if axis not in self.axes)
        return (replace(inputs[0], shape=tuple(shape), layout=None),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """A view."""
        return (np.squeeze(inputs[0], self.axes),)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The axes that the output does not have: among equal ones the first."""
        wanted = list(outputs[0].shape)
        axes = []
        for axis, dim in enumerate(inputs[0].shape if inputs[0] else ()):
            left = 0 if inputs[0] is None else inputs[0].rank - axis
            if dim == 1 and (left > len(wanted) or wanted[0] != 1):
                axes.append(axis)
            else:
                del wanted[:1]
        return {"axes": tuple(axes)}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Two axes."""
        yield Sample("two", cls(axes=(0, 2)), (TensorType((1, 3, 1, 4)),))


@register
@dataclass(frozen=True, kw_only=True)
class ExpandDims(Op):
    """The tensor with one more axis, of size 1."""

    htp_work = HtpWork.NONE
    is_arithmetic = True
    encoding_rule = EncodingRule.SAME_AS_INPUT

    axis: int = scalar(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The shape with a 1 put in."""
        _check_axis(self.axis, inputs[0].rank, inputs[0])
        shape = inputs[0].shape
        return (replace(inputs[0], shape=(*shape[: self.axis], 1, *shape[self.axis :]), layout=None),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """A view."""
        return (np.expand_dims(inputs[0], self.axis),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """In the middle and at the end."""
        yield Sample("middle", cls(axis=1), (TensorType((2, 3)),))
        yield Sample("end", cls(axis=2), (TensorType((2, 3)),))


@register
@dataclass(frozen=True, kw_only=True)
class Pack(Op):
    """Tensors of one shape stacked along a new axis."""

    htp_work = HtpWork.PLACEMENT
    inputs = (Port("in[0..m]", is_repeated=True),)
    encoding_rule = EncodingRule.SAME_AS_INPUT

    axis: int = scalar(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The shape with the number of tensors put in."""
        _check_axis(self.axis, inputs[0].rank, inputs[0])
        for other in inputs[1:]:
            if other.rank != inputs[0].rank or (other.is_static and other.shape != inputs[0].shape):
                raise ShapeMismatch(f"{inputs[0]} and {other} differ", do="stack tensors of one shape")
        shape = inputs[0].shape
        stacked = (*shape[: self.axis], len(inputs), *shape[self.axis :])
        return (replace(inputs[0], shape=stacked, layout=None),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Stacked."""
        return (np.stack(inputs, self.axis),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Three tensors."""
        x = TensorType((2, 3))
        yield Sample("front", cls(axis=0), (x, x, x))
        yield Sample("end", cls(axis=2), (x, x))


@register
@dataclass(frozen=True, kw_only=True)
class UnPack(Op):
    """The slices of a tensor along one axis."""

    htp_work = HtpWork.NONE
    outputs = (Port("out[0..m]", is_repeated=True),)
    encoding_rule = EncodingRule.SAME_AS_INPUT

    axis: int = scalar(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """As many as the axis is long, each without it."""
        _check_axis(self.axis, inputs[0].rank - 1, inputs[0])
        shape = inputs[0].shape
        count = shape[self.axis]
        if not isinstance(count, int):
            raise ShapeMismatch(
                f"axis {self.axis} of {inputs[0]} is symbolic, expected a number", do="fix that dimension"
            )
        left = replace(inputs[0], shape=(*shape[: self.axis], *shape[self.axis + 1 :]), layout=None)
        return (left,) * count

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Views."""
        return tuple(np.moveaxis(inputs[0], self.axis, 0))

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """The middle axis."""
        yield Sample("middle", cls(axis=1), (TensorType((2, 3, 4)),))


def _check_axis(axis: int, last: int, tensor_type: TensorType) -> None:
    if not 0 <= axis <= last:
        raise ShapeMismatch(
            f"axis {axis} does not fit {tensor_type}", do=f"use an axis from 0 to {max(last, 0)}"
        )
