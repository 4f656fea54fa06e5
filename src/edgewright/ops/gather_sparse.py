"""Sparse tensors. In memory they are ordinary ones whose unspecified elements are zero."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, register, structural
from edgewright.ir.traits import EncodingRule
from edgewright.ir.types import TensorType

DENSE = TensorType((4, 5, 2))
PLACES = np.asarray([[0, 1], [2, 3], [3, 4]], np.int32)


@dataclass(frozen=True, kw_only=True)
class _OfShape(Op):
    """An op whose output shape only its output tensor tells."""

    shape: tuple[Dim, ...] = structural()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The stored shape in the datatype of the last input."""
        return (inputs[-1].with_shape(self.shape),)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """The shape is the output's."""
        return {"shape": outputs[0].shape}


@register
@dataclass(frozen=True, kw_only=True)
class CreateSparse(_OfShape):
    """A sparse tensor from index tuples [M, K] and values [M, ...]."""

    inputs = (Port("in[0]"), Port("in[1]"))
    encoding_rule = EncodingRule.SAME_AS_INPUT

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The stored shape, of K axes and those that a value has."""
        indices, values = inputs[:2]
        width = indices.shape[-1] if indices.rank == 2 else 0
        tail = tuple(self.shape[len(self.shape) - values.rank + 1 :])
        fits = values.rank and width == len(self.shape) - values.rank + 1 and values.shape[1:] == tail
        if not fits or indices.shape[0] != values.shape[0]:
            raise ShapeMismatch(
                f"indices {indices} and values {values} do not make shape {list(self.shape)}",
                do="give index tuples [M, K] and values [M, ...]",
            )
        return super().infer(*inputs)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Zeros, and the values at their places."""
        indices, values = inputs
        dense: Array = np.zeros(tuple(int(dim) for dim in self.shape), values.dtype)
        dense[tuple(indices.astype(np.int64).T)] = values
        return (dense,)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Three values of two elements."""
        yield Sample("values", cls(shape=DENSE.shape), (PLACES, TensorType((3, 2))))


@register
@dataclass(frozen=True, kw_only=True)
class GetSparseIndices(_OfShape):
    """The index tuples [M, K] of a sparse tensor, in the order of its elements."""

    dtype: DType = structural(DType.INT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The stored shape, as integers."""
        _check_shape(self.shape, inputs[0], tail=0)
        return (TensorType(self.shape, self.dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Where something is specified."""
        count, width = (int(dim) for dim in self.shape)
        return (_find_places(inputs[0], count, width).astype(self.dtype.numpy),)

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """Shape and datatype are the output's."""
        return {"shape": outputs[0].shape, "dtype": outputs[0].dtype}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """As many tuples as values, and one more."""
        yield Sample("tuples", cls(shape=(3, 2)), (_make_sparse(),))
        yield Sample("more", cls(shape=(4, 2), dtype=DType.UINT_32), (_make_sparse(),))


@register
@dataclass(frozen=True, kw_only=True)
class GetSparseValues(_OfShape):
    """The values [M, ...] of a sparse tensor, in the order of its elements."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The stored shape."""
        _check_shape(self.shape, inputs[0], tail=len(self.shape) - 1)
        return super().infer(*inputs)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """What stands at its places."""
        x = inputs[0]
        places = _find_places(x, int(self.shape[0]), x.ndim - len(self.shape) + 1)
        return (x[tuple(places.T)],)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Three values of two elements, and single ones."""
        yield Sample("values", cls(shape=(3, 2)), (_make_sparse(),))
        yield Sample("single", cls(shape=(6,)), (_make_sparse(),))


@register
@dataclass(frozen=True, kw_only=True)
class SparseToDense(Op):
    """A sparse tensor as an ordinary one."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The same type."""
        return (inputs[0],)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """It is one already."""
        return (inputs[0],)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A plain one."""
        yield Sample("plain", cls(), (DENSE,))


def _check_shape(shape: tuple[Dim, ...], sparse: TensorType, tail: int) -> None:
    """Refuses a stored shape [M, K] or [M, ...] that no part of a sparse tensor has."""
    width = sparse.rank - tail if tail or len(shape) != 2 else shape[1]
    fits = (
        isinstance(width, int)
        and 0 < width <= sparse.rank
        and (not tail or shape[1:] == sparse.shape[width:])
    )
    if not fits:
        raise ShapeMismatch(
            f"shape {list(shape)} for the sparse tensor {sparse} does not fit",
            do="give index tuples [M, K] and values [M, ...]",
        )


def _find_places(dense: Array, count: int, width: int) -> Array:
    """Index tuples [count, width]: of what is not zero, then of zeros, which are as good as specified."""
    slices = dense.reshape(*dense.shape[:width], -1).any(-1)
    order = np.argsort(~slices.reshape(-1), kind="stable")[:count]
    if count < slices.sum():
        raise ValueError(f"{int(slices.sum())} values are specified, there is room for {count}")
    return np.stack(np.unravel_index(np.sort(order), slices.shape), -1)


def _make_sparse() -> Array:
    dense = np.zeros(DENSE.static_shape(), np.float32)
    dense[tuple(PLACES.T)] = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    return dense
