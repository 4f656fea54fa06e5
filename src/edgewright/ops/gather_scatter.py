"""Writing elements by index: scatters with and without a reduction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Self

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import Op, Port, Sample, register, scalar
from edgewright.ir.types import TensorType
from edgewright.ops.axes import moved_axis
from edgewright.ops.gather import (
    check_axis,
    check_elements,
    check_known_indices,
    check_known_tuples,
    checked_indices,
    tuple_width,
)

WRITING = (Port("in[0]"), Port("in[1]"), Port("in[2]"))


class Reduction(IntEnum):
    """What an update does to the element it meets."""

    NONE = 0
    ADD = 1
    MUL = 2


_UFUNCS = {Reduction.ADD: np.add, Reduction.MUL: np.multiply}


@register
@dataclass(frozen=True, kw_only=True)
class ScatterElements(Op):
    """A copy of the data with single elements updated, each along one axis at its index."""

    inputs = WRITING

    axis: int = scalar(DType.UINT_32, 0)
    reduction: Reduction = scalar(DType.UINT_32, Reduction.NONE)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the data."""
        data, indices, updates = inputs[:3]
        check_axis(self.axis, data)
        check_elements(self.axis, data.shape, indices.shape)
        if indices.is_static and updates.is_static and indices.shape != updates.shape:
            raise ShapeMismatch(
                f"{updates} updates are given for indices of {list(indices.shape)}",
                do="give one update for each index",
            )
        return (data,)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Updates in row-major order; among equal indices the last one stays."""
        data, indices, updates = inputs[:3]
        places: list[Any] = list(np.indices(indices.shape, sparse=True))
        places[self.axis] = checked_indices(indices, data.shape[self.axis])
        return (_scattered(data, tuple(places), updates, self.reduction),)

    def check_constants(self, types: Sequence[TensorType | None], known: Sequence[Array | None]) -> None:
        """Indices within the axis."""
        check_known_indices(known[1], types[0], self.axis)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axis moves with the others; which of equal indices comes last would change."""
        if self.reduction == Reduction.NONE:
            return None
        return replace(self, axis=moved_axis(self.axis, order)), [True, True, True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Each reduction; equal indices where their order does not matter."""
        x, updates = TensorType((3, 4)), TensorType((2, 3))
        once = np.asarray([[2, 0, -1], [1, 1, 0]], np.int32)
        twice = np.asarray([[1, 1, 0], [1, 2, 0]], np.int32)
        yield Sample("none", cls(), (x, once, updates))
        yield Sample("add", cls(reduction=Reduction.ADD), (x, twice, updates))
        yield Sample("mul", cls(axis=1, reduction=Reduction.MUL), (x, twice, updates))


@register
@dataclass(frozen=True, kw_only=True)
class ScatterNd(Op):
    """A copy of the data with slices updated, each at its index tuple (the last axis of the indices)."""

    inputs = WRITING

    reduction: Reduction = scalar(DType.UINT_32, Reduction.NONE)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the data."""
        data, indices, updates = inputs[:3]
        expected = (*indices.shape[:-1], *data.shape[tuple_width(data, indices) :])
        if len(expected) != updates.rank or any(
            a != b
            for a, b in zip(expected, updates.shape, strict=True)
            if isinstance(a, int) and isinstance(b, int)
        ):
            raise ShapeMismatch(
                f"updates of {updates} are given, expected shape {list(expected)}",
                do="give one slice for each index tuple",
            )
        return (data,)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Updates in row-major order; among equal tuples the last one stays."""
        data, indices, updates = inputs[:3]
        places = tuple(checked_indices(indices[..., i], data.shape[i]) for i in range(indices.shape[-1]))
        return (_scattered(data, places, updates, self.reduction),)

    def check_constants(self, types: Sequence[TensorType | None], known: Sequence[Array | None]) -> None:
        """Each index of a tuple within its own axis."""
        check_known_tuples(known[1], types[0])

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Elements and slices, each reduction."""
        x = TensorType((4, 3))
        tuples = np.asarray([[0, 2], [3, -1]], np.int32)
        twice = np.asarray([[1], [1], [3]], np.int32)
        yield Sample("none", cls(), (x, tuples, TensorType((2,))))
        yield Sample("add", cls(reduction=Reduction.ADD), (x, twice, TensorType((3, 3))))
        yield Sample("mul", cls(reduction=Reduction.MUL), (x, twice, TensorType((3, 3))))


def _scattered(data: Array, places: tuple[Any, ...], updates: Array, reduction: Reduction) -> Array:
    result = np.array(data)
    if reduction == Reduction.NONE:
        result[places] = updates
    else:
        _UFUNCS[reduction].at(result, places, updates)
    return result
