"""What fuzzing found: odd models end in a result or in one clear error, never in numpy's words."""

import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.ops.elementwise import ElementWiseAdd

I64 = np.int64


def model(nodes, inputs, outputs=("y",), opset=21, **weights):
    graph = h.make_graph(
        nodes,
        "g",
        [h.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [onnx.numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items()],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)


def one(op, shape, *weights, opset=21, **attributes):
    stored = {f"w{i}": w for i, w in enumerate(weights)}
    node = h.make_node(op, ["x", *stored], ["y"], **attributes)
    return model([node], {"x": shape}, opset=opset, **stored)


def refusal(proto, **feed):
    with pytest.raises(EdgewrightError) as caught:
        ew.convert(proto).run(feed or {"x": np.ones((1, 1, 4, 4), np.float32)})
    assert caught.value.exit_code in (3, 4)
    return str(caught.value)


def result_if_any(converted, x):
    """What a run gives; None where it is refused."""
    try:
        return converted.run({"x": x})["y"]
    except EdgewrightError:
        return None


@pytest.mark.parametrize("size", [5, 6, 7, 1 << 31, (1 << 62) + 1])
def test_a_normalisation_over_more_channels_than_there_are_is_over_all_of_them(size):
    x = np.random.default_rng(0).normal(size=(1, 3, 2, 2)).astype(np.float32)
    start = time.monotonic()
    found = ew.convert(one("LRN", x.shape, size=size, alpha=float(size), beta=1.0)).run({"x": x})["y"]
    np.testing.assert_allclose(found, x / (1 + np.square(x).sum(1, keepdims=True)), rtol=1e-5)
    assert time.monotonic() - start < 5


def test_a_grid_for_another_number_of_images_is_refused():
    for mode in ("linear", "cubic"):
        node = h.make_node("GridSample", ["x", "grid"], ["y"], mode=mode)
        text = refusal(
            model([node], {"x": (1, 1, 4, 4), "grid": (2, 3, 3, 2)}),
            x=np.ones((1, 1, 4, 4), np.float32),
            grid=np.ones((2, 3, 3, 2), np.float32),
        )
        assert "a grid of 2 images is given for 1" in text


@pytest.mark.parametrize("shape", [(0, 3, 4, 4), (2, 0, 4, 4)])
@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
def test_pools_of_nothing_are_nothing(op, shape):
    proto = one(op, shape, kernel_shape=[2, 2], pads=[0, 0, 1, 1])
    assert ew.convert(proto).run({"x": np.zeros(shape, np.float32)})["y"].shape == (*shape[:2], 4, 4)


@pytest.mark.parametrize(
    ("proto", "says"),
    [
        (one("Reshape", (1, 1, 4, 4), np.asarray([16, 1, 1, 1, 0], I64)), "copies (0) an axis"),
        (
            model([h.make_node("TopK", ["x", "k"], ["y", "z"], axis=0)], {"x": ()}, k=np.asarray([1], I64)),
            "a single number, expected at least one axis",
        ),
        (one("CumProd", (), np.asarray(0, I64), opset=26), "a single number, expected at least one axis"),
        (one("Col2Im", (1, 4), np.asarray([3], I64), np.asarray([2], I64)), "columns are float_32[1,4]"),
        (
            one("Col2Im", (1, 2, 2), np.asarray([3], I64), np.asarray([2], I64), strides=[0]),
            "strides [0]",
        ),
        (one("Col2Im", (1, 2, 2), np.zeros(0, I64), np.zeros(0, I64)), "0 axes, expected 1 to 3"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_model(proto, says):
    text = refusal(proto, x=np.ones([d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]))
    assert says in text
    assert "Error:" not in text


def test_an_input_that_is_left_out_is_named_as_such():
    nodes = [
        h.make_node("Clip", ["x", ""], ["a"]),
        h.make_node("Slice", ["a", "", "e"], ["y"]),
    ]
    text = refusal(model(nodes, {"x": (1, 1, 4, 4)}, e=np.asarray([1])))
    assert "is missing" in text or "left out" in text


def test_a_sparse_constant_is_written_out():
    values = onnx.numpy_helper.from_array(np.asarray([5.0, 7.0], np.float32), "v")
    places = onnx.numpy_helper.from_array(np.asarray([1, 5], I64), "p")
    sparse = onnx.SparseTensorProto(values=values, indices=places, dims=[2, 3])
    nodes = [h.make_node("Constant", [], ["c"], sparse_value=sparse), h.make_node("Add", ["x", "c"], ["y"])]
    found = ew.convert(model(nodes, {"x": (2, 3)})).run({"x": np.zeros((2, 3), np.float32)})["y"]
    np.testing.assert_array_equal(found, [[0, 5, 0], [0, 0, 7]])
    sparse.dims[:] = [1 << 40, 3]
    nodes[0].attribute[0].sparse_tensor.CopyFrom(sparse)
    assert "sparse tensor" in refusal(model(nodes, {"x": (2, 3)}))


def test_a_number_for_a_billion_channels_is_not_written_out():
    nodes = [
        h.make_node("Expand", ["k", "s"], ["w"]),
        h.make_node("MatMul", ["x", "w"], ["a"]),
        h.make_node("Add", ["a", "b"], ["y"]),
    ]
    proto = model(
        nodes,
        {"x": (1, 1), "k": (1, 1)},
        s=np.asarray([1, 1 << 31], I64),
        b=np.float32(2),
    )
    graph = ew.convert(proto).graph
    assert all(array.size < 100 for array in graph.constants.values())


def test_a_parameter_that_does_not_fit_into_qnns_types_is_refused_before_anything_is_written(tmp_path):
    converted = ew.convert(one("Tile", (0, 4), np.asarray([1 << 40, 1], I64)))
    with pytest.raises(EdgewrightError, match=r"parameter 'multiples'.*UINT_32 cannot hold") as caught:
        converted.save(tmp_path / "m.cpp")
    assert caught.value.exit_code == 4
    assert not list(tmp_path.iterdir())


def test_values_that_numpy_cannot_compute_with_are_an_error_that_names_the_op():
    too_few = [np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)]
    with pytest.raises(EdgewrightError, match="ElementWiseAdd cannot be computed"):
        ElementWiseAdd().values_for(too_few)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("activations", [[], ["Affine"]])
@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3)])
@pytest.mark.parametrize("is_static", [True, False])
def test_sequences_of_nothing_do_not_end_the_process(op, activations, shape, is_static):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    chosen = activations * {"LSTM": 3, "GRU": 2, "RNN": 1}[op]
    node = h.make_node(op, ["x", "w", "r"], ["y"], hidden_size=4)
    if chosen:
        node.attribute.append(h.make_attribute("activations", chosen))
    proto = model(
        [node],
        {"x": shape if is_static else ("T", "B", 3)},
        w=np.ones((1, 4 * gates, 3), np.float32),
        r=np.ones((1, 4 * gates, 4), np.float32),
    )
    converted = ew.convert(proto)
    found = result_if_any(converted, np.zeros(shape, np.float32))
    assert found is None or found.size == 0
    if not is_static:
        assert converted.run({"x": np.ones((2, 3, 3), np.float32)})["y"].shape == (2, 1, 3, 4)


