"""Ops at every earlier version: as ONNX Runtime computes them, or as the newest where it no longer can.

Where a version has a meaning of its own that ONNX Runtime lost with opset 7, numpy says what it is.
"""

from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxruntime.capi import onnxruntime_pybind11_state as state

from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from edgewright.onnx_backend import EdgewrightBackend
from tests.backend.onnx_suite import compare
from tests.unit.frontends.onnx.older_opsets import OlderCase, older_cases
from tests.unit.frontends.onnx.side_by_side import model_of, normal

# Versions that are refused, all of them from before opset 7 or with inputs that are no tensors.
REFUSED = {
    *("BatchNormalization-6", "GRU-1", "GRU-3", "InstanceNormalization-1", "LSTM-1", "RNN-1", "Reshape-1"),
    *("OptionalGetElement-15", "OptionalGetElement-18", "OptionalHasElement-15", "OptionalHasElement-18"),
    # Their newest cases broadcast as no old version did, or need an op of a later opset.
    *("PRelu-1", "PRelu-6", "MaxUnpool-9"),
}
# ONNX Runtime contradicts ONNX's own results.
NOT_AS_ONNX_RUNTIME = {"DFT", "MaxUnpool"}
PAIRS_AT_LEAST = 390
ARITHMETIC = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power}
COMPARISONS = {"Less": np.less, "Greater": np.greater}


def run(model: Any, *arrays: Array) -> list[Array]:
    return [*EdgewrightBackend.prepare(model).run([*arrays])]


def expected_of(case: OlderCase) -> list[Array]:
    if case.name.split("-")[0] in NOT_AS_ONNX_RUNTIME:
        return case.expected
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    data = case.model.SerializeToString()
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return session.run(None, case.feed)
    except (state.Fail, state.InvalidArgument, state.InvalidGraph, state.NotImplemented):
        return case.expected


def problem_of(case: OlderCase) -> str:
    """What is wrong with a case; "" where nothing is."""
    try:
        outputs = run(case.model, *case.feed.values())
        compare(outputs, expected_of(case), rtol=1e-3, atol=1e-5)
    except EdgewrightError as problem:
        return f"refused: {problem}"
    except AssertionError as problem:
        return f"wrong: {problem}"
    return ""


def test_every_version_of_every_op_means_what_onnx_says() -> None:
    found = {case.name: problem_of(case) for case in older_cases()}
    assert len({name.rsplit("-", 1)[0] for name in found}) >= PAIRS_AT_LEAST
    problems = {name: text for name, text in found.items() if text}
    unknown = {n: text for n, text in problems.items() if n.rsplit("-", 1)[0] not in REFUSED}
    assert not unknown, unknown
    assert not [text for text in problems.values() if not text.startswith("refused")]


@st.composite
def legacy_shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], int, int]:
    """A shape, and the first axis and the number of axes that a second operand covers."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=2, max_size=4)))
    axis = draw(st.integers(0, len(shape) - 1))
    return shape, axis, draw(st.integers(1, len(shape) - axis))


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS])
@given(case=legacy_shapes())
def test_before_opset_7_a_second_operand_lies_along_the_named_axes(
    op: str, case: tuple[tuple[int, ...], int, int]
) -> None:
    shape, axis, count = case
    part = shape[axis : axis + count]
    kind = "bool" if op in COMPARISONS else "float"
    x, y = np.abs(normal(*shape)) + 0.5, np.abs(normal(*part, seed=1)) + 0.5
    text = (
        f"g (float{[*shape]} a, float{[*part]} b) => ({kind}{[*shape]} c) "
        f"{{ c = {op}<broadcast=1, axis={axis}>(a, b) }}"
    )
    (found,) = run(model_of(text, opsets={"": 6}), x, y)
    wide = y.reshape(*part, *[1] * (len(shape) - axis - count))
    np.testing.assert_allclose(found, {**ARITHMETIC, **COMPARISONS}[op](x, wide), rtol=1e-5)


@pytest.mark.parametrize("opset", [1, 6])
@given(shape=st.lists(st.integers(1, 4), min_size=2, max_size=4), is_shared=st.booleans())
def test_before_opset_7_slopes_are_one_for_all_or_one_for_each_channel(
    opset: int, shape: list[int], *, is_shared: bool
) -> None:
    channels = 1 if is_shared else shape[1]
    x, slope = normal(*shape), normal(channels, seed=1)
    text = f"g (float{shape} x, float[{channels}] s) => (float{shape} y) {{ y = PRelu(x, s) }}"
    (found,) = run(model_of(text, opsets={"": opset}), x, slope)
    wide = slope.reshape(1, -1, *[1] * (len(shape) - 2))
    np.testing.assert_allclose(found, np.where(x > 0, x, x * wide), rtol=1e-6)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [1, 11, 12])
@given(data=st.data())
def test_before_opset_13_classes_are_all_axes_from_the_given_one_on(
    op: str, opset: int, data: st.DataObject
) -> None:
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = normal(*shape)
    text = f"g (float{shape} x) => (float{shape} y) {{ y = {op}<axis={axis}>(x) }}"
    (found,) = run(model_of(text, opsets={"": opset}), x)
    rows = x.reshape(int(np.prod(shape[:axis])), -1).astype(np.float64)
    shares = np.exp(rows - rows.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    results = {
        "Softmax": shares,
        "LogSoftmax": np.log(shares),
        "Hardmax": np.eye(rows.shape[1])[rows.argmax(1)],
    }
    np.testing.assert_allclose(found.reshape(rows.shape), results[op], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("opset", [1, 6])
def test_before_opset_7_a_normalization_says_that_it_does_not_train(opset: int) -> None:
    x, scale, bias, mean = normal(2, 3, 4), normal(3), normal(3, seed=1), normal(3, seed=2)
    variance = np.abs(normal(3, seed=3)) + 0.1
    more = ", consumed_inputs=[0,0,0,1,1]" if opset == 1 else ""
    text = (
        "g (float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4] y) "
        f"{{ y = BatchNormalization<is_test=1, epsilon=0.01{more}>(x, s, b, m, v) }}"
    )
    (found,) = run(model_of(text, opsets={"": opset}), x, scale, bias, mean, variance)
    s, b, m, v = (a[:, None] for a in (scale, bias, mean, variance))
    np.testing.assert_allclose(found, (x - m) / np.sqrt(v + 0.01) * s + b, rtol=1e-4, atol=1e-5)
