"""What the page of equal numbers says still holds, and what is kept of the emulator is what it gives."""

import numpy as np
import pytest

from edgewright.backends.htp.half_functions import FUNCTIONS, find_half_table
from edgewright.ir.op import Op
from tests.native.equality import listed, measure
from tests.native.half_functions import measure as measure_function

LISTED = listed()


@pytest.mark.slow
@pytest.mark.parametrize(("case", "form"), LISTED, ids=lambda word: str(word).replace(" ", "_"))
def test_simulation_and_emulator_are_as_equal_as_the_page_says(case: str, form: str) -> None:
    found = measure(case, form)
    # The page has three digits.
    assert found.equal >= LISTED[case, form] - 1e-5, found


@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.qnn_name())
def test_a_function_in_half_precision_is_what_the_emulator_gives(op: Op) -> None:
    emulated, table = measure_function(op).astype(np.float32), find_half_table(op)
    assert table is not None
    is_known = np.isfinite(emulated) & np.isfinite(np.arange(1 << 16, dtype=np.uint16).view(np.float16))
    np.testing.assert_array_equal(table[is_known], emulated[is_known])


def test_the_page_has_every_common_op_in_three_precisions() -> None:
    assert {form for _, form in LISTED} == {"w8a8", "w8a16", "fp16"}
    assert len(LISTED) > 150
