"""ONNX elementwise ops keep their numbers in every opset, datatype and shape."""

import math

import numpy as np
import onnx
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError, ShapeMismatch, TypeMismatch
from edgewright.core.numbers import Array
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

BINARY = ["Add", "Sub", "Mul", "Div", "Max", "Min"]
RELATIONS = ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"]


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_broadcast_over_sizes_that_a_run_decides(name: str) -> None:
    model = model_of(f"g (float[B,1,T] x, float[3,1] z) => (float[B,3,T] y) {{ y = {name}(x, z) }}")
    feeds = [{"x": normal(b, 1, t), "z": normal(3, 1)} for b, t in ((2, 5), (4, 1))]
    assert len(op_names(agree(model, *feeds))) == 1


@pytest.mark.parametrize("name", RELATIONS)
def test_relations_hold_for_infinities_and_what_is_not_a_number(name: str) -> None:
    values = np.asarray([0.0, 1.0, np.inf, -np.inf, np.nan], np.float32)
    model = model_of(f"g (float[5,1] x, float[5] z) => (bool[5,5] y) {{ y = {name}(x, z) }}")
    agree(model, {"x": values.reshape(5, 1), "z": values})


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8"])
def test_quotients_of_integers_are_cut_off_towards_zero(dtype: str) -> None:
    low = 0 if dtype == "uint8" else -7
    x, z = np.arange(low, 8, dtype=dtype), np.asarray([[3], [2]] if low == 0 else [[3], [-2]], dtype)
    model = model_of(
        f"g ({dtype}[{len(x)}] x, {dtype}[2,1] z) => ({dtype}[2,{len(x)}] y) {{ y = Div(x, z) }}"
    )
    agree(model, {"x": x, "z": z})


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_remainders_have_the_sign_that_was_asked_for(dtype: str, fmod: int) -> None:
    x, z = np.asarray([-7, -4, 4, 7], dtype), np.asarray([3, -3, -3, 3], dtype)
    model = model_of(f"g ({dtype}[4] x, {dtype}[4] z) => ({dtype}[4] y) {{ y = Mod<fmod={fmod}>(x, z) }}")
    agree(model, {"x": x, "z": z})


@pytest.mark.parametrize(
    ("base", "exponent"),
    [("float", "int64"), ("int64", "float"), ("int32", "int32"), ("float", "double"), ("int32", "int64")],
)
def test_powers_have_the_datatype_of_their_base(base: str, exponent: str) -> None:
    numpy = {"float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64}
    model = model_of(f"g ({base}[3] x, {exponent}[3] z) => ({base}[3] y) {{ y = Pow(x, z) }}")
    x, z = np.asarray([1, 2, 3], numpy[base]), np.asarray([4, 3, 2], numpy[exponent])
    converted = agree(model, {"x": x, "z": z})
    assert "SourceOp" not in op_names(converted)


def test_a_whole_number_to_a_negative_power_is_no_error() -> None:
    model = model_of("g (int32[3] x, int32[3] z) => (int32[3] y) { y = Pow(x, z) }")
    x, z = np.asarray([1, 2, -1], np.int32), np.asarray([-3, -1, -3], np.int32)
    assert ew.convert(model).run({"x": x, "z": z})["y"].tolist() == [1, 0, -1]


@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_any_number_of_operands_is_taken_pair_by_pair(name: str, count: int) -> None:
    names = [f"x{i}" for i in range(count)]
    inputs = ", ".join(f"float[2,3] {n}" for n in names)
    model = model_of(f"g ({inputs}) => (float[2,3] y) {{ y = {name}({', '.join(names)}) }}")
    agree(model, {n: normal(2, 3, seed=i) for i, n in enumerate(names)})


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("Tan", -1.5, 1.5),
        ("Acos", -1, 1),
        ("Sinh", -20, 20),
        ("Cosh", -20, 20),
        ("Asinh", -1000, 1000),
        ("Acosh", 1, 1000),
        ("Atanh", -0.999, 0.999),
        ("Erf", -5, 5),
        ("Erf", -1e-3, 1e-3),
    ],
)
def test_functions_that_qnn_lacks_are_composed_to_single_precision(
    name: str, low: float, high: float
) -> None:
    model = model_of(f"g (float[201] x) => (float[201] y) {{ y = {name}(x) }}")
    converted = agree(model, {"x": np.linspace(low, high, 201, dtype=np.float32)}, rtol=2e-5, atol=3e-7)
    assert "SourceOp" not in op_names(converted)


