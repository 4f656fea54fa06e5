"""Encodings: integers that stand for real numbers and come back as close as a step allows."""

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
