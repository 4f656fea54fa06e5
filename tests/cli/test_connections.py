"""Inputs that feed nothing, outputs that are constants, and sources of which little is left are told."""

import logging
from itertools import pairwise

import numpy as np
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.core.errors import UsageError
from edgewright.tools.qnn_onnx_converter import main as convert
from tests.cli.models import save

FLOAT = TensorProto.FLOAT
X, Y = [("x", FLOAT, [2, 3])], [("y", FLOAT, [2, 3])]


def told(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def unread(tmp_path, shape=(2, 3)):
    """A model that does not read its second input."""
    inputs = [*X, ("unread", FLOAT, list(shape))]
    return save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], inputs, Y)


def test_a_connected_model_says_nothing(tmp_path, caplog):
    ew.convert(save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], X, Y))
    assert told(caplog) == []


def test_an_input_that_feeds_nothing_is_told(tmp_path, caplog):
    ew.convert(unread(tmp_path))
    assert told(caplog) == ["input 'unread' feeds nothing: no output depends on it"]


def test_an_input_that_was_named_and_feeds_nothing_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="input 'unread' was named, but no output depends on it") as found:
        ew.convert(unread(tmp_path), input_shapes={"x": (2, 3), "unread": (2, 3)})
    assert found.value.do.startswith("leave it out")


def test_the_open_sizes_of_an_input_that_feeds_nothing_need_no_number(tmp_path, call):
    answer = call(convert, "-i", unread(tmp_path, ("n", "m")), "-o", tmp_path / "m.cpp")
    assert answer.code == 0
    assert "input 'unread' feeds nothing" in answer.err
    assert "note: input 'unread' feeds nothing" in answer.out
    named = ("-d", "unread", "4,5")
    answer = call(convert, "-i", unread(tmp_path, ("n", "m")), "-o", tmp_path / "m.cpp", *named)
    assert (answer.code, "input 'unread' was named, but no output depends on it" in answer.err) == (2, True)


def test_an_output_that_depends_on_no_input_is_told(tmp_path, caplog):
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["c"], ["fixed"])]
    outputs = [*Y, ("fixed", FLOAT, [3])]
    ew.convert(save(tmp_path / "m.onnx", nodes, X, outputs, {"c": np.float32([1, 2, 3])}))
    assert told(caplog) == ["output 'fixed' depends on no input: it is a constant"]


def test_an_input_of_which_only_the_shape_is_read_is_told(tmp_path, caplog):
    nodes = [
        helper.make_node("Shape", ["z"], ["sizes"]),
        helper.make_node("Reshape", ["x", "sizes"], ["y"]),
    ]
    ew.convert(save(tmp_path / "m.onnx", nodes, [*X, ("z", FLOAT, [2, 3])], Y))
    assert told(caplog) == ["the values of input 'z' have no effect: only its shape is read"]


def test_a_source_of_which_less_than_half_is_left_is_told(tmp_path, caplog):
    chain = ["x", "a", "b", "c", "y"]
    nodes = [helper.make_node("Relu", [one], [two]) for one, two in pairwise(chain)]
    path = save(tmp_path / "m.onnx", nodes, X, Y)
    ew.convert(path, outputs=["b"])
    assert told(caplog) == []
    ew.convert(path, outputs=["a"])
    (note,) = told(caplog)
    assert note.startswith("only 1 of the 4 nodes that the source computes from its inputs lie between")
