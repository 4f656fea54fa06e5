"""Encodings: integers that stand for real numbers and come back as close as a step allows."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding

FIXED = [
    (DType.UFIXED_POINT_8, 8),
    (DType.SFIXED_POINT_8, 8),
    (DType.UFIXED_POINT_16, 16),
    (DType.SFIXED_POINT_4, 4),
    (DType.UFIXED_POINT_8, 2),
]
SCALES = st.floats(2**-10, 8, width=32)
WIDE = [(DType.SFIXED_POINT_16, 16), (DType.SFIXED_POINT_32, 32), (DType.UFIXED_POINT_32, 32)]
OFFSETS = st.sampled_from([0, -1, -128, -255, -32768, -65535, -70000, 300, -(2**31)])
# Those that single precision counts from.
SMALL_OFFSETS = OFFSETS.filter(lambda offset: offset > -(2**24))
# Halves too, which a rounding too many would take to the other side.
HALVES = st.integers(-70000, 70000).map(lambda whole: whole + 0.5)
STEPS = HALVES | st.floats(-1e5, 1e5) | st.sampled_from([np.inf, -np.inf, 1e30, -1e30])
FLOATS = st.sampled_from([np.float16, np.float32, np.float64, np.int32])


@given(st.sampled_from(FIXED), SCALES, st.integers(-128, 127), st.floats(-1e3, 1e3, width=32))
@settings(max_examples=300, deadline=None)
def test_a_number_in_range_comes_back_within_half_a_step(
    kind: tuple[DType, int], scale: float, offset: int, real: float
) -> None:
    dtype, bits = kind
    encoding = Encoding((scale,), (offset,), bitwidth=bits)
    low, high = (scale * (limit + offset) for limit in encoding.limits(dtype))
    back = encoding.decode(encoding.encode(np.array([real], np.float32), dtype))[0]
    nearest = min(max(real, low), high)
    assert abs(back - nearest) <= scale * 0.5 + 1e-5 * abs(real)


@given(SCALES, st.integers(-128, 0), st.lists(st.integers(0, 255), min_size=1))
@settings(max_examples=200, deadline=None)
def test_integers_come_back_as_they_were(scale: float, offset: int, stored: list[int]) -> None:
    encoding, integers = Encoding((scale,), (offset,)), np.array(stored, np.uint8)
    np.testing.assert_array_equal(encoding.encode(encoding.decode(integers), DType.UFIXED_POINT_8), integers)


def encode_exactly(real: float, encoding: Encoding, dtype: DType) -> int:
    """Division in single precision, and no other rounding than to the nearest integer."""
    low, high = encoding.limits(dtype)
    with np.errstate(over="ignore"):
        steps = float(np.float32(np.float64(np.float32(real)) / encoding.scales[0]))
    if np.isinf(steps):
        return high if steps > 0 else low
    return min(max(round(Fraction(steps)) - encoding.offsets[0], low), high)


@given(
    st.sampled_from(FIXED + WIDE),
    st.floats(2**-100, 2**100, width=32),
    OFFSETS,
    FLOATS,
    st.lists(STEPS, min_size=2, max_size=8),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_integers_are_the_exact_ones_for_any_kind_of_number(
    kind: tuple[DType, int], scale: float, offset: int, given_as: type, steps: list[float], is_turned: bool
) -> None:
    encoding = Encoding((scale,), (offset,), bitwidth=kind[1])
    with np.errstate(over="ignore", invalid="ignore"):
        real = (np.array([steps, steps[::-1]]) * (scale if given_as is not np.int32 else 1)).astype(given_as)
    real = real.T[::-1] if is_turned else real
    before = real.copy()
    stored = encoding.encode(real, kind[0])
    wanted = [encode_exactly(float(number), encoding, kind[0]) for number in real.reshape(-1)]
    assert stored.reshape(-1).tolist() == wanted
    np.testing.assert_array_equal(real, before)


@given(st.sampled_from(FIXED + WIDE), st.floats(2**-90, 2**90, width=32), SMALL_OFFSETS, st.data())
@settings(max_examples=200, deadline=None)
def test_real_numbers_are_rounded_once(
    kind: tuple[DType, int], scale: float, offset: int, data: st.DataObject
) -> None:
    encoding = Encoding((scale,), (offset,), bitwidth=kind[1])
    low, high = encoding.limits(kind[0])
    numbers = data.draw(st.lists(st.integers(low, high), min_size=1, max_size=8))
    stored = np.array(numbers, kind[0].numpy)
    wanted = [np.float32(np.float64(number + offset) * scale) for number in numbers]
    np.testing.assert_array_equal(encoding.decode(stored), wanted)
    np.testing.assert_array_equal(stored, numbers)


def test_halves_go_to_the_even_integer() -> None:
    encoding = Encoding((1.0,), (0,))
    stored = encoding.encode(np.array([0.5, 1.5, 2.5, -0.5], np.float32), DType.SFIXED_POINT_8)
    assert stored.tolist() == [0, 2, 2, 0]


def test_each_slice_has_its_own_scale() -> None:
    encoding = Encoding((1.0, 10.0), (0, -1), axis=1)
    real = encoding.decode(np.array([[1, 2], [3, 4]], np.int8))
    np.testing.assert_array_equal(real, [[1, 10], [3, 30]])
    turned = encoding.permuted((1, 0))
    np.testing.assert_array_equal(turned.decode(np.array([[1, 3], [2, 4]], np.int8)), real.T)
