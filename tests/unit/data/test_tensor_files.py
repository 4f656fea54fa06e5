from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from edgewright.core.errors import (
    BadInput,
    EdgewrightError,
    ShapeMismatch,
    TypeMismatch,
    UnsupportedFeature,
)
from edgewright.core.numbers import DType
from edgewright.data.tensor_files import (
    ExpectedTensor,
    convert_to_file_type,
    convert_to_model_type,
    count_batch_files,
    read_tensor,
)
from edgewright.ir.encodings import Encoding
from edgewright.ir.types import TensorType

QUANTIZED = TensorType((3,), DType.UFIXED_POINT_8, None, Encoding((0.5,), (-10,)))


@pytest.mark.parametrize(
    ("dtype", "given", "reference"),
    [
        (DType.INT_32, [1.9, -1.9, 3e9], [1, -1, 2**31 - 1]),
        (DType.UINT_8, [-1.0, 255.9, 300.0], [0, 255, 255]),
        (DType.BOOL_8, [0.0, 0.5, -1.0], [False, True, True]),
        (DType.FLOAT_16, [0.5, 1.0, 2.0], [0.5, 1.0, 2.0]),
        (DType.INT_32, [np.nan, 2.0, -np.inf], [0, 2, -(2**31)]),
    ],
)
def test_float_values_are_cut_to_the_models_type_and_never_wrap(dtype, given, reference):
    result = convert_to_model_type(np.float32(given), TensorType((3,), dtype))
    assert result.dtype == dtype.numpy
    assert result.tolist() == reference


def test_the_largest_64_bit_integer_does_not_wrap_either():
    result = convert_to_model_type(np.array([1e30, -1e30]), TensorType((2,), DType.INT_64))
    assert result[0] > 2**62
    assert result[1] == -(2**63)


def test_real_values_are_quantized_and_stored_ones_are_kept():
    assert convert_to_model_type(np.float32([-5, 0, 5]), QUANTIZED).tolist() == [0, 10, 20]
    assert convert_to_model_type(np.uint8([0, 10, 20]), QUANTIZED).tolist() == [0, 10, 20]
    np.testing.assert_array_equal(
        convert_to_file_type(np.uint8([0, 10, 20]), QUANTIZED, is_native=False), [-5, 0, 5]
    )
    assert convert_to_file_type(np.uint8([0, 10, 20]), QUANTIZED, is_native=True).dtype == np.uint8


def test_text_is_no_number_and_numbers_are_no_text():
    with pytest.raises(TypeMismatch):
        convert_to_model_type(np.array(["a"]), TensorType((1,)))
    with pytest.raises(UnsupportedFeature):
        convert_to_file_type(np.array(["a"], object), TensorType((1,), DType.STRING), is_native=True)


def test_numpys_anonymous_bytes_are_bfloat16_where_the_model_says_so(tmp_path):
    values = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    np.save(tmp_path / "a.npy", values)
    result = read_tensor(tmp_path / "a.npy", ExpectedTensor("x", TensorType((2,), DType.BFLOAT_16)))
    np.testing.assert_array_equal(result, values)


@pytest.mark.parametrize(
    ("shape", "batch"), [((4, 2, 3), 1), ((1, 2, 3), 4), ((2, 3), 4), ((4, 3, 2), None), ((24,), None)]
)
def test_an_array_is_the_whole_input_or_one_element_of_its_batch(tmp_path, shape, batch):
    np.save(tmp_path / "a.npy", np.zeros(shape, np.float32))
    expected = ExpectedTensor("x", TensorType((4, 2, 3)))
    if batch is None:
        with pytest.raises(ShapeMismatch, match=r"expected \[4, 2, 3\]"):
            count_batch_files(tmp_path / "a.npy", expected)
    else:
        assert count_batch_files(tmp_path / "a.npy", expected) == batch


def test_an_array_with_channels_first_is_recognised(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((1, 3, 8, 9), np.float32))
    with pytest.raises(ShapeMismatch) as caught:
        count_batch_files(tmp_path / "a.npy", ExpectedTensor("x", TensorType((1, 8, 9, 3))))
    assert "array.transpose(0, 2, 3, 1)" in str(caught.value)


@pytest.mark.parametrize(
    ("is_native", "size", "advice"),
    [
        (False, 16, "add --use_native_input_files"),
        (True, 8, "leave the native input options out"),
        (True, 3, ".npy"),
    ],
)
def test_a_wrong_size_says_both_sizes_and_what_would_fit(tmp_path, is_native, size, advice):
    path = tmp_path / "a.raw"
    path.write_bytes(bytes(size))
    with pytest.raises(ShapeMismatch) as caught:
        count_batch_files(path, ExpectedTensor("x", TensorType((1, 2), DType.INT_64), is_native))
    assert f"the file has {size} bytes, expected {16 if is_native else 8}" in str(caught.value)
    assert advice in str(caught.value)


def test_an_archive_without_the_inputs_name_lists_what_it_has(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.zeros(1), b=np.zeros(1))
    with pytest.raises(EdgewrightError, match="has no array 'x', found 'a', 'b'"):
        count_batch_files(tmp_path / "a.npz", ExpectedTensor("x", TensorType((1,))))


def test_a_header_that_claims_a_huge_array_is_refused_without_reading(tmp_path):
    path = tmp_path / "a.npy"
    with Path.open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 1 << 20)}
        )
    with pytest.raises(
        BadInput, match=r"0 bytes follow the header, but float32 \[.*\] takes 4611686018427387904"
    ):
        count_batch_files(path, ExpectedTensor("x", TensorType((2,))))


def test_a_fortran_array_comes_in_the_order_of_its_axes(tmp_path):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "a.npy", np.asfortranarray(values))
    result = read_tensor(tmp_path / "a.npy", ExpectedTensor("x", TensorType((2, 3))))
    np.testing.assert_array_equal(result, values)
