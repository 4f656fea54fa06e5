"""Matrix products."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Shape, element_count
from edgewright.ir.op import Op, Port, Sample, given, register, scalar
from edgewright.ir.types import TensorType
from edgewright.ops.broadcast import broadcast_shapes

__all__ = ["MatMul"]


@register
@dataclass(frozen=True, kw_only=True)
class MatMul(Op):
    """Product of matrices in the last two axes; the axes before them broadcast."""

    inputs = (Port("in[0]"), Port("in[1]"), Port("in[2]", is_required=False))

    transpose_in0: bool = scalar(DType.BOOL_8, False)
    transpose_in1: bool = scalar(DType.BOOL_8, False)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """[..., rows of the left, columns of the right]."""
        left = _swapped(inputs[0].shape, self.transpose_in0)
        right = _swapped(inputs[1].shape, self.transpose_in1)
        if isinstance(left[-1], int) and isinstance(right[-2], int) and left[-1] != right[-2]:
            raise ShapeMismatch(
                f"inner dimensions {left[-1]} and {right[-2]} of {inputs[0]} and {inputs[1]} differ",
                do="make them equal, or transpose one operand",
            )
        batch = broadcast_shapes(left[:-2], right[:-2])
        return (TensorType((*batch, left[-2], right[-1]), inputs[0].dtype),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """a @ b + bias."""
        left = np.swapaxes(inputs[0], -1, -2) if self.transpose_in0 else inputs[0]
        right = np.swapaxes(inputs[1], -1, -2) if self.transpose_in1 else inputs[1]
        product, bias = np.matmul(left, right), given(inputs, 2)
        return ((product if bias is None else product + bias).astype(inputs[0].dtype),)

    def macs(self, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]) -> int:
        """One per output element and inner index."""
        assert inputs[0] is not None
        count = element_count((*outputs[0].shape, _swapped(inputs[0].shape, self.transpose_in0)[-1]))
        return count if isinstance(count, int) else 0

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Plain, batched, transposed with bias."""
        yield Sample("plain", cls(), (TensorType((3, 4)), TensorType((4, 5))))
        yield Sample("batched", cls(), (TensorType((2, 1, 3, 4)), TensorType((6, 4, 5))))
        turned = cls(transpose_in0=True, transpose_in1=True)
        yield Sample("transposed", turned, (TensorType((4, 3)), TensorType((5, 4)), TensorType((5,))))


def _swapped(shape: Shape, is_swapped: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if is_swapped else shape
