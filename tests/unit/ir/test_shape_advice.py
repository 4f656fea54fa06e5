"""Advice for an array of another shape: code that, pasted, gives the expected one."""

import numpy as np
import pytest

from edgewright.ir.dims import symbol
from edgewright.ir.shape_advice import advise_shape, is_matching_shape


@pytest.mark.parametrize(
    ("shape", "expected", "text"),
    [
        ((1, 224, 224, 3), (1, 3, 224, 224), "the model wants channels first: array.transpose(0, 3, 1, 2)"),
        ((1, 3, 224, 224), (1, 224, 224, 3), "the model wants channels last: array.transpose(0, 2, 3, 1)"),
        ((1, 28, 28), (1, 28, 28, 1), "add a last axis: array[..., None]"),
        ((28, 28, 1), (1, 28, 28, 1), "add a first axis, the batch: array[None]"),
        ((1, 28, 28), (1, 1, 28, 28), "add a first axis, the batch: array[None]"),
        ((224, 224, 3), (1, 3, 224, 224), "array.transpose(2, 0, 1)[None]"),
        ((5, 80), (5, 1, 80), "add axis 1: np.expand_dims(array, 1)"),
        ((1, 1, 10), (1, 10), "remove a first axis, the batch: array.squeeze(0)"),
        ((1, 10, 1), (1, 10), "remove a last axis: array.squeeze(2)"),
        ((80, 5), (5, 80), "the axes have another order: array.transpose(1, 0)"),
        ((8, 32, 32, 3), (1, 3, 32, 32), "channels first, and 1 sample at once, not 8: array[:1].transpose"),
        ((1, 784), (1, 1, 28, 28), "array.reshape(1, 1, 28, 28)"),
    ],
)
def test_the_advice_is_code_that_gives_the_shape(shape, expected, text):
    advice = advise_shape(shape, expected)
    assert text in advice
    code = advice.rpartition(": ")[2]
    assert eval(code, {"np": np, "array": np.zeros(shape)}).shape == expected


@pytest.mark.parametrize(
    ("shape", "expected", "text"),
    [
        ((8, 3, 32, 32), (1, 3, 32, 32), "give 1 sample at once, not 8"),
        ((1, 3, 30, 32), (1, 3, 32, 32), "axis 2 has 30, not 32"),
        ((3, 5), (1, 3, 32, 32), "with 4 axes, not 2"),
        ((32, 32, 3), (symbol("batch"), 3, symbol("h"), symbol("w")), "array.transpose(2, 0, 1)[None]"),
    ],
)
def test_where_no_step_helps_the_sizes_are_named(shape, expected, text):
    assert text in advise_shape(shape, expected)


def test_a_symbol_takes_any_size():
    assert is_matching_shape((7, 3), (symbol("n"), 3))
    assert not is_matching_shape((7, 3), (symbol("n"), 4))
