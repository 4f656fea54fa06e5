"""Axes of a tensor: normalising them, and following them through a permutation."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from edgewright.core.errors import ShapeMismatch

T = TypeVar("T")


def normal_axis(axis: int, rank: int) -> int:
    """The axis counted from the front; negative ones count from the back."""
    if not -rank <= axis < max(rank, 1):
        raise ShapeMismatch(
            f"axis {axis} is outside a tensor of rank {rank}", do=f"use an axis from {-rank} to {rank - 1}"
        )
    return axis + rank if axis < 0 else axis


def normal_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Several axes counted from the front, sorted, each once."""
    return tuple(sorted({normal_axis(axis, rank) for axis in axes}))


def normalize_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Several axes counted from the front, in their order; one that is named twice is an error."""
    places = tuple(normal_axis(axis, rank) for axis in axes)
    if len(set(places)) != len(places):
        raise ShapeMismatch(f"axes {list(places)} name one axis twice", do="name each axis once")
    return places


def moved_axis(axis: int, order: Sequence[int]) -> int:
    """Where an axis stands after a transpose by ``order``."""
    return tuple(order).index(axis)


def permute_shape(shape: Sequence[T], order: Sequence[int]) -> tuple[T, ...]:
    """The shape after a transpose by ``order``."""
    return tuple(shape[axis] for axis in order)
