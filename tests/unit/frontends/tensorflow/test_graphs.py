"""Graphs written byte by byte: names, functions, stored tensors, and files that are damaged or hostile."""

import re
from contextlib import suppress

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, LimitExceeded, Problems, UnsupportedFeature, UsageError
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.tensorflow.load import TensorflowSource
from tests.unit.frontends.tensorflow.graph_writer import (
    FLOAT,
    HALF,
    attribute,
    calls,
    const,
    dtype,
    field,
    function,
    graph,
    node,
    placeholder,
    saved_model,
    shape,
    signature,
)

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def written(tmp_path):
    def write(data, name="graph.pb"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


def converted(path, **options):
    return ew.convert(path, **options)


def plus_one(*inputs):
    return node("y", "AddV2", *inputs)


def test_inputs_are_placeholders_and_outputs_what_nobody_reads(written):
    file = written(graph(placeholder("x", 2, 3), const("one", np.float32(1)), plus_one("x", "one")))
    model = converted(file)
    assert [item.name for item in model.inputs] == ["x:0"]
    np.testing.assert_array_equal(model.run({"x:0": X})["y:0"], X + 1)


def test_a_graph_may_begin_at_any_tensor_that_is_given_a_shape(written):
    nodes = (node("start", "DecodeJpeg", "file"), node("file", "Placeholder"), node("y", "Neg", "start"))
    model = converted(written(graph(*nodes)), input_shapes={"start": (2, 3)})
    np.testing.assert_array_equal(model.run({"start:0": X})["y:0"], -X)


def test_an_input_of_unknown_shape_asks_for_one(written):
    file = written(graph(node("x", "Placeholder", dtype=dtype(FLOAT)), node("y", "Neg", "x")))
    with pytest.raises(UsageError, match="the shape of input 'x:0' is not known") as found:
        converted(file)
    assert "input_shapes={'x:0': [1, 224, 224, 3]}" in found.value.do
    np.testing.assert_array_equal(converted(file, input_shapes={"x": (2, 3)}).run({"x:0": X})["y:0"], -X)


def test_a_placeholder_with_a_constant_default_is_that_constant(written):
    file = written(
        graph(
            placeholder("x", 2, 3),
            const("two", np.float32(2)),
            node("phase", "PlaceholderWithDefault", "two", shape=field(7, shape())),
            node("y", "Mul", "x", "phase"),
        )
    )
    np.testing.assert_array_equal(converted(file).run({"x:0": X})["y:0"], X * 2)


def test_nested_functions_are_inlined_and_named_after_their_calls(written):
    inner = function("inner", ["a"], {"r": "neg:y:0"}, node("neg", "Neg", "a"))
    outer = function(
        "outer",
        ["a"],
        {"r": "call:output:0"},
        node("sum", "AddV2", "a", "a"),
        node("call", "PartitionedCall", "sum:z:0", f=calls("inner")),
    )
    call = node("main", "StatefulPartitionedCall", "x", f=calls("outer"))
    file = written(graph(placeholder("x", 2, 3), call, functions=(inner, outer)))
    source = TensorflowSource.open(file)
    assert "main/call/neg:0" in source.tensors
    np.testing.assert_array_equal(converted(file).run({"x:0": X})["main:0"], -2 * X)


def test_a_function_may_be_called_by_its_name_and_its_outputs_too(written):
    two = function("two", ["a"], {"low": "neg:y:0", "high": "a"}, node("neg", "Neg", "a"))
    outer = function("outer", ["a"], {"r": "t:high:0"}, node("t", "two", "a"))
    file = written(graph(placeholder("x", 2, 3), node("y", "outer", "x"), functions=(two, outer)))
    np.testing.assert_array_equal(converted(file).run({"x:0": X})["y:0"], X)


def test_outputs_of_an_op_inside_a_function_are_found_by_their_names(written):
    best = function(
        "best",
        ["a", "k"],
        {"r": "top:indices:0"},
        node("top", "TopKV2", "a", "k", T=dtype(FLOAT), sorted=True),
    )
    call = node("y", "PartitionedCall", "x", "k", f=calls("best"))
    file = written(graph(placeholder("x", 2, 3), const("k", np.int32(1)), call, functions=(best,)))
    np.testing.assert_array_equal(converted(file).run({"x:0": X})["y:0"], [[2], [2]])


@pytest.mark.parametrize("is_cyclic", [False, True])
def test_functions_that_call_themselves_are_refused(written, is_cyclic):
    other = "b" if is_cyclic else "a"
    functions = (
        function("a", ["x"], {"r": "c:output:0"}, node("c", "PartitionedCall", "x", f=calls(other))),
        function("b", ["x"], {"r": "c:output:0"}, node("c", "PartitionedCall", "x", f=calls("a"))),
    )
    call = node("y", "PartitionedCall", "x", f=calls("a"))
    with pytest.raises(BadInput, match="calls itself"):
        converted(written(graph(placeholder("x", 2, 3), call, functions=functions)))


def test_functions_that_double_are_stopped_in_time(written):
    functions = [function("f0", ["x"], {"r": "n:y:0"}, node("n", "Neg", "x"))]
    for i in range(1, 40):
        twice = (node(f"c{j}", "PartitionedCall", "x", f=calls(f"f{i - 1}")) for j in (0, 1))
        functions.append(function(f"f{i}", ["x"], {"r": "c0:output:0"}, *twice))
    call = node("y", "PartitionedCall", "x", f=calls("f39"))
    with pytest.raises(LimitExceeded, match="functions add more than"):
        converted(written(graph(placeholder("x", 2, 3), call, functions=functions)))


def stored(kind, *dims, **content):
    """A tensor whose elements are stored one by one."""
    fields = {"half": 13, "float": 5, "int": 7}
    values = b"".join(field(fields[name], value) for name, values in content.items() for value in values)
    return field(8, field(1, kind) + field(2, shape(*dims)) + values)


def test_the_last_stored_number_fills_the_rest(written):
    value = stored(FLOAT, 2, 3, float=[1.0, 2.0])
    constant = node("c", "Const", dtype=dtype(FLOAT), value=value)
    file = written(graph(placeholder("x", 2, 3), constant, plus_one("x", "c")))
    expected = X + np.asarray([[1, 2, 2], [2, 2, 2]], np.float32)
    np.testing.assert_array_equal(converted(file).run({"x:0": X})["y:0"], expected)


def test_a_number_that_would_fill_the_memory_is_refused(written):
    constant = node("c", "Const", dtype=dtype(HALF), value=stored(HALF, 10**6, 10**6, half=[0x3C00]))
    with pytest.raises(LimitExceeded, match="1 stored elements are to fill shape"):
        converted(written(graph(placeholder("x", 2, 3), constant, plus_one("x", "c"))))


def test_content_that_does_not_fit_its_shape_is_an_error(written):
    value = field(8, field(1, FLOAT) + field(2, shape(4)) + field(4, b"\0" * 12))
    constant = node("c", "Const", dtype=dtype(FLOAT), value=value)
    with pytest.raises(BadInput, match=re.escape("12 bytes are stored, but FLOAT_32 [4] takes 16")):
        converted(written(graph(placeholder("x", 2, 3), constant, plus_one("x", "c"))))


def test_negative_and_huge_dimensions_are_errors(written):
    with pytest.raises(BadInput, match="out of range"):
        converted(written(graph(placeholder("x", -2), node("y", "Neg", "x"))))
    with pytest.raises(BadInput, match="out of range"):
        converted(written(graph(placeholder("x", 1 << 60), node("y", "Neg", "x"))))


def test_every_unknown_op_is_listed_at_once(written):
    nodes = (node("a", "Mystery", "x"), node("b", "Riddle", "x"), node("y", "AddV2", "a", "b"))
    with pytest.raises(Problems) as found:
        converted(written(graph(placeholder("x", 2, 3), *nodes)))
    assert ["Mystery" in str(found.value), "Riddle" in str(found.value)] == [True, True]
    assert found.value.exit_code == 4


def test_a_tensor_that_nobody_makes_names_its_reader(written):
    with pytest.raises(BadInput, match="tensor 'ghost:0' is read but never made") as found:
        converted(written(graph(placeholder("x", 2, 3), plus_one("x", "ghost"))))
    assert found.value.where.node == "y"


def test_a_cycle_is_an_error(written):
    nodes = (node("a", "AddV2", "x", "b"), node("b", "Neg", "a"), node("y", "Neg", "b"))
    with pytest.raises(BadInput, match="the graph has a cycle"):
        converted(written(graph(placeholder("x", 2, 3), *nodes)))


def test_a_loop_that_does_not_close_is_an_error(written):
    nodes = (
        node("e", "Enter", "x", frame_name="f"),
        node("m", "Merge", "e", "n"),
        node("n", "Neg", "m"),
        node("y", "Exit", "m"),
    )
    with pytest.raises(BadInput, match="loop 'f' does not close"):
        converted(written(graph(placeholder("x", 2, 3), *nodes)))


def test_a_loop_without_an_end_is_stopped(written):
    true = node("t", "Const", dtype=dtype(10), value=field(8, field(1, 10) + field(2, b"") + field(11, 1)))
    functions = (
        function("cond", ["a"], {"r": "t:output:0"}, true),
        function("body", ["a"], {"r": "n:y:0"}, node("n", "Neg", "a")),
    )
    loop = node("y", "While", "x", cond=calls("cond"), body=calls("body"))
    with pytest.raises(LimitExceeded, match="more than 10000 turns"):
        converted(written(graph(placeholder("x", 2, 3), loop, functions=functions)))


def test_two_nodes_of_one_name_are_an_error(written):
    with pytest.raises(BadInput, match="node 'y' is there twice"):
        converted(written(graph(placeholder("x", 2, 3), node("y", "Neg", "x"), node("y", "Abs", "x"))))


@pytest.mark.parametrize("data", [b"", b"\0" * 40, b"\xff" * 40, b"not a model at all"], ids=len)
def test_what_is_no_graph_says_so(written, data):
    with pytest.raises(BadInput, match="not a TensorFlow model"):
        converted(written(data))


def test_every_truncation_of_a_graph_is_an_error_or_a_smaller_graph(written):
    whole = graph(placeholder("x", 2, 3), const("one", np.float32(1)), plus_one("x", "one"))
    for length in range(len(whole)):
        with suppress(ew.EdgewrightError):
            converted(written(whole[:length]))


def test_a_resource_that_is_no_variable_is_refused(written):
    table = node("table", "HashTableV2")
    with pytest.raises((Problems, UnsupportedFeature)):
        converted(written(graph(placeholder("x", 2, 3), table, node("y", "LookupTableFindV2", "table", "x"))))


def test_the_keys_of_a_signature_may_be_the_names_of_nodes(written):
    nodes = graph(placeholder("x", 2, 3), node("y", "Neg", "x"), node("z", "Abs", "y"))
    io = signature({"y": ("x:0", (2, 3))}, {"x": ("z:0", (2, 3))})
    file = written(saved_model(nodes, {"serving_default": io}), "saved_model.pb")
    np.testing.assert_array_equal(converted(file).run({"y": X})["x"], X)


def test_channel_first_data_give_the_same_as_channel_last(written):
    filters = np.random.default_rng(0).standard_normal((3, 3, 2, 4)).astype(np.float32)
    x = np.random.default_rng(1).standard_normal((1, 5, 6, 2)).astype(np.float32)
    results = []
    for layout, dims in (("NHWC", (1, 5, 6, 2)), ("NCHW", (1, 2, 5, 6))):
        stride = [1, 2, 2, 1] if layout == "NHWC" else [1, 1, 2, 2]
        more = {"strides": stride, "padding": "SAME", "data_format": layout}
        pool = {**more, "ksize": stride}
        nodes = (
            placeholder("x", *dims),
            const("w", filters),
            node("c", "Conv2D", "x", "w", **more),
            node("y", "MaxPool", "c", **pool),
        )
        data = x if layout == "NHWC" else x.transpose(0, 3, 1, 2)
        results.append(np.asarray(converted(written(graph(*nodes))).run({"x:0": data})["y:0"]))
    np.testing.assert_allclose(results[0], results[1].transpose(0, 2, 3, 1), atol=1e-6)


def test_nodes_that_no_output_depends_on_are_named(written):
    nodes = (
        placeholder("x", 2, 3),
        node("y", "Neg", "x"),
        node("left", "Abs", "x"),
        node("over", "Neg", "left"),
    )
    source = TensorflowSource.open(written(graph(*nodes)), InputSpec(outputs=["y"]))
    assert source.unconsumed() == ["left", "over"]


def test_an_attribute_of_zero_is_not_one_that_is_missing(written):
    # Protocol buffers leave zeros out: an empty attribute is 0, not the default.
    axis = const("axis", np.int32(0))
    parts = node("y", "Pack", "x", "x", axis=attribute(0))
    found = converted(written(graph(placeholder("x", 2, 3), axis, parts))).run({"x:0": X})["y:0"]
    assert np.asarray(found).shape == (2, 2, 3)


def network_with_default():
    """A network whose middle is a placeholder with a default, as slim's and Keras' graphs have it."""
    return graph(
        placeholder("x", 2, 3),
        node("twice", "AddV2", "x", "x"),
        node("more", "Neg", "twice"),
        node("middle", "PlaceholderWithDefault", "more", dtype=dtype(FLOAT), shape=field(7, shape(2, 3))),
        node("y", "Relu", "middle"),
    )


def test_a_placeholder_in_the_middle_is_its_default(written, caplog):
    model = converted(written(network_with_default()), input_shapes={"x": (2, 3)})
    assert [item.name for item in model.inputs] == ["x:0"]
    np.testing.assert_array_equal(model.run({"x:0": -X})["y:0"], 2 * X)
    assert not caplog.records


def test_a_placeholder_in_the_middle_is_an_input_where_it_is_named(written, caplog):
    model = converted(written(network_with_default()), input_shapes={"middle": (2, 3)})
    assert [item.name for item in model.inputs] == ["middle:0"]
    np.testing.assert_array_equal(model.run({"middle:0": -X})["y:0"], 0 * X)
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("only 1 of the 3 nodes that the source computes from its inputs lie between")
    values = converted(written(network_with_default()), input_values={"middle": X})
    np.testing.assert_array_equal(values.run({})["y:0"], X)


def test_a_placeholder_whose_default_comes_from_outside_is_an_input(written):
    file = written(
        graph(
            node("next", "IteratorGetNext"),
            node("x", "PlaceholderWithDefault", "next", dtype=dtype(FLOAT), shape=field(7, shape(2, 3))),
            node("y", "Neg", "x"),
        )
    )
    np.testing.assert_array_equal(converted(file).run({"x:0": X})["y:0"], -X)


def test_an_input_that_was_named_and_feeds_nothing_is_an_error(written):
    file = written(network_with_default())
    with pytest.raises(UsageError, match="input 'x:0' was named, but no output depends on it"):
        converted(file, input_shapes={"x": (2, 3), "middle": (2, 3)})
