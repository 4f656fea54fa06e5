"""Moving blocks between space, depth and batch, channel last; shuffles, buffers, the Hadamard transform."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Self

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.dims import Dim
from edgewright.ir.op import Op, Port, Sample, given, register, scalar, tensor
from edgewright.ir.traits import EncodingRule, HtpPrecision
from edgewright.ir.types import TensorType
from edgewright.ops.axes import moved_axis

Pair = tuple[int, int]
NO_PAIRS = ((0, 0), (0, 0))


class BlockMode(IntEnum):
    """How depth is ordered: block place before channel (DCR), or after it (CRD)."""

    DCR = 0
    CRD = 1


@dataclass(frozen=True, kw_only=True)
class _Blocks(Op):
    """An op on [batch, height, width, depth] that moves blocks of block_size."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    block_size: Pair = tensor(DType.UINT_32)

    def _dims(self, tensor_type: TensorType) -> tuple[Dim, Dim, Dim, Dim]:
        if tensor_type.rank != 4:
            raise ShapeMismatch(f"{tensor_type} has rank {tensor_type.rank}, expected 4", do="reshape it")
        if min(self.block_size) < 1:
            raise ShapeMismatch(
                f"block_size {list(self.block_size)} is below 1", do="use block sizes of 1 or more"
            )
        n, h, w, c = tensor_type.shape
        return n, h, w, c


def _divided(dim: Dim, divisor: int, what: str) -> Dim:
    if isinstance(dim, int) and dim % divisor:
        raise ShapeMismatch(f"{what} {dim} is no multiple of {divisor}", do="choose another block size")
    return dim // divisor