def test_a_product_of_transposed_nothing_is_nothing():
    nodes = [
        h.make_node("Transpose", ["x"], ["a"], perm=[1, 0, 2]),
        h.make_node("Transpose", ["z"], ["b"], perm=[1, 0, 2]),
        h.make_node("MatMul", ["a", "b"], ["y"]),
    ]
    converted = ew.convert(model(nodes, {"x": ("N", 2, 4), "z": (4, 2, 5)}))
    for count in (0, 3, 0):
        feed = {"x": np.ones((count, 2, 4), np.float32), "z": np.ones((4, 2, 5), np.float32)}
        np.testing.assert_array_equal(converted.run(feed)["y"], np.full((2, count, 5), 4, np.float32))


def test_a_size_that_follows_from_dividing_by_nothing_is_refused():
    nodes = [h.make_node("Reshape", ["x", "s"], ["y"])]
    converted = ew.convert(model(nodes, {"x": ("N", 6)}, s=np.asarray([0, -1, 3], I64)))
    assert converted.run({"x": np.ones((2, 6), np.float32)})["y"].shape == (2, 2, 3)
    found = result_if_any(converted, np.ones((0, 6), np.float32))
    assert found is None or found.shape == (0, 2, 3)


def test_an_empty_list_that_an_op_needs_is_refused():
    proto = one("TfIdfVectorizer", (4,), mode="TF", opset=21)
    node = proto.graph.node[0]
    numbers = {"min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0}
    node.attribute.extend(h.make_attribute(name, value) for name, value in numbers.items())
    node.attribute.append(h.make_attribute("ngram_indexes", [0]))
    node.attribute.append(onnx.AttributeProto(name="ngram_counts", type=onnx.AttributeProto.INTS))
    proto.graph.input[0].type.tensor_type.elem_type = T.INT64
    assert "'ngram_counts' is empty" in refusal(proto, x=np.zeros(4, I64))
    node.attribute[-1].ints.append(0)
    next(item for item in node.attribute if item.name == "max_skip_count").i = 1 << 40
    assert "'max_skip_count' is 1099511627776, expected at most" in refusal(proto, x=np.zeros(4, I64))


def test_attributes_that_do_not_say_their_type_are_what_they_hold():
    proto = one("LRN", (1, 3, 2, 2), size=3, alpha=0.5, beta=1.0)
    x = np.ones((1, 3, 2, 2), np.float32)
    expected = ew.convert(proto).run({"x": x})["y"]
    for attribute in proto.graph.node[0].attribute:
        attribute.type = onnx.AttributeProto.UNDEFINED
    np.testing.assert_array_equal(ew.convert(proto).run({"x": x})["y"], expected)
    (size,) = (item for item in proto.graph.node[0].attribute if item.name == "size")
    size.ClearField("i")
    assert "neither a type nor a value" in refusal(proto)


def test_an_op_before_its_time_is_held_against_its_newest_signature():
    text = refusal(one("BitwiseNot", (2,), np.ones(2, I64), opset=9))
    assert "2 inputs are given, expected 1" in text


def test_names_of_dimensions_and_domains_are_text():
    proto = model([h.make_node("Relu", ["x"], ["y"], domain="ai.onnx")], {"x": ("batch!", 3)})
    data = proto.SerializeToString()
    for name in (b"batch!", b"ai.onnx"):
        with pytest.raises(EdgewrightError, match="not UTF-8"):
            ew.convert(data.replace(name, b"\xff" * len(name)))


def test_a_constant_in_a_symbolic_shape_is_reshaped_at_run_time():
    nodes = [
        h.make_node("Shape", ["x"], ["s"]),
        h.make_node("Reshape", ["c", "s"], ["r"]),
        h.make_node("Add", ["x", "r"], ["y"]),
    ]
    c = np.arange(6, dtype=np.float32)
    converted = ew.convert(model(nodes, {"x": ("N", 3)}, c=c))
    found = converted.run({"x": np.zeros((2, 3), np.float32)})["y"]
    np.testing.assert_array_equal(found, c.reshape(2, 3))


def test_a_depth_without_end_is_refused():
    node = h.make_node("OneHot", ["i", "d", "v"], ["y"])
    weights = {"i": np.zeros(2, I64), "d": np.float32(np.inf), "v": np.zeros(2, np.float32)}
    assert "expected whole numbers" in refusal(model([node], {}, **weights))


@pytest.mark.parametrize(
    ("op", "weights", "attributes"),
    [
        ("ConvTranspose", [np.ones((1, 2, 2, 2), np.float32)], {"strides": [2, 2]}),
        ("GroupNormalization", [np.ones(1, np.float32), np.ones(1, np.float32)], {"num_groups": 1}),
    ],
)
def test_ops_on_empty_images_are_results_or_refusals(op, weights, attributes):
    for shape in ((0, 1, 3, 3), (1, 1, 0, 3)):
        node = one(op, shape, *weights, **attributes)
        found = None
        try:
            found = ew.convert(node)
        except EdgewrightError:
            continue
        result_if_any(found, np.zeros(shape, np.float32))


def test_resizing_an_axis_without_elements_is_refused():
    node = h.make_node("Resize", ["x", "", "", "s"], ["y"], mode="nearest")
    proto = model([node], {"x": (1, 1, 0, 3)}, s=np.asarray([1, 1, 4, 4], I64))
    refusal(proto, x=np.zeros((1, 1, 0, 3), np.float32))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize(("op", "attributes"), [("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1})])
def test_the_smallest_integer_by_minus_one_does_not_end_the_process(op, attributes, dtype):
    smallest = np.iinfo(dtype).min
    a = np.asarray([smallest, smallest, 7, -7, 7], dtype)
    b = np.asarray([-1, 2, -1, -2, 3], dtype)
    for known in ({}, {"b": b}):
        proto = model([h.make_node(op, ["a", "b"], ["y"], **attributes)], {"a": (5,), "b": (5,)}, **known)
        for item in proto.graph.input:
            item.type.tensor_type.elem_type = h.np_dtype_to_tensor_dtype(np.dtype(dtype))
        feed = {"a": a, "b": b} if not known else {"a": a}
        found = ew.convert(proto).run(feed)["y"]
        expected = {"Div": [smallest, smallest // 2, -7, 3, 2], "Mod": [0, 0, 0, -1, 1]}[op]
        np.testing.assert_array_equal(found, np.asarray(expected, dtype))


@pytest.mark.parametrize("shape", [(2, 0, 0), (2, 3, 0)])
def test_regions_of_an_empty_image_do_not_end_the_process(shape):
    node = h.make_node("RoiAlign", ["x", "rois", "images"], ["y"], output_height=2, output_width=2)
    weights = {"rois": np.zeros((1, 4), np.float32), "images": np.zeros(1, I64)}
    for declared in ((1, *shape), (1, "C", "H", "W")):
        result_if_any(
            ew.convert(model([node], {"x": declared}, **weights)), np.zeros((1, *shape), np.float32)
        )
