"""Ops that LiteRT has no kernel for, or whose results only a run can size."""

import struct
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, LimitExceeded, Problems
from edgewright.core.numbers import DType
from tests.unit.frontends.tflite.cases import BOOL, I32, I64, Case, ints, number, single, weights, x
from tests.unit.frontends.tflite.writer import Operator, Subgraph, Tensor, model


def run(folder: Path, case: Case) -> np.ndarray:
    path = folder / "m.tflite"
    path.write_bytes(case.data)
    (found,) = ew.convert(path).run(case.inputs).values()
    return found


def test_mediapipes_transposed_convolution_is_the_builtin_one_with_a_bias(tmp_path: Path) -> None:
    image, kernel, bias = x(1, 5, 4, 3), weights(2, 3, 3, 3), weights(2, seed=1)
    options = {"stride_w": 2, "stride_h": 2, "padding": 0}
    builtin = single("t", "TRANSPOSE_CONV", [ints(1, 10, 8, 2), kernel, image, bias], options)
    data = struct.pack("<iii", 1, 2, 2)
    own = single("t", "Convolution2DTransposeBias", [image, kernel, bias], custom=data)
    values = {"x": np.random.default_rng(0).normal(size=(1, 5, 4, 3)).astype(np.float32)}
    found = run(tmp_path, Case("own", own.data, values))
    np.testing.assert_allclose(found, run(tmp_path, Case("builtin", builtin.data, values)), rtol=1e-6)


def test_options_that_are_cut_short_are_an_error(tmp_path: Path) -> None:
    operands = [x(1, 5, 4, 3), weights(2, 3, 3, 3), weights(2)]
    with pytest.raises(BadInput, match="3 bytes of options, expected 12"):
        run(tmp_path, single("t", "Convolution2DTransposeBias", operands, custom=b"abc"))


@pytest.mark.parametrize("custom", [b"", b"\1\2\3", b"\xff" * 40])
def test_a_damaged_map_of_options_is_an_error(tmp_path: Path, custom: bytes) -> None:
    operands = [x(1, 4, 4), x(1, 4, 3, name="s"), weights(4, 4)]
    case = single("t", "TFLite_Detection_PostProcess", operands, results=[Tensor()] * 4, custom=custom)
    with pytest.raises(BadInput, match="cannot be read"):
        run(tmp_path, case)


def test_where_lists_the_places_of_what_holds(tmp_path: Path) -> None:
    case = single("w", "WHERE", [x(2, 3, dtype=BOOL)], results=[Tensor(dtype=I64)])
    (given,) = case.inputs.values()
    np.testing.assert_array_equal(run(tmp_path, case), np.argwhere(given))


def test_a_range_of_known_bounds_is_a_constant(tmp_path: Path) -> None:
    tensors = [
        number(2),
        number(9),
        number(3),
        Tensor(dtype=I32),
        x(3, dtype=I32),
        Tensor(dtype=I32, name="y"),
    ]
    operators = [Operator("RANGE", [0, 1, 2], [3]), Operator("ADD", [3, 4], [5])]
    data = model(Subgraph(tensors, [4], [5], operators))
    assert run(tmp_path, Case("r", data, {"x": np.zeros(3, np.int32)})).tolist() == [2, 5, 8]


def test_a_range_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    tensors = [number(0), number(2**31 - 1), number(1), Tensor(dtype=I32, name="y")]
    with pytest.raises(LimitExceeded, match="is too long"):
        run(tmp_path, Case("r", model(Subgraph(tensors, [], [3], [Operator("RANGE", [0, 1, 2], [3])]))))


def test_shapes_broadcast(tmp_path: Path) -> None:
    tensors = [ints(3, 1), ints(2, 1, 4), Tensor(dtype=I32), x(1), Tensor(name="y")]
    operators = [Operator("BROADCAST_ARGS", [0, 1], [2]), Operator("BROADCAST_TO", [3, 2], [4])]
    data = model(Subgraph(tensors, [3], [4], operators))
    assert run(tmp_path, Case("b", data, {"x": np.ones(1, np.float32)})).shape == (2, 3, 4)


