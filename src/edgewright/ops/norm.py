"""Normalisations over chosen axes, and the per-channel scaling that a folded batch norm is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.op import FLOATS, Op, Port, Sample, given, register, scalar, tensor
from edgewright.ir.traits import HtpWork, Roles
from edgewright.ir.types import TensorType
from edgewright.ops.axes import moved_axis
from edgewright.ops.elementwise import widened


@dataclass(frozen=True, kw_only=True)
class Norm(Op):
    """Any op that scales its input by statistics or weights and keeps the shape."""

    htp_work = HtpWork.STATISTICS
    inputs = (Port("in[0]", FLOATS), Port("in[1]", is_required=False), Port("in[2]", is_required=False))

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the input."""
        x = inputs[0]
        self.check(x)
        for index in (1, 2):
            weight = given(inputs, index)
            if weight is not None:
                self.check_weight(x, weight)
        return (TensorType(x.shape, x.dtype, x.layout),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Normalised, times gamma, plus beta; small floats are widened meanwhile."""
        result = self.normalized(widened(inputs[0]))
        gamma, beta = given(inputs, 1), given(inputs, 2)
        if gamma is not None:
            result = result * self.aligned(gamma, result.ndim)
        if beta is not None:
            result = result + self.aligned(beta, result.ndim)
        return (result.astype(inputs[0].dtype),)

    def weight_roles(self, inputs: Sequence[TensorType | None]) -> Roles:
        """The gain is an operand of the size of an activation; nothing is multiplied up behind it."""
        return Roles(biases=frozenset({2}))

    def check(self, x: TensorType) -> None:
        """Refuses an activation that the parameters do not fit."""
        if x.rank < 1:
            raise ShapeMismatch(f"{x} has no channel axis", do="give a tensor of at least one axis")

    def check_weight(self, x: TensorType, weight: TensorType) -> None:
        """Weights have one element a channel."""
        if weight.rank != 1 or not _fits(weight.shape[0], x.shape[-1]):
            raise ShapeMismatch(
                f"weights {weight} do not fit the channels of {x}", do=f"give them the shape [{x.shape[-1]}]"
            )

    def normalized(self, x: Array) -> Array:
        """What gamma and beta are applied to."""
        return x

    def aligned(self, weight: Array, rank: int) -> Array:
        """Weights in a shape that broadcasts against the activation."""
        del rank
        return widened(weight)


@register
@dataclass(frozen=True, kw_only=True)
class Batchnorm(Norm):
    """x * weight + bias for each channel: what is left of a batch norm once its statistics are folded in."""

    has_even_ties_on_htp = False

    htp_work = HtpWork.NONE
    inputs = (Port("in[0]", FLOATS), Port("in[1]"), Port("in[2]", is_required=False))

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """Any order that leaves the channels last."""
        return (self, _only_first(inputs)) if order[-1] == len(order) - 1 else None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """With and without bias."""
        x, weight = TensorType((2, 3, 4, 5)), TensorType((5,))
        yield Sample("plain", cls(), (x, weight, weight))
        yield Sample("no_bias", cls(), (x, weight))
        yield Sample("vectors", cls(), (TensorType((3, 5)), weight, weight))


@dataclass(frozen=True, kw_only=True)
class AxesNorm(Norm):
    """A normalisation over several axes, with weights of the shape of these axes."""

    axes: tuple[int, ...] = tensor(DType.UINT_32)

    def check(self, x: TensorType) -> None:
        """Each axis exists, once, in order."""
        axes = list(self.axes)
        if not axes or axes != sorted(set(axes)) or not 0 <= axes[0] <= axes[-1] < x.rank:
            raise ShapeMismatch(
                f"axes {axes} are not ascending axes of {x}", do=f"use axes from 0 to {x.rank - 1}, each once"
            )

    def check_weight(self, x: TensorType, weight: TensorType) -> None:
        """Weights have the shape of the normalised axes."""
        wanted = [x.shape[axis] for axis in self.axes]
        if weight.rank != len(wanted) or not all(map(_fits, weight.shape, wanted)):
            raise ShapeMismatch(
                f"weights {weight} do not fit axes {list(self.axes)} of {x}",
                do=f"give them the shape [{','.join(map(str, wanted))}]",
            )

    def aligned(self, weight: Array, rank: int) -> Array:
        """Ones where an axis is not normalised."""
        shape = [1] * rank
        for axis, dim in zip(self.axes, weight.shape, strict=True):
            shape[axis] = dim
        return widened(weight).reshape(shape)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axes move with the others, as long as they stay in the order of the weights' axes."""
        axes = tuple(moved_axis(axis, order) for axis in self.axes)
        return (replace(self, axes=axes), _only_first(inputs)) if sorted(axes) == list(axes) else None


@register
@dataclass(frozen=True, kw_only=True)
class LayerNorm(AxesNorm):
    """(x - mean) / sqrt(variance + epsilon) over axes, times gamma, plus beta."""

    epsilon: float = scalar(DType.FLOAT_32, 0.001)

    def normalized(self, x: Array) -> Array:
        """Of mean 0 and variance 1."""
        centred = x - x.mean(axis=self.axes, keepdims=True)
        variance = np.square(centred).mean(axis=self.axes, keepdims=True)
        result: Array = centred / np.sqrt(variance + np.asarray(self.epsilon, x.dtype))
        return result

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Last axis, several axes, inner axes, without weights."""
        x = TensorType((2, 3, 4, 5))
        yield Sample("last", cls(axes=(3,)), (x, TensorType((5,)), TensorType((5,))))
        yield Sample("two", cls(axes=(2, 3), epsilon=1e-5), (x, TensorType((4, 5)), TensorType((4, 5))))
        yield Sample("inner", cls(axes=(1, 2)), (x, TensorType((3, 4))))
        yield Sample("plain", cls(axes=(1, 2, 3)), (x,))
        yield Sample("beta_only", cls(axes=(3,)), (x, None, TensorType((5,))))


@register
@dataclass(frozen=True, kw_only=True)
class RmsNorm(AxesNorm):
    """x / sqrt(mean of squares + epsilon) over axes, times gamma, plus beta."""

    epsilon: float = scalar(DType.FLOAT_32, 1e-6)

    def normalized(self, x: Array) -> Array:
        """Of mean square 1."""
        square = np.square(x).mean(axis=self.axes, keepdims=True)
        result: Array = x / np.sqrt(square + np.asarray(self.epsilon, x.dtype))
        return result

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Last axis, several axes, inner axis with beta, without weights."""
        x = TensorType((2, 3, 4))
        yield Sample("last", cls(axes=(2,)), (x, TensorType((4,))))
        yield Sample("two", cls(axes=(1, 2), epsilon=1e-3), (x, TensorType((3, 4))))
        yield Sample("beta", cls(axes=(1,)), (x, TensorType((3,)), TensorType((3,))))
        yield Sample("plain", cls(axes=(2,)), (x,))


@register
@dataclass(frozen=True, kw_only=True)
class L2Norm(Op):
    """x / max(length over axes, epsilon); ``axes`` wins over ``axis`` where both are given."""

    htp_work = HtpWork.STATISTICS
    inputs = (Port("in[0]", FLOATS),)

    axis: int = scalar(DType.UINT_32, 0)
    axes: tuple[int, ...] | None = tensor(DType.UINT_32, None)
    epsilon: float = scalar(DType.FLOAT_32, 1e-12)

    @property
    def all_axes(self) -> tuple[int, ...]:
        """The axes whose length becomes 1."""
        return (self.axis,) if self.axes is None else self.axes

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The type of the input."""
        x = inputs[0]
        if not self.all_axes or not all(0 <= axis < x.rank for axis in self.all_axes):
            raise ShapeMismatch(
                f"axes {list(self.all_axes)} are not axes of {x}", do=f"use axes from 0 to {x.rank - 1}"
            )
        return (TensorType(x.shape, x.dtype, x.layout),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Of length 1, or 0 where the length was 0."""
        x = widened(inputs[0])
        length = np.sqrt(np.square(x).sum(axis=self.all_axes, keepdims=True))
        return ((x / np.maximum(length, np.asarray(self.epsilon, x.dtype))).astype(inputs[0].dtype),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """The axes move with the others."""
        axes = None if self.axes is None else tuple(sorted(moved_axis(axis, order) for axis in self.axes))
        axis = moved_axis(self.axis, order) if self.axes is None else self.axis
        return replace(self, axis=axis, axes=axes), [True]

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """One axis, several axes, a large epsilon."""
        x = (TensorType((2, 3, 4)),)
        yield Sample("axis", cls(axis=1), x)
        yield Sample("axes", cls(axes=(0, 2)), x)
        yield Sample("epsilon", cls(axis=2, epsilon=10.0), x)


def keeps_channels_last(order: tuple[int, ...]) -> bool:
    """Whether a permutation moves nothing but the axes between the batch and the channels."""
    return order[0] == 0 and order[-1] == len(order) - 1


def _only_first(inputs: tuple[TensorType, ...]) -> list[bool]:
    return [index == 0 for index in range(len(inputs))]


def _fits(found: object, wanted: object) -> bool:
    return found == wanted or not (isinstance(found, int) and isinstance(wanted, int))
