"""ONNX activation functions keep their numbers, and become one QNN op where there is one."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError, TypeMismatch
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names

MICROSOFT = {"com.microsoft": 1}
X = np.linspace(-8, 8, 24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("call", "ops"),
    [
        ("Relu(x)", ["Relu"]),
        ("Sigmoid(x)", ["Sigmoid"]),
        ("Tanh(x)", ["Tanh"]),
        ("HardSwish(x)", ["HardSwish"]),
        ("HardSigmoid(x)", ["ElementWiseNeuron"]),
        ("HardSigmoid<alpha=0.3, beta=0.1>(x)", ["ElementWiseNeuron"]),
        ("Softplus(x)", ["ElementWiseSoftplus"]),
        ("Elu(x)", ["Elu"]),
        ("Elu<alpha=2.5>(x)", ["Elu"]),
        ("LeakyRelu<alpha=0.2>(x)", ["Prelu"]),
        ("Gelu(x)", ["Gelu"]),
        ("Selu(x)", ["Elu", "ElementWiseMultiply"]),
        ("Celu(x)", ["Elu"]),
        ("Softsign(x)", ["ElementWiseAbs", "ElementWiseAdd", "ElementWiseDivide"]),
        ("ThresholdedRelu<alpha=2.0>(x)", ["ElementWiseGreater", "ElementWiseSelect"]),
    ],
)
def test_an_activation_is_the_qnn_op_of_its_kind(call: str, ops: list[str]) -> None:
    model = model_of(f"g (float[2,3,N] x) => (float[2,3,N] y) {{ y = {call} }}")
    assert op_names(agree(model, {"x": X}, {"x": X[:, :, :1] * 3})) == ops


@pytest.mark.parametrize(
    "call",
    [
        'Gelu<approximate="tanh">(x)',
        "Celu<alpha=2.5>(x)",
        "Selu<alpha=1.5, gamma=2.0>(x)",
        "Mish(x)",
        "Shrink<lambd=1.5, bias=0.5>(x)",
        "Shrink(x)",
    ],
)
def test_an_activation_that_qnn_lacks_is_composed(call: str) -> None:
    model = model_of(f"g (float[2,3,4] x) => (float[2,3,4] y) {{ y = {call} }}", opsets={"": 22})
    assert "SourceOp" not in op_names(agree(model, {"x": X}))


@pytest.mark.parametrize(
    "call",
    ["Gelu(x)", "FastGelu(x)", "FastGelu(x, b)", "QuickGelu(x)", "QuickGelu<alpha=1.5>(x)", "BiasGelu(x, b)"],
)
def test_gelus_of_onnx_runtime_are_known(call: str) -> None:
    model = model_of(
        f"g (float[2,3,4] x) => (float[2,3,4] y) {{ y = com.microsoft.{call} }}", {"b": normal(4)}, MICROSOFT
    )
    agree(model, {"x": X})


@pytest.mark.parametrize("slope", [(3, 1), (1,), (4,), (2, 3, 4)])
def test_slopes_of_prelu_broadcast(slope: tuple[int, ...]) -> None:
    model = model_of("g (float[2,3,4] x) => (float[2,3,4] y) { y = PRelu(x, s) }", {"s": normal(*slope)})
    assert op_names(agree(model, {"x": X})) == ["Prelu"]


@pytest.mark.parametrize(
    ("bounds", "ops"),
    [
        ({"low": 0.0, "high": 6.0}, ["Relu6"]),
        ({"low": -1.5, "high": 2.0}, ["ReluMinMax"]),
        ({"low": 2.0, "high": -1.0}, ["ReluMinMax"]),
        ({"low": 0.0}, ["Relu"]),
        ({"low": -1.0}, ["ElementWiseMaximum"]),
        ({"high": 1.0}, ["ElementWiseMinimum"]),
    ],
)
def test_known_bounds_choose_the_op_of_a_clip(bounds: dict[str, float], ops: list[str]) -> None:
    low, high = ("low" if "low" in bounds else '""'), ("high" if "high" in bounds else '""')
    node = f"y = Clip(x, {low}, {high})".replace('""', "")
    model = model_of(
        f"g (float[2,3,4] x) => (float[2,3,4] y) {{ {node} }}",
        {name: np.asarray(bound, np.float32) for name, bound in bounds.items()},
    )
    assert op_names(agree(model, {"x": X})) == ops


def test_bounds_that_a_run_decides_are_a_maximum_and_a_minimum() -> None:
    model = model_of(
        "g (float[2,3,4] x, float low, float high) => (float[2,3,4] y) { y = Clip(x, low, high) }"
    )
    feed = {"x": X, "low": np.asarray(-1, np.float32), "high": np.asarray(3, np.float32)}
    assert op_names(agree(model, feed)) == ["ElementWiseMaximum", "ElementWiseMinimum"]


def test_bounds_of_old_clips_are_attributes() -> None:
    model = model_of(
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Clip<min=-1.0, max=2.0>(x) }", opsets={"": 7}
    )
    assert op_names(agree(model, {"x": X})) == ["ReluMinMax"]


def test_whole_numbers_are_clipped_exactly() -> None:
    weights = {"low": np.asarray(-(2**40), np.int64), "high": np.asarray(2**40 + 1, np.int64)}
    model = model_of("g (int64[3] x) => (int64[3] y) { y = Clip(x, low, high) }", weights)
    agree(model, {"x": np.asarray([-(2**41), 5, 2**41], np.int64)})


@pytest.mark.parametrize(
    "call",
    [
        "Celu<alpha=0.0>(x)",
        'Gelu<approximate="fast">(x)',
        'Elu<alpha="a">(x)',
        "Clip(x, w, w)",
        "PRelu(x, w)",
    ],
)
def test_activations_that_make_no_sense_end_in_an_error_that_says_so(call: str) -> None:
    model = model_of(f"g (float[2,3,4] x, float[7] w) => (float[2,3,4] y) {{ y = {call} }}")
    with pytest.raises(EdgewrightError):
        ew.convert(model)


def test_truth_values_have_no_activation() -> None:
    text = "g (bool[4] x) => (bool[4] y) { y = com.microsoft.QuickGelu(x) }"
    with pytest.raises(TypeMismatch, match="is BOOL_8, expected numbers"):
        ew.convert(model_of(text, opsets=MICROSOFT))