def test_exclusive_or_is_of_booleans_only(tmp_path: Path) -> None:
    pair = [x(4, dtype=BOOL), x(4, dtype=BOOL, name="y")]
    case = single("x", "BITWISE_XOR", pair, results=[Tensor(dtype=BOOL)])
    left, right = case.inputs.values()
    np.testing.assert_array_equal(run(tmp_path, case), left ^ right)
    whole = [x(4, dtype=I32), x(4, dtype=I32, name="y")]
    with pytest.raises(Problems, match="expected booleans"):
        run(tmp_path, single("x", "BITWISE_XOR", whole, results=[Tensor(dtype=I32)]))


def test_four_bit_weights_are_unpacked(tmp_path: Path) -> None:
    stored = np.asarray([[-8, 7, 1], [3, -2, 0]], np.int8)
    kernel = Tensor((2, 3), DType.INT_4, stored, (0.5, 0.25), axis=0)
    found = run(tmp_path, single("f", "FULLY_CONNECTED", [x(1, 3), kernel, None]))
    (given,) = single("f", "FULLY_CONNECTED", [x(1, 3), kernel, None]).inputs.values()
    np.testing.assert_allclose(found, given @ (stored * [[0.5], [0.25]]).T, rtol=1e-6)


def test_a_dimension_that_is_left_open_stays_open_but_the_batch_does_not(tmp_path: Path) -> None:
    given = Tensor((1, 1, 3), name="x", signature=(-1, -1, 3))
    path = tmp_path / "m.tflite"
    path.write_bytes(single("s", "SUM", [given, ints(1)], values=[np.zeros((1, 1, 3), np.float32)]).data)
    converted = ew.convert(path)
    assert converted.inputs[0].shape == (1, "x_1", 3)
    for length in (2, 5):
        array = np.random.default_rng(length).normal(size=(1, length, 3)).astype(np.float32)
        (found,) = converted.run({"x": array}).values()
        np.testing.assert_allclose(found, array.sum(1), rtol=1e-5)
    assert ew.convert(path, input_shapes={"x": (2, 4, 3)}).outputs[0].shape == (2, 3)


def test_a_size_that_must_be_known_waits_for_the_inputs(tmp_path: Path) -> None:
    given = Tensor((1, 1, 4), name="x", signature=(1, -1, 4))
    path = tmp_path / "m.tflite"
    tensors = [given, ints(1, 4), Tensor(dtype=DType.COMPLEX_64, name="c"), Tensor(name="y")]
    operators = [Operator("RFFT2D", [0, 1], [2]), Operator("COMPLEX_ABS", [2], [3])]
    path.write_bytes(model(Subgraph(tensors, [0], [3], operators)))
    array = np.random.default_rng(0).normal(size=(1, 1, 4)).astype(np.float32)
    (found,) = ew.convert(path).run({"x": array}).values()
    np.testing.assert_allclose(found, np.abs(np.fft.rfft(array)), rtol=1e-4)


def test_complex_numbers_that_are_cast_leave_their_real_part(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    tensors = [Tensor((1, 1, 8), name="x"), ints(1, 8), Tensor(dtype=DType.COMPLEX_64, name="c")]
    operators = [Operator("RFFT2D", [0, 1], [2]), Operator("CAST", [2], [3])]
    path.write_bytes(model(Subgraph([*tensors, Tensor((1, 1, 5), name="y")], [0], [3], operators)))
    array = np.random.default_rng(0).normal(size=(1, 1, 8)).astype(np.float32)
    (found,) = ew.convert(path).run({"x": array}).values()
    np.testing.assert_allclose(found, np.fft.rfft(array).real, rtol=1e-4, atol=1e-5)
