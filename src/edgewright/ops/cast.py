"""Element-by-element changes of datatype."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import ml_dtypes
import numpy as np

from edgewright.core.errors import TypeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.op import ANY, Op, Port, Sample, register, structural
from edgewright.ir.traits import EncodingRule, HtpWork
from edgewright.ir.types import TensorType

# Of the 8-bit floats these clamp on request; FLOAT_8E8M0 has no sign and rounds by a mode of its own.
CLAMPED = frozenset({DType.FLOAT_8E4M3FN, DType.FLOAT_8E4M3FNUZ, DType.FLOAT_8E5M2, DType.FLOAT_8E5M2FNUZ})
ROUND_MODES = ("up", "down", "nearest")


@register
@dataclass(frozen=True, kw_only=True)
class Cast(Op):
    """Each element's stored number in another datatype; fixed-point values change type, not meaning.

    A cast between an integer and a fixed-point type of its width keeps the stored integers as they are: so
    plain integers of a source model meet the encodings that say what they stand for.
    """

    htp_work = HtpWork.NONE
    inputs = (Port("in[0]", ANY - {DType.STRING}),)
    encoding_rule = EncodingRule.FIXED
    is_encoder = True

    dtype: DType = structural()
    encoding: Encoding | None = structural(None)
    # These two only matter for 8-bit floats, which no QNN tensor can have: an artifact never loses them.
    saturate: bool = structural(True)
    round_mode: str = structural("up")

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The same shape in the other datatype."""
        found = inputs[0].dtype
        if DType.STRING in {found, self.dtype}:
            raise TypeMismatch(
                f"{found.name} cannot be cast to {self.dtype.name}", do="remove the strings from the model"
            )
        return (TensorType(inputs[0].shape, self.dtype, inputs[0].layout, self.encoding),)

    def compute(self, *inputs: Array) -> tuple[Array, ...]:
        """Integers are truncated towards zero, anything but zero is true."""
        return (converted(inputs[0], self.dtype, saturate=self.saturate, round_mode=self.round_mode),)

    def permuted(self, order: tuple[int, ...], *inputs: TensorType) -> tuple[Self, list[bool]] | None:
        """Any order will do, unless an encoding follows an axis."""
        return (self, [True]) if self.encoding is None or self.encoding.axis is None else None

    @classmethod
    def read_structure(
        cls, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> Mapping[str, Any]:
        """Datatype and encoding are the output's."""
        return {"dtype": outputs[0].dtype, "encoding": outputs[0].encoding}

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Between floats and integers, to bool, to fixed point, and to types QNN does not have."""
        x = TensorType((2, 3, 4))
        yield Sample("to_int", cls(dtype=DType.INT_32), (x,))
        yield Sample("to_half", cls(dtype=DType.FLOAT_16), (x,))
        yield Sample("to_bool", cls(dtype=DType.BOOL_8), (x,))
        yield Sample("to_float", cls(dtype=DType.FLOAT_32), (TensorType((2, 3), DType.INT_64),))
        fixed = cls(dtype=DType.UFIXED_POINT_8, encoding=Encoding((0.5,), (-3,)))
        yield Sample("to_fixed_point", fixed, (TensorType((2, 3), DType.UINT_8),))
        yield Sample("clamped", cls(dtype=DType.FLOAT_8E4M3FN), (np.array([1.5, 1e6, np.nan], np.float32),))
        plain = cls(dtype=DType.FLOAT_8E5M2, saturate=False)
        yield Sample("unclamped", plain, (np.array([1.5, 1e6], np.float32),))
        for mode in ROUND_MODES:
            power = cls(dtype=DType.FLOAT_8E8M0, round_mode=mode)
            yield Sample(f"power_{mode}", power, (np.array([1.0, 1.5, 1.7, 3.0], np.float32),))


def converted(array: Array, dtype: DType, *, saturate: bool = True, round_mode: str = "up") -> Array:
    """The array in another datatype; symbolic dimensions (object arrays) stay what they are."""
    if array.dtype == object:
        return array
    # Casts between the small types do not exist; float32 holds every one of their values.
    wide: Array = array.astype(np.float32) if array.dtype.kind == "V" else array
    if dtype == DType.FLOAT_8E8M0:
        return _powers_of_two(wide, round_mode, is_clamped=saturate)
    if dtype in CLAMPED and saturate:
        limits = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
        wide = np.clip(wide, float(limits.min), float(limits.max))
    result: Array = wide.astype(dtype.numpy)
    return result


def _powers_of_two(array: Array, round_mode: str, *, is_clamped: bool) -> Array:
    """The exponent alone, rounded; neither sign nor zero nor infinity exist, the last are NaN."""
    bits = array.astype(np.float32).view(np.uint32)
    exponent, fraction = (bits >> 23) & 0xFF, bits & 0x7FFFFF
    half = 0x400000
    is_raised = {
        "up": fraction > 0,
        "down": np.zeros(bits.shape, np.bool_),
        # at half way the even exponent wins, and every normal number's last bit counts as odd
        "nearest": (fraction > half) | ((fraction == half) & (exponent > 0)),
    }[round_mode]
    stays = (exponent == 0xFF) | (is_clamped & (exponent == 0xFE))
    raised = np.where(is_raised & ~stays, exponent + 1, exponent)
    result: Array = raised.astype(np.uint8).view(DType.FLOAT_8E8M0.numpy)
    return result