def test_error_function_is_precise_around_zero() -> None:
    model = model_of("g (float[5] x) => (float[5] y) { y = Erf(x) }")
    x = np.asarray([0.0, 1e-45, -1e-30, 1e-10, 2e-4], np.float32)
    found = ew.convert(model).run({"x": x})["y"]
    np.testing.assert_allclose(found, [math.erf(item) for item in x], rtol=1e-6, atol=1e-44)


GELUS = {
    "half first": "h = Mul(x, half) \n y = Mul(h, p)",
    "half last": "h = Mul(p, x) \n y = Mul(h, half)",
    "half inside": "h = Mul(half, p) \n y = Mul(x, h)",
}


@pytest.mark.parametrize("order", GELUS)
@pytest.mark.parametrize("scaling", ["Div(x, root)", "Mul(inverse, x)"])
def test_a_gelu_that_was_written_out_is_one_op_again(order: str, scaling: str) -> None:
    sum_ = f"z = {scaling} \n e = Erf(z) \n p = Add(e, one)"
    text = f"g (float[B,8] x) => (float[B,8] y) {{ {sum_} \n {GELUS[order]} }}"
    numbers = {"root": math.sqrt(2), "inverse": math.sqrt(0.5), "one": 1.0, "half": 0.5}
    weights = {name: np.asarray(number, np.float32) for name, number in numbers.items()}
    converted = agree(model_of(text, weights), {"x": normal(3, 8)}, {"x": normal(1, 8)})
    assert op_names(converted) == ["Gelu"]


def test_what_only_resembles_a_gelu_is_left_alone() -> None:
    text = """g (float[8] x, float[8] w) => (float[8] y)
        { z = Div(x, root) \n e = Erf(z) \n p = Add(e, one) \n h = Mul(w, half) \n y = Mul(h, p) }"""
    numbers = {"root": math.sqrt(2), "one": 1.0, "half": 0.5}
    weights = {name: np.asarray(number, np.float32) for name, number in numbers.items()}
    agree(model_of(text, weights), {"x": normal(8), "w": normal(8, seed=1)})


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("name", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bits_are_combined_for_every_number_and_sign(name: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = np.asarray([limits.min, limits.max, 0, 1, 85, limits.max - 3], dtype)
    model = model_of(f"g ({dtype}[6,1] x, {dtype}[6] z) => ({dtype}[6,6] y) {{ y = {name}(x, z) }}")
    converted = agree(model, {"x": values.reshape(6, 1), "z": values})
    assert "SourceOp" not in op_names(converted)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_by_a_known_count_are_one_product_or_quotient(direction: str) -> None:
    text = f'g (uint32[4] x) => (uint32[4] y) {{ y = BitShift<direction="{direction}">(x, n) }}'
    model = model_of(text, {"n": np.asarray([0, 1, 5, 31], np.uint32)})
    converted = agree(model, {"x": np.asarray([7, 2**31, 1000, 3], np.uint32)})
    assert len(op_names(converted)) == 1


def legacy(op_type: str, left: tuple[int, ...], right: tuple[int, ...], **attributes: int) -> onnx.ModelProto:
    float32 = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(op_type, ["x", "z"], ["y"], **attributes)],
        "g",
        [onnx.helper.make_tensor_value_info(n, float32, s) for n, s in (("x", left), ("z", right))],
        [onnx.helper.make_tensor_value_info("y", float32, left)],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 6)], ir_version=3)


