"""Choices between branches by one truth: the same results, and only the branch that is taken is computed."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend

RNG = np.random.default_rng(4)
X = RNG.normal(size=(3, 8)).astype(np.float32)


def write(path, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(weights))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def product(name, source):
    weight = numpy_helper.from_array(RNG.normal(size=(8, 8)).astype(np.float32), f"{name}_w")
    return helper.make_node("MatMul", [source, f"{name}_w"], [name], name=name), weight


def branch(*chain):
    """A graph of products, each of what the one before gives."""
    pairs = [product(name, source) for source, name in zip(("x", *chain), chain, strict=False)]
    nodes, weights = zip(*pairs, strict=True)
    return helper.make_graph(nodes, chain[0], [], [info(chain[-1], [3, 8])], weights)


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    """An If in a branch of another; a product before both, that both sides read."""
    inner = helper.make_node("If", ["second"], ["chosen"], then_branch=branch("b1"), else_branch=branch("b2"))
    outer = helper.make_graph([inner], "outer", [], [info("chosen", [3, 8])])
    first, weight = product("shared", "x")
    nodes = [
        first,
        helper.make_node("If", ["first"], ["y"], then_branch=branch("a1", "a2"), else_branch=outer),
        helper.make_node("Add", ["y", "shared"], ["z"]),
    ]
    truths = [info(name, [], TensorProto.BOOL) for name in ("first", "second")]
    path = tmp_path_factory.mktemp("nested") / "nested.onnx"
    return write(path, nodes, [*truths, info("x", [3, 8])], [info("z", [3, 8]), info("y", [3, 8])], [weight])


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_every_way_through_the_branches_gives_what_onnx_runtime_gives(nested, first, second):
    import onnxruntime

    feed = {"first": np.array(first), "second": np.array(second), "x": X}
    session = onnxruntime.InferenceSession(str(nested), providers=["CPUExecutionProvider"])
    found = ew.convert(nested).run(feed)
    for name, expected in zip(("z", "y"), session.run(["z", "y"], feed), strict=True):
        assert np.allclose(found[name], expected, atol=1e-5)


@pytest.mark.parametrize(("first", "count"), [(True, 3), (False, 2)])
def test_only_the_branch_that_is_taken_is_computed(nested, first, count):
    graph = ew.convert(nested).fixed_graph()
    session = find_backend("cpu").prepare(graph, RunOptions(threads=1, is_profiled=True))
    session.run({"first": np.array(first), "second": np.array(True), "x": X})
    kernels = [time.kernel for time in session.node_times()]
    assert sum(kernel in {"Gemm", "MatMul", "FusedGemm"} for kernel in kernels) == count


def test_a_choice_by_many_truths_stays_one(tmp_path):
    left, left_weight = product("left", "x")
    right, right_weight = product("right", "x")
    nodes = [left, right, helper.make_node("Where", ["truths", "left", "right"], ["y"])]
    inputs = [info("truths", [3, 1], TensorProto.BOOL), info("x", [3, 8])]
    weights = [left_weight, right_weight]
    path = write(tmp_path / "many.onnx", nodes, inputs, [info("y", [3, 8])], weights)
    truths = np.array([[True], [False], [True]])
    found = ew.convert(path).run({"truths": truths, "x": X})["y"]
    products = [X @ numpy_helper.to_array(weight) for weight in weights]
    assert np.allclose(found, np.where(truths, *products), atol=1e-5)


def test_choices_of_one_truth_in_a_chain_are_right(tmp_path):
    first, first_weight = product("first", "x")
    second, second_weight = product("second", "y1")
    nodes = [
        first,
        helper.make_node("Where", ["c", "first", "x"], ["y1"]),
        second,
        helper.make_node("Where", ["c", "second", "y1"], ["y"]),
    ]
    inputs = [info("c", [1], TensorProto.BOOL), info("x", [3, 8])]
    path = write(tmp_path / "m.onnx", nodes, inputs, [info("y", [3, 8])], [first_weight, second_weight])
    model = ew.convert(path)
    matrices = [numpy_helper.to_array(weight) for weight in (first_weight, second_weight)]
    for truth, expected in ((True, X @ matrices[0] @ matrices[1]), (False, X)):
        found = model.run({"c": np.array([truth]), "x": X})["y"]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert set(model.placement().values()) == {"engine"}


def test_masks_of_fixed_point_are_no_branches():
    weights = [
        numpy_helper.from_array(RNG.normal(size=(8, 8, 1, 1)).astype(np.float32), f"w{n}") for n in range(4)
    ]
    nodes = [helper.make_node("Conv", ["x", f"w{n}"], [f"c{n}"]) for n in range(3)]
    nodes += [
        helper.make_node("Greater", ["c0", "c1"], ["t"]),
        helper.make_node("Conv", ["c2", "w3"], ["d"]),
        helper.make_node("Where", ["t", "c2", "d"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "net", [info("x", [1, 8, 8, 8])], [info("y", [1, 8, 8, 8])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    samples = [{"x": RNG.normal(size=(1, 8, 8, 8)).astype(np.float32)}]
    quantized = ew.quantize(model, samples, act_bw=8, weight_bw=8)
    assert quantized.run(samples[0], backend="htp-sim")["y"].shape == (1, 8, 8, 8)


def convolve_twice(name):
    """A branch of two convolutions along one axis with a Relu between them."""
    weights = [
        numpy_helper.from_array(RNG.normal(size=(4, 4, 3)).astype(np.float32), f"{name}{n}") for n in (1, 2)
    ]
    nodes = [
        helper.make_node("Conv", ["x", f"{name}1"], [f"{name}_a"], pads=[1, 1]),
        helper.make_node("Relu", [f"{name}_a"], [f"{name}_b"]),
        helper.make_node("Conv", [f"{name}_b", f"{name}2"], [f"{name}_y"], pads=[1, 1]),
    ]
    return helper.make_graph(nodes, name, [], [info(f"{name}_y", [1, 4, None])], weights)


@pytest.mark.parametrize("truth", [True, False])
def test_branches_of_open_sizes_are_chosen_and_their_functions_fused(tmp_path, truth):
    import onnxruntime

    branches = {f"{name}_branch": convolve_twice(name) for name in ("then", "else")}
    nodes = [helper.make_node("If", ["c"], ["y"], **branches)]
    inputs = [info("c", [], TensorProto.BOOL), info("x", [1, 4, "n"])]
    path = write(tmp_path / "open.onnx", nodes, inputs, [info("y", [1, 4, "n"])])
    feed = {"c": np.array(truth), "x": RNG.normal(size=(1, 4, 9)).astype(np.float32)}
    source = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    graph = ew.convert(path).fixed_graph()
    session = find_backend("cpu").prepare(graph, RunOptions(threads=1, is_profiled=True))
    np.testing.assert_allclose(session.run(feed)["y"], source.run(None, feed)[0], rtol=1e-5, atol=1e-6)
    kernels = [time.kernel for time in session.node_times()]
    assert sum("Conv" in kernel for kernel in kernels) == 2
    assert "Relu" not in kernels
