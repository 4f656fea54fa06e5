"""Sequences and optionals: decided while the graph is built, refused where they cannot be."""

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import edgewright as ew
from edgewright.core.errors import EdgewrightError

X = np.arange(6, dtype=np.float32).reshape(3, 2)


def info(name, shape=(3, 2), code=T.FLOAT):
    return h.make_tensor_value_info(name, code, shape)


def model(nodes, outputs, opset=18, inputs=()):
    graph = h.make_graph(nodes, "g", [info("x"), *inputs], outputs)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)


def const(name, *values):
    return h.make_node("Constant", [], [name], value_ints=list(values))


def at(index):
    return [const("i", index), h.make_node("SequenceAt", ["s", "i"], ["y"])]


def test_a_sequence_is_mapped_item_by_item():
    body = h.make_graph(
        [h.make_node("Add", ["a", "b"], ["c"])],
        "b",
        [info("a", ("n",)), info("b", (3, 2))],
        [info("c", None)],
    )
    nodes = [
        h.make_node("SplitToSequence", ["x"], ["s0"], axis=1, keepdims=0),
        h.make_node("SplitToSequence", ["x"], ["s1"], axis=0),
        h.make_node("SequenceConstruct", ["x", "x", "x"], ["s2"]),
        h.make_node("SequenceMap", ["s1", "s2"], ["s"], body=body),
        const("i", -1),
        h.make_node("SequenceAt", ["s", "i"], ["y"]),
        h.make_node("SequenceLength", ["s0"], ["n"]),
    ]
    found = ew.convert(model(nodes, [info("y", None), info("n", (), T.INT64)])).run({"x": X})
    np.testing.assert_array_equal(found["y"], X[2:] + X)
    assert found["n"] == 2


def split(*parts):
    nodes = [
        const("p", *parts),
        h.make_node("SplitToSequence", ["x", "p"], ["s"], axis=0),
        h.make_node("ConcatFromSequence", ["s"], ["y"], axis=0),
    ]
    return model(nodes, [info("y", None)])


@pytest.mark.parametrize("parts", [(1, 2), (3,), (0, 3)])
def test_parts_of_a_split_join_to_the_whole(parts):
    np.testing.assert_array_equal(ew.convert(split(*parts)).run({"x": X})["y"], X)


@pytest.mark.parametrize("parts", [(2,), (2, 2), (4, -1)])
def test_parts_that_do_not_add_up_are_refused(parts):
    with pytest.raises(EdgewrightError, match="do not add up"):
        ew.convert(split(*parts))


@pytest.mark.parametrize("index", [3, -4])
def test_a_position_outside_a_sequence_is_refused(index):
    nodes = [h.make_node("SequenceConstruct", ["x", "x", "x"], ["s"]), *at(index)]
    with pytest.raises(EdgewrightError, match="outside a sequence of 3 items"):
        ew.convert(model(nodes, [info("y", None)]))


def test_a_position_that_is_an_input_is_bound():
    nodes = [
        h.make_node("Neg", ["x"], ["z"]),
        h.make_node("SequenceConstruct", ["x", "z"], ["s"]),
        h.make_node("SequenceAt", ["s", "i"], ["y"]),
    ]
    converted = ew.convert(model(nodes, [info("y", None)], inputs=[info("i", (), T.INT64)]))
    for index, sign in ((0, 1), (1, -1), (-1, -1), (0, 1)):
        np.testing.assert_array_equal(converted.run({"x": X, "i": np.asarray(index)})["y"], sign * X)


def test_optionals_open_to_what_they_hold():
    nodes = [
        h.make_node("Optional", ["x"], ["o"]),
        h.make_node("OptionalHasElement", ["o"], ["has"]),
        h.make_node("OptionalGetElement", ["o"], ["y"]),
        h.make_node("OptionalHasElement", [], ["none"]),
    ]
    outputs = [info("y"), info("has", (), T.BOOL), info("none", (), T.BOOL)]
    found = ew.convert(model(nodes, outputs)).run({"x": X})
    np.testing.assert_array_equal(found["y"], X)
    assert (bool(found["has"]), bool(found["none"])) == (True, False)


@pytest.mark.parametrize(
    "nodes",
    [
        [h.make_node("SequenceEmpty", [], ["s"]), h.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)],
        [h.make_node("SequenceEmpty", [], ["s"]), h.make_node("SequenceErase", ["s"], ["y"])],
        [h.make_node("SequenceLength", ["x"], ["y"])],
    ],
)
def test_what_cannot_be_a_tensor_is_refused(nodes):
    with pytest.raises(EdgewrightError) as caught:
        ew.convert(model(nodes, [info("y", None)]))
    assert caught.value.exit_code in {3, 4}


@pytest.mark.parametrize(
    "nodes",
    [
        [h.make_node("SequenceConstruct", ["x"], ["s"]), h.make_node("Relu", ["s"], ["y"])],
        [h.make_node("SequenceConstruct", ["x"], ["y"])],
    ],
)
def test_a_sequence_where_a_tensor_belongs_is_unsupported(nodes):
    with pytest.raises(EdgewrightError, match="sequence") as caught:
        ew.convert(model(nodes, [info("y", None)]))
    assert caught.value.code == "unsupported-op"
