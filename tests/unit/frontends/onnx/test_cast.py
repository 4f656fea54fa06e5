"""ONNX casts change the datatype and nothing else."""

import ml_dtypes
import numpy as np
import onnx
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from tests.unit.frontends.onnx.side_by_side import agree, model_of, op_names

X = np.array([[-3.7, 0.0, 2.5], [1e3, -0.2, 7.9]], np.float32)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "double", "bool", "uint8"])
@pytest.mark.parametrize("opset", [9, 13, 19, 21])
def test_a_cast_is_one_op_in_every_opset(dtype: str, opset: int) -> None:
    code = onnx.TensorProto.DataType.Value(dtype.upper())
    text = f"g (float[N,3] x) => ({dtype}[N,3] y) {{ y = Cast<to={code}>(x) }}"
    converted = agree(model_of(text, opsets={"": opset}), {"x": abs(X) % 200}, {"x": abs(X[:1])})
    assert op_names(converted) == ["Cast"]


def test_a_cast_to_the_same_type_is_nothing() -> None:
    model = model_of("g (float[2,3] x) => (float[2,3] y) { z = Cast<to=1>(x) y = Relu(z) }")
    assert op_names(agree(model, {"x": X})) == ["Relu"]


def test_castlike_takes_the_type_of_its_second_input() -> None:
    text = "g (float[2,3] x, int32[1] like) => (int32[2,3] y) { y = CastLike(x, like) }"
    model = model_of(text)
    assert op_names(agree(model, {"x": X, "like": np.zeros(1, np.int32)})) == ["Cast"]


def test_four_bit_integers_wrap_and_come_back() -> None:
    text = "g (float[4] x) => (float[4] y) { z = Cast<to=22>(x) y = Cast<to=1>(z) }"
    found = ew.convert(model_of(text)).run({"x": np.array([-8, -1, 3, 7], np.float32)})
    np.testing.assert_array_equal(found["y"], [-8, -1, 3, 7])


@pytest.mark.parametrize(("saturate", "expected"), [(1, 448.0), (0, np.nan)])
def test_small_floats_clamp_only_where_asked(saturate: int, expected: float) -> None:
    text = f"g (float[1] x) => (float8e4m3fn[1] y) {{ y = Cast<to=17, saturate={saturate}>(x) }}"
    found = ew.convert(model_of(text)).run({"x": np.array([1e6], np.float32)})
    assert found["y"].dtype == ml_dtypes.float8_e4m3fn
    np.testing.assert_array_equal(found["y"].astype(np.float32), [expected])


@pytest.mark.parametrize("to", [0, 99, -1])
def test_a_type_code_that_onnx_does_not_have_is_named(to: int) -> None:
    model = model_of(f"g (float[1] x) => (float[1] y) {{ y = Cast<to={to}>(x) }}")
    with pytest.raises(EdgewrightError, match=f"{to}"):
        ew.convert(model)


def test_shape_arithmetic_goes_through_casts() -> None:
    text = """g (float[N,M] x) => (float[K] y) {
        s = Shape(x) i = Cast<to=6>(s) l = Cast<to=7>(i)
        p = ReduceProd<keepdims=1>(l) y = Reshape(x, p) }"""
    agree(model_of(text), {"x": X}, {"x": X[:1]})
