"""ONNX signal processing by known matrices gives numpy's and ONNX Runtime's numbers."""

from typing import Any

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from tests.unit.frontends.onnx.side_by_side import agree, model_of, normal, op_names


def scalar(number: int) -> Any:
    return np.asarray(number, np.int64)


@pytest.mark.parametrize("length", [None, 6, 8, 11])
@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("inverse", [0, 1])
def test_transform_of_any_length_is_one_product(length: int | None, components: int, inverse: int) -> None:
    x = normal(3, 8, 2, components)
    values = x[..., 0] + (1j * x[..., 1] if components == 2 else 0)
    expected = (np.fft.ifft if inverse else np.fft.fft)(values, n=length, axis=1)
    inputs, known = ("x, n, a", {"n": scalar(length)}) if length else ("x, , a", {})
    text = f"g (float[B,8,2,{components}] x) => (float[B,M,2,2] y) {{ y = DFT<inverse={inverse}>({inputs}) }}"
    converted = ew.convert(model_of(text, {**known, "a": scalar(1)}))
    found = converted.run({"x": x})["y"]
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], expected, rtol=1e-4, atol=1e-5)
    assert op_names(converted).count("FullyConnected") == 1


@pytest.mark.parametrize("length", [7, 8])
def test_one_side_of_a_real_signal_comes_back_as_the_signal(length: int) -> None:
    x = normal(2, length)
    forward = model_of(f"g (float[2,{length},1] x) => (float[2,M,2] y) {{ y = DFT<onesided=1>(x) }}")
    spectrum = ew.convert(forward).run({"x": x[..., None]})["y"]
    assert spectrum.shape == (2, length // 2 + 1, 2)
    text = (
        f"g (float[2,{length // 2 + 1},2] x) => (float[2,M,1] y) {{ y = DFT<onesided=1, inverse=1>(x, n) }}"
    )
    back = ew.convert(model_of(text, {"n": scalar(length)})).run({"x": spectrum})["y"]
    np.testing.assert_allclose(back[..., 0], x, rtol=1e-4, atol=1e-5)


def test_axis_is_an_attribute_in_opset_17_and_an_input_in_opset_20() -> None:
    x = normal(4, 6, 3, 1)
    old = model_of("g (float[4,6,3,1] x) => (float[4,6,3,2] y) { y = DFT<axis=2>(x) }", None, {"": 17})
    new = model_of("g (float[4,6,3,1] x) => (float[4,6,3,2] y) { y = DFT(x) }")
    expected = np.fft.fft(x[..., 0], axis=2)
    for model in (old, new):
        found = ew.convert(model).run({"x": x})["y"]
        np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("onesided", [0, 1])
def test_short_time_transform_is_a_convolution_over_any_length(onesided: int) -> None:
    body = f"y = STFT<onesided={onesided}>(x, step, w)"
    text = f"g (float[B,L,1] x) => (float[B,F,M,2] y) {{ {body} }}"
    model = model_of(text, {"step": scalar(5), "w": np.hanning(16).astype(np.float32)})
    converted = agree(model, {"x": normal(1, 40, 1)}, {"x": normal(3, 61, 1)}, atol=1e-4)
    assert [name for name in op_names(converted) if name != "Reshape"] == ["Conv2d"]


def test_short_time_transform_takes_a_window_that_is_computed() -> None:
    text = "g (float[1,40,1] x, float[16] w) => (float[1,F,9,2] y) { y = STFT(x, step, w, n) }"
    model = model_of(text, {"step": scalar(4), "n": scalar(16)})
    agree(model, {"x": normal(1, 40, 1), "w": normal(16)}, atol=1e-4)


@pytest.mark.parametrize("name", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows_are_the_engines_for_any_size(name: str, periodic: int) -> None:
    text = f"g (int64[1] n) => (float[N] y) {{ s = Squeeze(n) y = {name}<periodic={periodic}>(s) }}"
    agree(model_of(text), {"n": np.asarray([10], np.int64)}, {"n": np.asarray([7], np.int64)})


def test_mel_weights_are_the_engines() -> None:
    values = {"m": scalar(8), "n": scalar(64), "r": scalar(8192)}
    edges = {"lo": np.asarray(20.0, np.float32), "hi": np.asarray(4000.0, np.float32)}
    text = "g (float[1,33] x) => (float[1,8] y) { w = MelWeightMatrix(m, n, r, lo, hi) y = MatMul(x, w) }"
    agree(model_of(text, {**values, **edges}), {"x": normal(1, 33)})


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_determinants_are_written_out_while_they_are_small(size: int) -> None:
    text = f"g (float[B,{size},{size}] x) => (float[B] y) {{ y = Det(x) }}"
    converted = agree(model_of(text), {"x": normal(3, size, size)}, {"x": normal(1, size, size)})
    assert ("SourceOp" in op_names(converted)) == (size > 4)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("y = DFT(x, huge)", "dft_length is -5"),
        ("y = DFT(x, one, last)", "1 or 2 components"),
        ("y = DFT(x, one, far)", "outside a tensor of rank 3"),
        ("y = STFT(x, zero, , one)", "in steps of 0"),
        ("y = STFT(x, one, , big)", "no giants"),
        ("y = STFT(x, one, , nine)", "holds no frame of 9"),
        ("y = HannWindow(big)", "a window of"),
        ("y = HannWindow<output_datatype=99>(one)", "output_datatype is 99"),
        ("y = MelWeightMatrix(one, one, zero, f, f)", "expected positive numbers"),
        ("y = MelWeightMatrix(one, nine, one, f, f)", "outside of what rate 1"),
        ("y = Det(x)", "expected square matrices"),
    ],
)
def test_damaged_parameters_are_refused_in_words(body: str, words: str) -> None:
    numbers = {"huge": -5, "one": 1, "last": 2, "far": 7, "zero": 0, "big": 1 << 40, "nine": 9}
    known = {name: scalar(number) for name, number in numbers.items()}
    model = model_of(
        f"g (float[2,8,1] x) => (float[N] y) {{ {body} }}", {**known, "f": np.asarray(100.0, np.float32)}
    )
    with pytest.raises(EdgewrightError, match=words):
        ew.convert(model)
