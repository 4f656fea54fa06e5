"""The type of a value: shape, datatype, layout and, for fixed-point values, its encoding."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, Shape, element_count, is_static
from edgewright.ir.encodings import Encoding


@dataclass(frozen=True)
class TensorType:
    """What is known about a value before it is computed."""

    shape: Shape
    dtype: DType = DType.FLOAT_32
    layout: str | None = None
    encoding: Encoding | None = None

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dimension is a number."""
        return is_static(self.shape)

    @property
    def count(self) -> Dim:
        """Number of elements."""
        return element_count(self.shape)

    @property
    def symbols(self) -> frozenset[str]:
        """Names of the symbolic dimensions it depends on."""
        return frozenset().union(*(dim.symbols for dim in self.shape if not isinstance(dim, int)))

    def static_shape(self) -> tuple[int, ...]:
        """The shape as numbers; a symbolic one is an error of the caller."""
        return tuple(int(dim) for dim in self.shape)

    def with_shape(self, shape: Iterable[Dim]) -> "TensorType":
        """The same type with another shape."""
        return replace(self, shape=tuple(shape))

    def with_dtype(self, dtype: DType) -> "TensorType":
        """The same type with another datatype; the encoding is dropped."""
        return replace(self, dtype=dtype, encoding=None)

    def permuted(self, order: Sequence[int]) -> "TensorType":
        """The type of the value transposed by ``order``."""
        encoding = None if self.encoding is None else self.encoding.permuted(order)
        return replace(self, shape=tuple(self.shape[axis] for axis in order), layout=None, encoding=encoding)

    def __str__(self) -> str:
        dims = ",".join(str(dim) for dim in self.shape)
        return f"{self.dtype.name.lower()}[{dims}]"


def type_of(array: Array) -> TensorType:
    """The type of an array (plain, without encoding)."""
    return TensorType(tuple(np.shape(array)), DType.of(array.dtype))
