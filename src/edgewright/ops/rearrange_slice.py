"""Cutting tensors: strided slices and splits, for sizes that may be symbolic."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, Shape, ceil_div, lower_bound, maximum, minimum
from edgewright.ir.op import Op, Port, Sample, register, scalar, tensor
from edgewright.ir.traits import EncodingRule, HtpWork
from edgewright.ir.types import TensorType, type_of
from edgewright.ops.axes import moved_axis, permute_shape

# begin, end (not included) and stride; counted from the front, -1 is the place before the first element.
Range = tuple[Dim, Dim, int]

# Exporters write "to the end" as a number of this size or larger.
FAR = (1 << 31) - 1


@register
@dataclass(frozen=True, kw_only=True)
class StridedSlice(Op):
    """Every stride-th element from begin up to end, on each axis. Bit i of a mask is about ranges[i]."""

    htp_work = HtpWork.NONE
    scaled_inputs = (0,)
    encoding_rule = EncodingRule.SAME_AS_INPUT

    ranges: tuple[Range, ...] = tensor(DType.INT_32)
    begin_mask: int = scalar(DType.UINT_32, 0)
    end_mask: int = scalar(DType.UINT_32, 0)
    shrink_axes: int = scalar(DType.UINT_32, 0)
    new_axes_mask: int = scalar(DType.UINT_32, 0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """What is kept of each axis; shrunk axes go, new ones have size 1."""
        shape: list[Dim] = []
        for bit, part in self.parts(inputs[0].shape):
            if part is None:
                shape.append(1)
            elif not self.shrink_axes & bit:
                shape.append(kept(part))
        return (replace(inputs[0], shape=tuple(shape), layout=None),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Basic indexing (a view)."""
        index: list[Any] = []
        for bit, part in self.parts(inputs[0].shape):
            if part is None:
                index.append(None)
            elif self.shrink_axes & bit:
                index.append(int(part[0]))
            else:
                index.append(_as_slice(part))
        return (inputs[0][tuple(index)],)

    def parts(self, shape: Shape) -> list[tuple[int, Range | None]]:
        """Bit and range of each entry, masks applied; None for a new axis."""
        taken = len(self.ranges) - self.new_axes_mask.bit_count()
        if taken != len(shape):
            raise ShapeMismatch(
                f"{taken} ranges are given for the {len(shape)} axes of {list(shape)}",
                do="give one range for each axis",
            )
        found: list[tuple[int, Range | None]] = []
        dims = iter(shape)
        for i, part in enumerate(self.ranges):
            bit = 1 << i
            found.append((bit, None if self.new_axes_mask & bit else self._masked(part, next(dims), bit)))
        return found

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The ranges move with their axes."""
        if self.begin_mask or self.end_mask or self.shrink_axes or self.new_axes_mask:
            return None
        return replace(self, ranges=permute_shape(self.ranges, order)), [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Strides of both signs, and each mask."""
        x = (TensorType((4, 5, 6)),)
        plain = ((1, 3, 1), (0, 5, 2), (5, -1, -2))
        yield Sample("strides", cls(ranges=plain), x)
        yield Sample("empty", cls(ranges=((2, 2, 1), (0, 5, 1), (0, 6, 1))), x)
        yield Sample("masks", cls(ranges=((2, 3, 1), (1, 2, 1), (3, 2, -1)), begin_mask=5, end_mask=2), x)
        yield Sample("shrink", cls(ranges=((1, 2, 1), (0, 5, 1), (2, 3, 1)), shrink_axes=5), x)
        yield Sample("new_axes", cls(ranges=((0, 1, 1), *plain), new_axes_mask=1), x)

    def _masked(self, part: Range, dim: Dim, bit: int) -> Range:
        begin, end, stride = part
        if stride == 0:
            raise ShapeMismatch("a stride is 0", do="use a stride other than 0")
        if self.begin_mask & bit:
            begin = 0 if stride > 0 else dim - 1
        if self.end_mask & bit:
            end = dim if stride > 0 else -1
        if self.shrink_axes & bit:
            end, stride = begin + 1, 1
        numbers = [i for i in (begin, end) if isinstance(i, int)]
        if any(i < -1 or (isinstance(dim, int) and i > dim) for i in numbers):
            raise ShapeMismatch(
                f"range {begin}..{end} leaves an axis of size {dim}", do="use a range inside the axis"
            )
        return begin, end, stride