@register
@dataclass(frozen=True, kw_only=True)
class DepthToSpace(_Blocks):
    """Blocks of depth become blocks of space."""

    mode: BlockMode = scalar(DType.UINT_32, BlockMode.DCR)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Height and width grow, depth shrinks."""
        n, h, w, c = self._dims(inputs[0])
        bh, bw = self.block_size
        return (inputs[0].with_shape((n, h * bh, w * bw, _divided(c, bh * bw, "depth"))),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Two reshapes around a transpose."""
        n, h, w, c = inputs[0].shape
        bh, bw = self.block_size
        depth = c // (bh * bw)
        if self.mode == BlockMode.DCR:
            parts = inputs[0].reshape(n, h, w, bh, bw, depth).transpose(0, 1, 3, 2, 4, 5)
        else:
            parts = inputs[0].reshape(n, h, w, depth, bh, bw).transpose(0, 1, 4, 2, 5, 3)
        return (parts.reshape(n, h * bh, w * bw, depth),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Both orders, and a block that is no square."""
        x = (TensorType((2, 3, 4, 12)),)
        yield Sample("dcr", cls(block_size=(2, 2)), x)
        yield Sample("crd", cls(block_size=(2, 2), mode=BlockMode.CRD), x)
        yield Sample("oblong", cls(block_size=(1, 3), mode=BlockMode.CRD), x)


@register
@dataclass(frozen=True, kw_only=True)
class SpaceToDepth(_Blocks):
    """Blocks of space become blocks of depth."""

    mode: BlockMode = scalar(DType.UINT_32, BlockMode.DCR)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Height and width shrink, depth grows."""
        n, h, w, c = self._dims(inputs[0])
        bh, bw = self.block_size
        sizes = (n, _divided(h, bh, "height"), _divided(w, bw, "width"), c * (bh * bw))
        return (inputs[0].with_shape(sizes),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Two reshapes around a transpose."""
        n, h, w, c = inputs[0].shape
        bh, bw = self.block_size
        parts = inputs[0].reshape(n, h // bh, bh, w // bw, bw, c)
        order = (0, 1, 3, 2, 4, 5) if self.mode == BlockMode.DCR else (0, 1, 3, 5, 2, 4)
        return (parts.transpose(order).reshape(n, h // bh, w // bw, c * bh * bw),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Both orders, and a block that is no square."""
        x = (TensorType((2, 4, 6, 3)),)
        yield Sample("dcr", cls(block_size=(2, 2)), x)
        yield Sample("crd", cls(block_size=(2, 2), mode=BlockMode.CRD), x)
        yield Sample("oblong", cls(block_size=(4, 3)), x)


@register
@dataclass(frozen=True, kw_only=True)
class BatchToSpace(_Blocks):
    """Blocks of the batch become blocks of space, which is then cropped."""

    crops: tuple[Pair, Pair] = tensor(DType.UINT_32, NO_PAIRS)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Height and width grow and are cropped, the batch shrinks."""
        n, h, w, c = self._dims(inputs[0])
        bh, bw = self.block_size
        sizes = (h * bh - sum(self.crops[0]), w * bw - sum(self.crops[1]))
        if any(isinstance(size, int) and size < 0 for size in sizes):
            raise ShapeMismatch(f"crops {self.crops} take more than there is", do="crop less")
        return (inputs[0].with_shape((_divided(n, bh * bw, "batch"), *sizes, c)),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Two reshapes around a transpose, then a crop."""
        n, h, w, c = inputs[0].shape
        bh, bw = self.block_size
        parts = inputs[0].reshape(bh, bw, n // (bh * bw), h, w, c).transpose(2, 3, 0, 4, 1, 5)
        whole = parts.reshape(n // (bh * bw), h * bh, w * bw, c)
        (top, bottom), (left, right) = self.crops
        return (whole[:, top : h * bh - bottom, left : w * bw - right],)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """With and without crops."""
        x = (TensorType((8, 3, 2, 5)),)
        yield Sample("plain", cls(block_size=(2, 2)), x)
        yield Sample("crops", cls(block_size=(4, 2), crops=((1, 2), (0, 1))), x)


@register
@dataclass(frozen=True, kw_only=True)
class SpaceToBatch(_Blocks):
    """Space, padded with zeros, in blocks that become part of the batch."""

    pad_amount: tuple[Pair, Pair] = tensor(DType.UINT_32, NO_PAIRS)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """Height and width shrink, the batch grows."""
        n, h, w, c = self._dims(inputs[0])
        bh, bw = self.block_size
        height = _divided(h + sum(self.pad_amount[0]), bh, "padded height")
        width = _divided(w + sum(self.pad_amount[1]), bw, "padded width")
        return (inputs[0].with_shape((n * (bh * bw), height, width, c)),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """A pad, then two reshapes around a transpose."""
        x = np.pad(inputs[0], ((0, 0), *self.pad_amount, (0, 0)))
        n, h, w, c = x.shape
        bh, bw = self.block_size
        parts = x.reshape(n, h // bh, bh, w // bw, bw, c).transpose(2, 4, 0, 1, 3, 5)
        return (parts.reshape(n * bh * bw, h // bh, w // bw, c),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """With and without padding."""
        yield Sample("plain", cls(block_size=(2, 2)), (TensorType((2, 4, 6, 3)),))
        padded = cls(block_size=(2, 3), pad_amount=((1, 0), (0, 1)))
        yield Sample("padded", padded, (TensorType((1, 3, 5, 2)),))


@register
@dataclass(frozen=True, kw_only=True)
class ChannelShuffle(Op):
    """An axis read as [num_groups, rest] and written as [rest, num_groups]."""

    encoding_rule = EncodingRule.SAME_AS_INPUT

    num_groups: int = scalar(DType.UINT_32)
    axis: int | None = scalar(DType.UINT_32, None)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The same type."""
        axis = inputs[0].rank - 1 if self.axis is None else self.axis
        if not 0 <= axis < inputs[0].rank or self.num_groups < 1:
            raise ShapeMismatch(
                f"{self.num_groups} groups on axis {axis} do not fit {inputs[0]}",
                do="use 1 group or more on an axis it has",
            )
        _divided(inputs[0].shape[axis], self.num_groups, "number of channels")
        return (inputs[0],)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Two reshapes around a transpose of the last axis."""
        axis = inputs[0].ndim - 1 if self.axis is None else self.axis
        last = np.moveaxis(inputs[0], axis, -1)
        groups = last.reshape(*last.shape[:-1], self.num_groups, -1)
        return (np.moveaxis(np.swapaxes(groups, -1, -2).reshape(last.shape), -1, axis),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axis moves with the others."""
        axis = inputs[0].rank - 1 if self.axis is None else self.axis
        return replace(self, axis=moved_axis(axis, order)), [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """The last axis, and another."""
        yield Sample("last", cls(num_groups=3), (TensorType((1, 2, 2, 12)),))
        yield Sample("axis", cls(num_groups=2, axis=1), (TensorType((1, 6, 2)),))


class BufferMode(IntEnum):
    """Whether a buffer waits until it is full, and on which side its frames stand until then."""

    BLOCKING = 0
    NON_BLOCKING_LEFT = 1
    NON_BLOCKING_RIGHT = 2


@register
@dataclass(frozen=True, kw_only=True)
class Buffer(Op):
    """A queue of frames that lives from run to run; outside of a session every run is the first.

    A full queue drops ``stride`` of its oldest frames before it takes new ones. Until it is full its frames
    stand at the left or at the right, beside zeros; a blocking one gives nothing: the run ends early.
    """

    # It only moves what was quantized before.
    htp_precision = HtpPrecision.UNLISTED
    inputs = (Port("in[0]"), Port("in[1]", is_required=False))
    encoding_rule = EncodingRule.SAME_AS_INPUT
    is_pure = False

    buffer_size: int = scalar(DType.UINT_32)
    buffer_dim: int = scalar(DType.UINT_32)
    stride: int = scalar(DType.UINT_32, 1)
    mode: BufferMode = scalar(DType.UINT_32, BufferMode.BLOCKING)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The queue's whole length along its axis."""
        if not 0 <= self.buffer_dim < inputs[0].rank:
            raise ShapeMismatch(
                f"buffer_dim {self.buffer_dim} is outside {inputs[0]}", do="use an axis that it has"
            )
        shape = list(inputs[0].shape)
        new = shape[self.buffer_dim]
        if isinstance(new, int) and (new < 1 or self.buffer_size % new):
            raise ShapeMismatch(
                f"a buffer of {self.buffer_size} frames cannot take {new} at a time",
                do="give it a size that is a multiple of them",
            )
        shape[self.buffer_dim] = self.buffer_size
        return (inputs[0].with_shape(shape),)

    def begin_session(self) -> Self:
        """The op with an empty queue."""
        started = replace(self)
        object.__setattr__(started, "_queue", [])
        return started

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """What the queue holds after the new frames."""
        x, reset = inputs[0], given(inputs, 1)
        queue: list[Array] = getattr(self, "_queue", [])
        if reset is not None and np.asarray(reset).any():
            queue.clear()
        frames = self._append(queue[0], x) if queue else x
        queue[:] = [frames]
        missing = self.buffer_size - frames.shape[self.buffer_dim]
        if missing > 0 and self.mode == BufferMode.BLOCKING:
            raise BadInput(
                f"the buffer holds {self.buffer_size - missing} of {self.buffer_size} frames",
                do="run the next frames: it gives its first result when it is full",
            )
        side = (0, missing) if self.mode == BufferMode.NON_BLOCKING_LEFT else (missing, 0)
        pads = [side if axis == self.buffer_dim else (0, 0) for axis in range(x.ndim)]
        return (np.pad(frames, pads),)

    def _append(self, held: Array, x: Array) -> Array:
        axis, new = self.buffer_dim, x.shape[self.buffer_dim]
        if held.shape[axis] + new > self.buffer_size:
            held = np.take(held, range(max(self.stride, new), held.shape[axis]), axis)
        return np.concatenate([held, x], axis)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """A queue that is full at once, and two that are not."""
        x = (TensorType((1, 2, 5)),)
        yield Sample("frames", cls(buffer_size=2, buffer_dim=1, stride=2), x)
        left, right = BufferMode.NON_BLOCKING_LEFT, BufferMode.NON_BLOCKING_RIGHT
        yield Sample("left", cls(buffer_size=8, buffer_dim=1, stride=2, mode=left), x)
        yield Sample("right", cls(buffer_size=10, buffer_dim=2, stride=5, mode=right), x)


@register
@dataclass(frozen=True, kw_only=True)
class HadamardTransform(Op):
    """Walsh-Hadamard transform of the last axis, in natural order, times scale."""

    htp_precision = HtpPrecision.FLOAT

    scale: float = scalar(DType.FLOAT_32, 1.0)

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The same type."""
        size = inputs[0].shape[-1] if inputs[0].rank else 0
        if isinstance(size, int) and (size < 1 or size & (size - 1)):
            raise ShapeMismatch(f"the last axis of {inputs[0]} is no power of two", do="pad it to one")
        return (inputs[0],)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Sums and differences of halves, doubled each round."""
        size = inputs[0].shape[-1]
        result = inputs[0].astype(np.float64).reshape(-1, size)
        half = 1
        while half < size:
            pairs = result.reshape(-1, size // (2 * half), 2, half)
            sums, differences = pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]
            result = np.stack([sums, differences], axis=2).reshape(-1, size)
            half *= 2
        return ((result * self.scale).reshape(inputs[0].shape).astype(inputs[0].dtype),)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Eight elements."""
        yield Sample("eight", cls(scale=0.5), (TensorType((2, 8)),))
