"""Floats that always hold half a unit: what is near them, and what sums of them lose."""

import numpy as np
import pytest

from edgewright.backends.htp.half_means import hold
from edgewright.backends.htp.odd_floats import NARROW_BITS, WIDE_BITS, find_unit, round_half, settle


# In half units: odd numbers can be held, and twice an odd one by the next unit; multiples of four cannot.
@pytest.mark.parametrize(
    ("number", "nearest"),
    [(1, 1), (2, 2), (3, 3), (4, 5), (8, 9), (-4, -3), (-2, -2), (1.5, 1), (2.5, 2), (-1.5, -2), (3.6, 3)],
)
def test_what_can_be_held_is_one_two_or_three_beyond_a_multiple_of_four(number, nearest):
    settled, unit = settle(np.asarray(float(number)), np.asarray(1), WIDE_BITS)
    assert float(settled) == nearest
    assert int(unit) == (2 if nearest % 4 == 2 else 1)


def test_what_has_too_many_bits_gets_the_next_unit():
    most = 1 << NARROW_BITS
    settled, unit = settle(np.asarray([most + 0.5, most - 0.5, -most + 0.5]), np.zeros(3, int), NARROW_BITS)
    np.testing.assert_array_equal(settled, [most + 1, most - 0.5, -most + 0.5])
    np.testing.assert_array_equal(unit, [1, 0, 0])


def test_a_sum_keeps_the_unit_of_what_it_was_made_of():
    large, tiny = (hold(np.asarray(x), find_unit(np.asarray(x), WIDE_BITS, -150)) for x in (8192.0, 2.0**-12))
    total = large + tiny + hold(-large.numbers, large.units)
    assert float(total.numbers) != float(tiny.numbers)
    assert float((total.fill()).numbers) == float(total.numbers)


def test_eleven_bits_and_the_least_unit_of_half_precision():
    x = np.asarray([1 + 2.0**-11, 1 + 3 * 2.0**-11, 2.0**-25, 3 * 2.0**-25, 100_001.0, 0.0])
    np.testing.assert_array_equal(round_half(x), [1, 1 + 2.0**-9, 0, 2.0**-23, 99_968 + 64, 0])
