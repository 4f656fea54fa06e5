"""Attention as one op."""

from collections.abc import Iterator
from dataclasses import dataclass

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import DType
from edgewright.ir.op import Op, Port, Sample, register, scalar
from edgewright.ir.types import TensorType


@register
@dataclass(frozen=True, kw_only=True)
class GroupQueryAttention(Op):
    """Attention whose heads share keys and values in groups. Known by its signature: no frontend makes it."""

    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]"))

    num_heads: int | None = scalar(DType.UINT_32, None)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the query."""
        query, key, value = inputs
        if len({query.rank, key.rank, value.rank}) != 1 or query.rank < 3:
            raise ShapeMismatch(
                f"query, key and value are {query}, {key} and {value}, expected equal ranks of 3 or more"
            )
        return (query,)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Eight heads on two."""
        small = TensorType((1, 6, 8))
        yield Sample("groups", cls(num_heads=8), (TensorType((1, 4, 32)), small, small))