def test_old_models_name_the_axis_to_broadcast_from() -> None:
    x, z = normal(2, 3, 4), normal(3)
    found = ew.convert(legacy("Add", (2, 3, 4), (3,), broadcast=1, axis=1)).run({"x": x, "z": z})["y"]
    np.testing.assert_array_equal(found, x + z.reshape(3, 1))


def test_an_old_axis_that_leaves_no_room_is_refused_with_both_ranks() -> None:
    with pytest.raises(ShapeMismatch, match="axis 2 leaves too few of 3 axes for an operand of rank 2"):
        ew.convert(legacy("Add", (2, 3, 4), (3, 4), broadcast=1, axis=2))


def test_shapes_that_do_not_broadcast_are_refused_with_both_shapes() -> None:
    model = model_of("g (float[2,3] x, float[4] z) => (float[2,3] y) { y = Add(x, z) }")
    with pytest.raises(ShapeMismatch, match=r"\[2,3\] and \[4\] do not broadcast"):
        ew.convert(model)


def test_operands_of_two_datatypes_are_refused_with_both() -> None:
    model = model_of("g (float[2] x, int32[2] z) => (float[2] y) { y = Add(x, z) }")
    with pytest.raises(TypeMismatch, match="is int32, expected float"):
        ew.convert(model)


def test_a_condition_must_be_true_or_false() -> None:
    model = model_of("g (float[2] c, float[2] x) => (float[2] y) { y = Where(c, x, x) }")
    with pytest.raises(TypeMismatch, match="'condition' is float"):
        ew.convert(model)


@pytest.mark.parametrize(
    "text",
    [
        'y = BitShift<direction="UP">(n, n)',
        "y = BitShift(n, n)",
        "y = Erf(n)",
        "y = Add(x)",
        "y = Sum()",
        "y = Not(x, x, x)",
        'y = Mod<fmod="yes">(x, x)',
        'y = IsInf<detect_negative="a">(x)',
    ],
)
def test_nodes_that_make_no_sense_end_in_an_error_that_says_so(text: str) -> None:
    model = model_of(f"g (float[2] x, int32[2] n) => (float[2] y) {{ {text} }}")
    with pytest.raises(EdgewrightError):
        ew.convert(model)


def expand_model() -> onnx.ModelProto:
    """As PyTorch writes expand(-1, 3, -1): -1 in the target shape means "as it was"."""
    text = """g (float[B,1,T] x, float[B,3,T] like) => (float[B,3,T] y) {
        s = Shape(like)
        is_open = Equal(s, minus)
        target = Where(is_open, ones, s)
        y = Expand(x, target) }"""
    weights = {"minus": np.asarray(-1, np.int64), "ones": np.ones(3, np.int64)}
    return model_of(text, weights)


def test_a_comparison_of_sizes_is_settled_where_no_size_can_change_it() -> None:
    feeds = [{"x": normal(b, 1, t), "like": normal(b, 3, t)} for b, t in ((2, 5), (4, 1))]
    agree(expand_model(), *feeds)


def run_once(text: str, feed: dict[str, Array]) -> Array:
    return ew.convert(model_of(text)).run(feed)["y"]


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_widths_of_floats_compute_too(dtype: type) -> None:
    name = {np.float16: "float16", np.float64: "double"}[dtype]
    x = np.linspace(0.5, 2, 7).astype(dtype)
    text = f"g ({name}[7] x) => ({name}[7] y) {{ a = Log(x) \n b = Sqrt(x) \n y = Mul(a, b) }}"
    found = run_once(text, {"x": x})
    assert found.dtype == dtype
    np.testing.assert_allclose(found.astype(np.float64), np.log(x) * np.sqrt(x), rtol=2e-3, atol=1e-3)
