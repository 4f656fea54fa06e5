"""Sparse tensors: ops that are known by their signatures and shape rules alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, register, structural
from edgewright.ir.traits import EncodingRule
from edgewright.ir.types import TensorType

DENSE = TensorType((4, 5, 2))


@dataclass(frozen=True, kw_only=True)
class _OfShape(Op):
    """An op whose output shape only its output tensor tells."""

    shape: tuple[Dim, ...] = structural()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The stored shape in the datatype of the last input."""
        return (inputs[-1].with_shape(self.shape),)

    @classmethod
    def structure(
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
        if width != len(self.shape) - values.rank + 1:
            raise ShapeMismatch(
                f"indices {indices} and values {values} do not make shape {list(self.shape)}",
                do="give index tuples [M, K] and values [M, ...]",
            )
        return super().infer(*inputs)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Three values of two elements."""
        indices, values = TensorType((3, 2), DType.INT_32), TensorType((3, 2))
        yield Sample("values", cls(shape=DENSE.shape), (indices, values))


@register
@dataclass(frozen=True, kw_only=True)
class GetSparseIndices(_OfShape):
    """The index tuples [M, K] of a sparse tensor."""

    dtype: DType = structural(DType.INT_32)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The stored shape, as integers."""
        return (TensorType(self.shape, self.dtype),)

    @classmethod
    def structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """Shape and datatype are the output's."""
        return {"shape": outputs[0].shape, "dtype": outputs[0].dtype}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Three tuples."""
        yield Sample("tuples", cls(shape=(3, 2)), (DENSE,))


@register
@dataclass(frozen=True, kw_only=True)
class GetSparseValues(_OfShape):
    """The values [M, ...] of a sparse tensor."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Three values."""
        yield Sample("values", cls(shape=(3, 2)), (DENSE,))


@register
@dataclass(frozen=True, kw_only=True)
class SparseToDense(Op):
    """A sparse tensor as an ordinary one."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The same type."""
        return (inputs[0],)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A plain one."""
        yield Sample("plain", cls(), (DENSE,))