@register
@dataclass(frozen=True, kw_only=True)
class Split(Op):
    """Parts of a tensor along one axis; split_index holds where the second and later parts begin."""

    htp_work = HtpWork.NONE
    scaled_inputs = (0,)
    outputs = (Port("out[0..m]", is_repeated=True),)
    encoding_rule = EncodingRule.SAME_AS_INPUT

    axis: int = scalar(DType.UINT_32)
    split_index: tuple[Dim, ...] = tensor(DType.UINT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """One type a part."""
        shape = inputs[0].shape
        if not 0 <= self.axis < len(shape):
            raise ShapeMismatch(
                f"axis {self.axis} is outside a tensor of rank {len(shape)}", do="use an axis it has"
            )
        edges = (0, *self.split_index, shape[self.axis])
        sizes = [end - begin for begin, end in pairwise(edges)]
        if any(isinstance(size, int) and size < 0 for size in sizes):
            raise ShapeMismatch(
                f"parts that begin at {list(edges[:-1])} do not fit an axis of size {edges[-1]}",
                do="let each part begin after the one before it",
            )
        return tuple(
            inputs[0].with_shape((*shape[: self.axis], size, *shape[self.axis + 1 :])) for size in sizes
        )

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Views of the parts."""
        if inputs[0].dtype != object:
            self.infer(type_of(inputs[0]))
        return tuple(np.split(inputs[0], [int(i) for i in self.split_index], axis=self.axis))

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axis moves with the others."""
        return replace(self, axis=moved_axis(self.axis, order)), [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Unequal parts, one of them empty."""
        x = (TensorType((2, 7, 3)),)
        yield Sample("three", cls(axis=1, split_index=(2, 3)), x)
        yield Sample("empty_part", cls(axis=2, split_index=(0, 3)), x)


def bounded_range(begin: Dim, end: Dim, stride: int, dim: Dim) -> Range:
    """A range as Python and ONNX write it (negatives count from the back, far ends are cut) made plain."""
    if stride == 0:
        raise ShapeMismatch("step 0 is given, expected another number", do="use a step other than 0")
    low, high = (0, dim) if stride > 0 else (-1, dim - 1)
    first = _placed(begin, dim, max(low, 0), high)
    last = _placed(end, dim, low, high)
    if kept((first, last, stride)) == 0:
        return 0, 0, 1
    return first, last, stride


def kept(part: Range) -> Dim:
    """How many elements a range keeps."""
    begin, end, stride = part
    span = end - begin if stride > 0 else begin - end
    return ceil_div(maximum(span, 0), abs(stride))


def _placed(index: Dim, dim: Dim, low: int, high: Dim) -> Dim:
    """An index counted from the front and cut to what the axis has."""
    if isinstance(index, int) and abs(index) >= FAR:
        return high if index > 0 else low
    if index == low == 0:
        return 0
    return maximum(minimum(_from_front(index, dim), high), low)


def _from_front(index: Dim, dim: Dim) -> Dim:
    low = lower_bound(index)
    if low is not None and low >= 0:
        return index
    if isinstance(index, int):
        return index + dim
    # 1 where the index is negative, else 0: a symbolic index may turn out to be either.
    is_negative = 1 - minimum(maximum(index + 1, 0), 1)
    return index + is_negative * dim


def _as_slice(part: Sequence[Any]) -> slice:
    begin, end, stride = (int(item) for item in part)
    if kept((begin, end, stride)) == 0:
        return slice(0, 0)
    return slice(begin, end if end >= 0 else None, stride)
