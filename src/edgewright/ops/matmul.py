"""Matrix products."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim, Shape, element_count
from edgewright.ir.op import Op, Port, Sample, given, register, scalar
from edgewright.ir.traits import Roles
from edgewright.ir.types import TensorType
from edgewright.ops.broadcast import broadcast_shapes


@dataclass(frozen=True, kw_only=True)
class Product(Op):
    """A product of two matrices with an optional bias that is added to each row."""

    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]", is_required=False))
    is_product = True
    takes_4_bit_weights = True

    def macs(self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> int:
        """One per output element and inner index."""
        assert inputs[1] is not None
        count = element_count((*outputs[0].shape, self._inner(inputs[1])))
        return count if isinstance(count, int) else 0

    def _inner(self, right: TensorType) -> Dim:
        raise NotImplementedError


@register
@dataclass(frozen=True, kw_only=True)
class MatMul(Product):
    """Product of matrices in the last two axes; the axes before them broadcast."""

    # Channels of the left operand are summed up.
    scaled_inputs = (1,)

    transpose_in0: bool = scalar(DType.BOOL_8, False)
    transpose_in1: bool = scalar(DType.BOOL_8, False)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """[..., rows of the left, columns of the right]."""
        if inputs[0].rank < 2 or inputs[1].rank < 2:
            raise ShapeMismatch(
                f"operands are {inputs[0]} and {inputs[1]}, expected matrices", do="add an axis of size 1"
            )
        left = _swapped(inputs[0].shape, self.transpose_in0)
        right = _swapped(inputs[1].shape, self.transpose_in1)
        _check_inner(left[-1], right[-2], inputs)
        _check_bias(given(inputs, 2), right[-1])
        batch = broadcast_shapes(left[:-2], right[:-2])
        return (TensorType((*batch, left[-2], right[-1]), inputs[0].dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """The product plus the bias."""
        left = np.swapaxes(inputs[0], -1, -2) if self.transpose_in0 else inputs[0]
        right = np.swapaxes(inputs[1], -1, -2) if self.transpose_in1 else inputs[1]
        return (_biased(np.matmul(left, right), given(inputs, 2)).astype(inputs[0].dtype, copy=False),)

    @property
    def has_rows(self) -> bool:
        """Where the right operand is transposed."""
        return self.transpose_in1

    def weight_roles(self, inputs: Sequence[TensorType | None]) -> Roles:
        """A stack of matrices has no blocks: they are cut along one axis of two."""
        right = given(inputs, 1)
        rank = 0 if right is None else right.rank
        columns, rows = (rank - 2, rank - 1) if self.transpose_in1 else (rank - 1, rank - 2)
        return Roles(frozenset({1}), frozenset({2}), columns, rows if rank == 2 else None)

    def _inner(self, right: TensorType) -> Dim:
        return _swapped(right.shape, self.transpose_in1)[-2]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, batched, transposed with bias."""
        yield Sample("plain", cls(), (TensorType((3, 4)), TensorType((4, 5))))
        yield Sample("batched", cls(), (TensorType((2, 1, 3, 4)), TensorType((6, 4, 5))))
        turned = cls(transpose_in0=True, transpose_in1=True)
        yield Sample("transposed", turned, (TensorType((4, 3)), TensorType((5, 4)), TensorType((5,))))
        half = cls(transpose_in1=True)
        yield Sample("batched_turned", half, (TensorType((2, 3, 4)), TensorType((2, 5, 4)), None))
        numbers = (TensorType((3, 4), DType.INT_32), TensorType((4, 5), DType.INT_32))
        yield Sample("integers", cls(), numbers)


@register
@dataclass(frozen=True, kw_only=True)
class FullyConnected(Product):
    """x @ weights^T + bias, weights [out, in]; all axes but the last become one unless keep_dims."""

    keep_dims: bool = scalar(DType.BOOL_8, False)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """[batch, out], or the input's shape with the last axis replaced."""
        x, weights = inputs[0], inputs[1]
        if x.rank < 1 or weights.rank != 2:
            raise ShapeMismatch(
                f"activation {x} and weights {weights}, expected [..., in] and [out, in]",
                do="give weights of rank 2",
            )
        units, width = weights.shape
        _check_bias(given(inputs, 2), units)
        if self.keep_dims:
            _check_inner(x.shape[-1], width, inputs)
            return (TensorType((*x.shape[:-1], units), x.dtype),)
        return (TensorType((self._batch(x, width), units), x.dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Rows times transposed weights, plus the bias."""
        x, weights = inputs[0], inputs[1]
        rows = x if self.keep_dims else x.reshape(x.size // max(weights.shape[1], 1), weights.shape[1])
        return (_biased(np.matmul(rows, weights.T), given(inputs, 2)).astype(x.dtype, copy=False),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """With and without bias, folded and kept axes."""
        weights, bias = TensorType((5, 4)), TensorType((5,))
        fixed = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
        yield Sample("plain", cls(), (TensorType((3, 4)), weights))
        yield Sample("bias", cls(), (TensorType((3, 4)), fixed, bias))
        yield Sample("folded", cls(), (TensorType((2, 3, 4)), fixed, bias))
        yield Sample("keep_dims", cls(keep_dims=True), (TensorType((2, 3, 4)), fixed, bias))
        numbers = (TensorType((3, 4), DType.INT_32), TensorType((5, 4), DType.INT_32))
        yield Sample("integers", cls(), numbers)

    @property
    def has_rows(self) -> bool:
        """Always."""
        return True

    def weight_roles(self, inputs: Sequence[TensorType | None]) -> Roles:
        """Rows are output channels."""
        return Roles(frozenset({1}), frozenset({2}), 0, 1)

    def _batch(self, x: TensorType, width: Dim) -> Dim:
        if x.is_static and isinstance(width, int) and (not width or int(x.count) % width):
            raise ShapeMismatch(
                f"activation {x} has {x.count} elements, which do not make rows of {width}",
                do="make the last axis as wide as the weights",
            )
        if x.shape[-1] == width:
            return element_count(x.shape[:-1])
        return x.count // width

    def _inner(self, right: TensorType) -> Dim:
        return right.shape[-1]


def _swapped(shape: Shape, is_swapped: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if is_swapped else shape


def _biased(product: Array, bias: Array | None) -> Array:
    return product if bias is None else product + bias


def _check_inner(left: Dim, right: Dim, operands: Sequence[TensorType]) -> None:
    if isinstance(left, int) and isinstance(right, int) and left != right:
        raise ShapeMismatch(
            f"inner dimensions {left} and {right} of {operands[0]} and {operands[1]} differ",
            do="make them equal, or transpose one operand",
        )


def _check_bias(bias: TensorType | None, units: Dim) -> None:
    if bias is None or (bias.rank == 1 and (bias.shape[0] == units or not bias.is_static)):
        return
    if not (bias.rank == 1 and not isinstance(units, int)):
        raise ShapeMismatch(f"bias is {bias}, expected one number for each of {units} columns")
