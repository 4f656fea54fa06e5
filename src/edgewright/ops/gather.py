"""Picking elements by index, and the indices themselves: gathers, one-hot vectors, places of non-zeros."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Self

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, register, scalar, structural
from edgewright.ir.traits import EncodingRule, HtpPrecision
from edgewright.ir.types import TensorType
from edgewright.ops.axes import moved_axis

PICKING = (Port("in[0]"), Port("in[1]"))


@register
@dataclass(frozen=True, kw_only=True)
class Gather(Op):
    """Slices along one axis, picked by index; negative indices count from the back."""

    inputs = PICKING
    encoding_rule = EncodingRule.SAME_AS_INPUT

    axis: int = scalar(DType.INT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The axis is replaced by the shape of the indices."""
        data, indices = inputs[:2]
        check_axis(self.axis, data)
        shape = (*data.shape[: self.axis], *indices.shape, *data.shape[self.axis + 1 :])
        return (replace(data, shape=shape, layout=None),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Taken; an index outside the axis is an error."""
        data, indices = inputs[:2]
        found = np.take(data, checked_indices(indices, data.shape[self.axis]), axis=self.axis)
        # numpy hands out the element itself where one element is picked from a vector.
        return (np.asarray(found, data.dtype),)

    def check_constants(self, types: Sequence[TensorType | None], known: Sequence[Array | None]) -> None:
        """Indices within the axis."""
        check_known_indices(known[1], types[0], self.axis)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axis moves with the others where the rank stays."""
        if inputs[1].rank != 1:
            return None
        return replace(self, axis=moved_axis(self.axis, order)), [True, False]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Indices of rank 0, 1 and 2, some of them negative."""
        x = TensorType((3, 4, 5))
        yield Sample("vector", cls(axis=1), (x, np.asarray([3, -1, 0], np.int32)))
        yield Sample("matrix", cls(axis=0), (x, np.asarray([[2, 0], [1, 1]], np.int32)))
        yield Sample("number", cls(axis=2), (x, np.asarray(4, np.int64)))
        yield Sample("unsigned", cls(axis=2), (x, np.asarray([4, 0], np.uint32)))


@register
@dataclass(frozen=True, kw_only=True)
class GatherElements(Op):
    """An element for every index: along one axis by index, along the others at the index's own place."""

    inputs = PICKING
    encoding_rule = EncodingRule.SAME_AS_INPUT

    axis: int = scalar(DType.UINT_32, 0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The shape of the indices."""
        check_axis(self.axis, inputs[0])
        check_elements(self.axis, inputs[0].shape, inputs[1].shape)
        return (inputs[0].with_shape(inputs[1].shape),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Taken along the axis."""
        data, indices = inputs[:2]
        window = tuple(slice(None) if a == self.axis else slice(n) for a, n in enumerate(indices.shape))
        places = checked_indices(indices, data.shape[self.axis])
        return (np.take_along_axis(data[window], places, self.axis),)

    def check_constants(self, types: Sequence[TensorType | None], known: Sequence[Array | None]) -> None:
        """Indices within the axis."""
        check_known_indices(known[1], types[0], self.axis)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axis moves with the others."""
        return replace(self, axis=moved_axis(self.axis, order)), [True, True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Fewer indices than elements, some of them negative."""
        x = TensorType((3, 4))
        yield Sample("rows", cls(axis=0), (x, np.asarray([[2, 0, -1], [1, 1, 0]], np.int32)))
        yield Sample("columns", cls(axis=1), (x, np.asarray([[3], [0], [2]], np.int32)))


@register
@dataclass(frozen=True, kw_only=True)
class GatherNd(Op):
    """Slices picked by index tuples (the last axis of the indices); the first batch_dims axes go along."""

    inputs = PICKING
    encoding_rule = EncodingRule.SAME_AS_INPUT

    batch_dims: int = scalar(DType.UINT_32, 0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The shape of the indices without their last axis, then what the tuples leave of the data."""
        data, indices = inputs[:2]
        width = tuple_width(data, indices, self.batch_dims)
        return (
            replace(data, shape=(*indices.shape[:-1], *data.shape[self.batch_dims + width :]), layout=None),
        )

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Advanced indexing with the batch as the first index."""
        data, indices = inputs[:2]
        batch = data.shape[: self.batch_dims]
        width = indices.shape[-1]
        rows = indices.reshape(prod(batch), prod(indices.shape[self.batch_dims : -1]), width)
        flat = data.reshape(rows.shape[0], *data.shape[self.batch_dims :])
        places = [checked_indices(rows[..., i], flat.shape[i + 1]) for i in range(width)]
        found = flat[(np.arange(rows.shape[0])[:, None], *places)]
        rest = data.shape[self.batch_dims + width :]
        return (found.reshape(*batch, *indices.shape[self.batch_dims : -1], *rest),)

    def check_constants(self, types: Sequence[TensorType | None], known: Sequence[Array | None]) -> None:
        """Each index of a tuple within its own axis."""
        check_known_tuples(known[1], types[0], self.batch_dims)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Elements, slices, and a batch."""
        x = TensorType((2, 3, 4))
        yield Sample("elements", cls(), (x, np.asarray([[0, 2, 3], [1, -1, 0]], np.int32)))
        yield Sample("slices", cls(), (x, np.asarray([[[1], [0]]], np.int32)))
        yield Sample("batch", cls(batch_dims=1), (x, np.asarray([[[2, 1]], [[0, 3]]], np.int32)))


@register
@dataclass(frozen=True, kw_only=True)
class BatchPermutation(Op):
    """The slices of the first axis, in the order that the second input names."""

    # It only moves what was quantized before.
    htp_precision = HtpPrecision.UNLISTED
    inputs = PICKING
    encoding_rule = EncodingRule.SAME_AS_INPUT

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """As many slices as there are indices."""
        check_axis(0, inputs[0])
        return (inputs[0].with_shape((inputs[1].count, *inputs[0].shape[1:])),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Taken along the first axis."""
        return (inputs[0][checked_indices(inputs[1], inputs[0].shape[0])],)

    def check_constants(self, types: Sequence[TensorType | None], known: Sequence[Array | None]) -> None:
        """Indices within the first axis."""
        check_known_indices(known[1], types[0], 0)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Three slices."""
        yield Sample("three", cls(), (TensorType((3, 2, 2)), np.asarray([2, 0, 1], np.int32)))


@register
@dataclass(frozen=True, kw_only=True)
class OneHot(Op):
    """on_value at each index along a new axis, off_value elsewhere; an index outside depth lights nothing."""

    # It writes one or two known numbers.
    htp_precision = HtpPrecision.UNLISTED

    depth: int = scalar(DType.UINT_32)
    axis: int | None = scalar(DType.UINT_32, None)
    on_value: float | int | bool = scalar(DType.FLOAT_32, 1.0)
    off_value: float | int | bool = scalar(DType.FLOAT_32, 0.0)
    dtype: DType = structural(DType.FLOAT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The indices' shape with the depth put in."""
        axis = self._axis(inputs[0].rank)
        shape = inputs[0].shape
        if self.depth < 0:
            raise ShapeMismatch(f"depth is {self.depth}, expected 0 or more", do="use a depth of 0 or more")
        return (TensorType((*shape[:axis], self.depth, *shape[axis:]), self.dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Compared with the numbers up to depth; negative indices count from the back."""
        axis = self._axis(inputs[0].ndim)
        indices = np.expand_dims(inputs[0].astype(np.int64), axis)
        places = np.arange(self.depth).reshape([-1 if a == axis else 1 for a in range(indices.ndim)])
        is_lit = np.where(indices < 0, indices + self.depth, indices) == places
        values = np.asarray([self.off_value, self.on_value]).astype(self.dtype.numpy)
        return (values[is_lit.astype(np.int64)],)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The datatype is the output's."""
        return {"dtype": outputs[0].dtype}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """The last axis and the first, with values of their own."""
        indices = np.asarray([[1, 0], [4, -1]], np.int64)
        yield Sample("last", cls(depth=4), (indices,))
        yield Sample("first", cls(depth=5, axis=0, on_value=3.0, off_value=-1.0), (indices,))
        yield Sample("integers", cls(depth=5, on_value=7, dtype=DType.INT_32), (indices,))

    def _axis(self, rank: int) -> int:
        axis = rank if self.axis is None else self.axis
        if not 0 <= axis <= rank:
            raise ShapeMismatch(
                f"axis {axis} does not fit indices of rank {rank}", do=f"use an axis from 0 to {rank}"
            )
        return axis


@register
@dataclass(frozen=True, kw_only=True)
class NonZero(Op):
    """The index tuples of all elements that are not 0, in row-major order: one row each."""

    # How many there are: a symbol of its own where only the data tells.
    count: Dim = structural()
    dtype: DType = structural(DType.INT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """A row of one index per axis for each element found."""
        return (TensorType((self.count, inputs[0].rank), self.dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """As numpy finds them."""
        return (np.argwhere(inputs[0]).astype(self.dtype.numpy),)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """Count and datatype are the output's."""
        return {"count": outputs[0].shape[0], "dtype": outputs[0].dtype}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Three of six."""
        x = np.asarray([[0, 2, 0], [1, 0, -3]], np.float32)
        yield Sample("three", cls(count=3), (x,))
        yield Sample("int64", cls(count=3, dtype=DType.INT_64), (x,))


def checked_indices(indices: Array, size: int) -> Array:
    """Indices as numpy wants them; one outside an axis of ``size`` is an error."""
    if indices.dtype == object:
        raise TypeError("symbolic indices")
    places = indices.astype(np.int64)
    if places.size and not (-size <= places.min() and places.max() < size):
        raise BadInput(
            f"indices from {places.min()} to {places.max()} leave an axis of size {size}",
            do=f"use indices from {-size} to {size - 1}",
        )
    return places


def check_known_indices(indices: Array | None, data: TensorType | None, axis: int) -> None:
    """Indices that are constants must stay within their axis, where its size is a number."""
    size = None if data is None else data.shape[axis]
    if indices is not None and isinstance(size, int) and indices.dtype != object:
        checked_indices(indices, size)


def check_known_tuples(indices: Array | None, data: TensorType | None, batch_dims: int = 0) -> None:
    """The same for tuples of indices, which begin behind the axes of a batch."""
    if indices is not None:
        for place in range(indices.shape[-1]):
            check_known_indices(indices[..., place], data, batch_dims + place)


def check_axis(axis: int, tensor_type: TensorType) -> None:
    """The axis must be one of the tensor's."""
    if not 0 <= axis < tensor_type.rank:
        raise ShapeMismatch(
            f"axis {axis} is outside {tensor_type}", do=f"use an axis from 0 to {tensor_type.rank - 1}"
        )


def check_elements(axis: int, data: Sequence[Dim], indices: Sequence[Dim]) -> None:
    """Indices for single elements: as many axes as the data, none longer than the data's but ``axis``."""
    fits = len(data) == len(indices) and all(
        a == axis or not (isinstance(d, int) and isinstance(i, int)) or i <= d
        for a, (d, i) in enumerate(zip(data, indices, strict=True))
    )
    if not fits:
        raise ShapeMismatch(
            f"indices of shape {list(indices)} do not fit data of shape {list(data)} along axis {axis}",
            do="give indices of the data's rank that are not longer on other axes",
        )


def tuple_width(data: TensorType, indices: TensorType, batch_dims: int = 0) -> int:
    """How many axes of the data one index tuple covers."""
    width = indices.shape[-1] if indices.rank else 0
    if not isinstance(width, int):
        raise ShapeMismatch(
            f"the last axis of the indices {indices} is symbolic, expected a number", do="fix that dimension"
        )
    if not (1 <= width <= data.rank - batch_dims and 0 <= batch_dims < indices.rank):
        raise ShapeMismatch(
            f"indices {indices} with {batch_dims} batch axes do not fit data {data}",
            do="give tuples of 1 to as many indices as the data has other axes",
        )
    return width
