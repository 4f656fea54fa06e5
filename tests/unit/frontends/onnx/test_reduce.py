"""ONNX reductions, rankings and softmaxes keep their numbers in every opset and size."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError, ShapeMismatch
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

REDUCTIONS = [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceSumSquare",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
]
POSITIVE = np.abs(normal(2, 3, 4)) + 0.1


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("keep", [0, 1])
def test_axes_are_an_input_and_may_be_negative(name: str, keep: int) -> None:
    shape = "[B,1,1]" if keep else "[B]"
    text = f"g (float[B,3,T] x) => (float{shape} y) {{ y = {name}<keepdims={keep}>(x, axes) }}"
    model = model_of(text, {"axes": np.asarray([-1, 1], np.int64)})
    converted = agree(model, {"x": POSITIVE}, {"x": np.abs(normal(3, 3, 2)) + 0.1})
    assert "SourceOp" not in op_names(converted)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_of_old_models_are_an_attribute(name: str) -> None:
    model = model_of(
        f"g (float[2,3,4] x) => (float[2,4] y) {{ y = {name}<axes=[1], keepdims=0>(x) }}", opsets={"": 11}
    )
    agree(model, {"x": POSITIVE})


@pytest.mark.parametrize("name", REDUCTIONS)
def test_no_axes_mean_all_of_them(name: str) -> None:
    model = model_of(f"g (float[2,3,4] x) => (float[1,1,1] y) {{ y = {name}(x) }}")
    agree(model, {"x": POSITIVE})


def test_no_axes_mean_none_where_the_node_says_so() -> None:
    numbers = {
        "ReduceSum": POSITIVE,
        "ReduceL1": POSITIVE,
        "ReduceLogSum": np.log(POSITIVE),
        "ReduceSumSquare": POSITIVE**2,
    }
    for name, expected in numbers.items():
        model = model_of(
            f"g (float[2,3,4] x) => (float[2,3,4] y) {{ y = {name}<noop_with_empty_axes=1>(x) }}"
        )
        np.testing.assert_allclose(ew.convert(model).run({"x": POSITIVE})["y"], expected, rtol=1e-6)


def test_axes_that_a_run_decides_are_bound() -> None:
    model = model_of("g (float[2,3,4] x, int64[1] axes) => (float[A,B,C] y) { y = ReduceSum(x, axes) }")
    converted = ew.convert(model)
    for axis in (0, 2):
        found = converted.run({"x": POSITIVE, "axes": np.asarray([axis], np.int64)})["y"]
        np.testing.assert_allclose(found, POSITIVE.sum(axis, keepdims=True), rtol=1e-6)


def test_logarithms_of_sums_of_exponentials_do_not_overflow() -> None:
    x = np.asarray([[1000, 1001], [-np.inf, -np.inf], [np.inf, 0], [-1000, -1001]], np.float32)
    model = model_of(
        "g (float[4,2] x) => (float[4] y) { y = ReduceLogSumExp<keepdims=0>(x, axes) }",
        {"axes": np.asarray([1], np.int64)},
    )
    found = ew.convert(model).run({"x": x})["y"]
    np.testing.assert_allclose(found, np.logaddexp(x[:, 0], x[:, 1]), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"])
def test_whole_numbers_are_reduced_as_such(name: str, dtype: str) -> None:
    model = model_of(
        f"g ({dtype}[2,3] x) => ({dtype}[2,1] y) {{ y = {name}(x, axes) }}",
        {"axes": np.asarray([1], np.int64)},
    )
    agree(model, {"x": np.asarray([[1, -2, 3], [4, 5, -6]], dtype)})


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
def test_of_several_extremes_the_first_or_the_last_is_named(name: str, last: int) -> None:
    text = (
        f"g (float[2,T] x) => (int64[2] y) {{ y = {name}<axis=-1, keepdims=0, select_last_index={last}>(x) }}"
    )
    x = np.asarray([[1, 3, 1, 3, 2], [2, 2, 2, 2, 2]], np.float32)
    converted = agree(model_of(text), {"x": x}, {"x": x[:, :3]})
    assert "SourceOp" not in op_names(converted)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_the_best_k_of_any_axis_keep_the_order_of_ties(axis: int, largest: int) -> None:
    text = f"""g (float[4,5,6] x) => (float[A,B,C] y, int64[A,B,C] i)
        {{ y, i = TopK<axis={axis}, largest={largest}>(x, k) }}"""
    x = np.round(normal(4, 5, 6)).astype(np.float32)
    agree(model_of(text, {"k": np.asarray([3], np.int64)}), {"x": x})


def test_the_k_of_old_models_is_an_attribute() -> None:
    text = "g (float[4,6] x) => (float[4,2] y, int64[4,2] i) { y, i = TopK<axis=1, k=2>(x) }"
    agree(model_of(text, opsets={"": 9}), {"x": normal(4, 6)})


def test_a_k_that_a_run_decides_is_bound() -> None:
    model = model_of("g (float[4,6] x, int64[1] k) => (float[4,K] y, int64[4,K] i) { y, i = TopK(x, k) }")
    x, converted = normal(4, 6), ew.convert(model)
    for k in (1, 4):
        found = converted.run({"x": x, "k": np.asarray([k], np.int64)})
        np.testing.assert_array_equal(found["y"], -np.sort(-x)[:, :k])


@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_running_sums_go_both_ways_with_or_without_the_element(exclusive: int, reverse: int) -> None:
    call = f"CumSum<exclusive={exclusive}, reverse={reverse}>(x, axis)"
    model = model_of(
        f"g (float[2,T] x) => (float[2,T] y) {{ y = {call} }}", {"axis": np.asarray(1, np.int64)}
    )
    assert op_names(agree(model, {"x": normal(2, 5)}, {"x": normal(2, 1)})) == ["CumulativeSum"]


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_old_softmaxes_flatten_and_new_ones_do_not(name: str, opset: int, axis: int) -> None:
    text = f"g (float[B,3,T] x) => (float[B,3,T] y) {{ y = {name}<axis={axis}>(x) }}"
    converted = agree(model_of(text, opsets={"": opset}), {"x": normal(2, 3, 4)}, {"x": normal(3, 3, 1)})
    assert "SourceOp" not in op_names(converted)


def test_a_softmax_of_large_numbers_does_not_overflow() -> None:
    model = model_of("g (float[1,3] x) => (float[1,3] y) { y = Softmax(x) }")
    agree(model, {"x": np.asarray([[1e4, 1e4 + 1, -1e4]], np.float32)})


def test_running_products_of_a_long_axis_stay_the_sources_op() -> None:
    text = """g (float[4] x, float[9000] z) => (float[4] y, float[9000] w)
        { y = CumProd(x, axis) \n w = CumProd(z, axis) }"""
    converted = ew.convert(model_of(text, {"axis": np.asarray(0, np.int64)}, {"": 26}))
    names = op_names(converted)
    assert names.count("SourceOp") == 1
    assert "ReduceProd" in names


@pytest.mark.parametrize(
    "call",
    [
        "ReduceSum(x, three)",
        "Softmax<axis=5>(x)",
        "ArgMax<axis=-4>(x)",
        "CumSum(x, three)",
        'ArgMax<axis="a">(x)',
        "ReduceSum<axes=[9]>(x)",
        "ArgMax(empty)",
    ],
)
def test_axes_outside_the_tensor_end_in_an_error_that_says_so(call: str) -> None:
    model = model_of(
        f"g (float[2,3,4] x, float[0,2] empty) => (float[A,B,C] y) {{ y = {call} }}",
        {"three": np.asarray([3], np.int64)},
        {"": 11 if "axes=" in call else 21},
    )
    with pytest.raises(EdgewrightError):
        ew.convert(model)


def test_more_elements_than_there_are_cannot_be_the_best() -> None:
    text = "g (float[2,3] x) => (float[2,9] y, int64[2,9] i) { y, i = TopK(x, k) }"
    with pytest.raises(ShapeMismatch, match="k is 9, but the axis has 3 elements"):
        ew.convert(model_of(text, {"k": np.asarray([9], np.int64)}))
