"""Python functions as the meaning of custom ops."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BackendCrash, BadInput, EdgewrightError, UsageError
from edgewright.ir.text import to_text
from edgewright.model.saving import load_graph
from tests.cli.op_packages import wobble_net

X = np.float32([[0.5, -1, 0.25, 2], [1, 2, 3, 4]])


def doubled(x, *, factor):
    return x * np.float32(factor)


def test_a_function_is_the_ops_meaning_everywhere(tmp_path):
    ew.op_package("Strange", "Wobble")(doubled)
    model = ew.convert(wobble_net(tmp_path / "m.onnx", 2.0))
    wanted = (np.maximum(X, 0) * 2)[:, :3]
    assert np.array_equal(model.run({"x": X})["y"], wanted)
    quantized = ew.quantize(model, [{"x": X}])
    assert np.allclose(quantized.run({"x": X}, backend="htp-sim")["y"], wanted, atol=0.1)
    for name in ("m.dlc", "m_net.json"):
        quantized.save(tmp_path / name)
        loaded = ew.load(tmp_path / name)
        assert np.array_equal(loaded.run({"x": X})["y"], quantized.run({"x": X})["y"])


def test_shapes_may_be_given_with_data_types(tmp_path):
    ew.op_package("Strange", "Wobble", shapes=lambda x, **_: [(x, "float32")])(doubled)
    model = ew.convert(wobble_net(tmp_path / "m.onnx", 2.0))
    assert model.run({"x": X})["y"].shape == (2, 3)


def test_a_function_that_fails_names_the_op_and_the_reason(tmp_path):
    calls = []

    @ew.op_package("Strange", "Wobble")
    def wobble(x, *, factor):
        calls.append(factor)
        if len(calls) > 1:
            raise OSError("the sea is rough")
        return x

    model = ew.convert(wobble_net(tmp_path / "m.onnx"))
    with pytest.raises(BackendCrash, match="package 'Strange' failed: OSError: the sea is rough") as caught:
        model.run({"x": X})
    assert "node 'wobble'" in str(caught.value)


def test_a_result_of_another_shape_is_refused(tmp_path):
    ew.op_package("Strange", "Wobble", shapes=lambda x, **_: [x])(lambda x, factor: x[:1])
    model = ew.convert(wobble_net(tmp_path / "m.onnx"))
    with pytest.raises(BackendCrash, match=r"made \[1, 4\] for output 0, expected"):
        model.run({"x": X})


def test_a_function_that_zeros_break_asks_for_shapes(tmp_path):
    @ew.op_package("Strange", "Wobble")
    def wobble(x, *, factor):
        raise ValueError("no")

    with pytest.raises(EdgewrightError, match=r"failed on a trial run with zeros: ValueError: no"):
        ew.convert(wobble_net(tmp_path / "m.onnx"))


def test_shapes_that_are_none_are_refused(tmp_path):
    ew.op_package("Strange", "Wobble", shapes=lambda x, **_: 7)(doubled)
    with pytest.raises(EdgewrightError, match="expected a list of shapes"):
        ew.convert(wobble_net(tmp_path / "m.onnx"))


def test_a_name_that_is_none_is_a_usage_error():
    with pytest.raises(UsageError, match="op 'a b' is not a valid name"):
        ew.op_package("Strange", "a b")(doubled)
    assert issubclass(BadInput, EdgewrightError)


def test_what_onnx_cannot_hold_is_refused_and_the_text_names_the_op(tmp_path):
    ew.op_package("Strange", "Wobble")(doubled)
    model = ew.convert(wobble_net(tmp_path / "m.onnx", 2.0))
    with pytest.raises(EdgewrightError, match="op 'Wobble' cannot be written"):
        model.save(tmp_path / "again.onnx")
    text = to_text(load_graph(model.save(tmp_path / "m.cpp").net_json))
    assert 'Wobble(a) {values=(("factor", dtype(float_32), 2.0, false),)' in text
