"""Arrays of other packages, which need not be installed."""

import numpy as np
import pytest

from edgewright.core.arrays import to_array
from edgewright.core.errors import TypeMismatch


def test_floats_of_a_list_have_32_bits_and_those_of_an_array_their_own():
    assert to_array([[0.5, 1]]).dtype == np.float32
    assert to_array([1, 2]).dtype == np.int64
    assert to_array(np.zeros(2)).dtype == np.float64


def test_what_is_no_array_is_said():
    with pytest.raises(TypeMismatch, match="a list is no array"):
        to_array([[1, 2], [3]])


@pytest.mark.torch
def test_tensors_of_torch_are_taken_with_gradients_and_in_bfloat16():
    torch = pytest.importorskip("torch")
    assert to_array(torch.ones(2, requires_grad=True)).tolist() == [1, 1]
    assert str(to_array(torch.full((2,), 1.5, dtype=torch.bfloat16)).dtype) == "bfloat16"
    with pytest.raises(TypeMismatch, match="a Tensor is no array"):
        to_array(torch.ones(2, 2).to_sparse())
