import numpy as np
import pytest

from edgewright.core.errors import ShapeMismatch
from edgewright.run.compare import compare_tensors, keep_worst_errors


def error(found, wanted, tolerance=1e-4):
    return compare_tensors({"t": np.asarray(found)}, {"t": np.asarray(wanted)}, tolerance)[0]


def test_the_difference_is_a_share_of_the_range_of_the_reference():
    found = error([0.0, 10.0, 4.0], [0.0, 10.0, 5.0], tolerance=0.05)
    assert (found.max_abs, found.share, found.is_close) == (1.0, 0.1, False)
    assert found.sqnr_db == pytest.approx(10 * np.log10(125))


def test_a_constant_reference_is_measured_by_its_size():
    assert error([2.0, 2.2], [2.0, 2.0]).share == pytest.approx(0.1)
    assert error([0.5], [0.0]).share == 0.5


def test_equal_results_are_exact_whatever_they_are():
    for values in ([1.0, 2.0], [np.inf, -np.inf, np.nan], [], [True, False]):
        found = error(values, values, tolerance=0)
        assert (found.max_abs, found.share, found.is_close) == (0, 0, True)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_a_number_is_never_close(wrong):
    assert not error([1.0, wrong], [1.0, 2.0], tolerance=1e9).is_close
    assert not error([1.0, 2.0], [1.0, wrong], tolerance=1e9).is_close


def test_texts_are_equal_or_not():
    assert error(np.array(["a"], object), np.array(["a"], object)).is_close
    assert not error(np.array(["a"], object), np.array(["b"], object)).is_close


def test_other_shapes_are_an_error():
    with pytest.raises(ShapeMismatch, match=r"the shape \[2\], the reference \[1, 2\]"):
        error([1.0, 2.0], [[1.0, 2.0]])


def test_the_worst_of_each_tensor_is_kept():
    errors = [error([a], [1.0]) for a in (1.0, 1.5, 1.2)]
    assert [item.max_abs for item in keep_worst_errors(errors)] == [0.5]


def test_not_a_number_is_the_worst():
    errors = [error([a], [1.0]) for a in (1.5, np.nan, 1.2)]
    assert keep_worst_errors(errors)[0].max_abs == np.inf
