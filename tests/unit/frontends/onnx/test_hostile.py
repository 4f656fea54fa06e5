"""Hostile models: one error that names the place, in bounded time and memory, never a traceback."""

import resource
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import edgewright as ew
from edgewright.core.errors import EdgewrightError


def info(name, shape=(2, 3), code=T.FLOAT):
    return h.make_tensor_value_info(name, code, shape)


def const(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


def model(nodes, inputs=None, outputs=None, weights=(), opset=17):
    graph = h.make_graph(nodes, "g", inputs or [info("x")], outputs or [info("y", None)], list(weights))
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)


def refused(proto, says="", codes=(3, 4), seconds=20.0, run=None):
    """The error of a conversion (or of a first run), which is clean, quick and frugal."""
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    feed = run or {"x": np.ones((2, 3), np.float32)}
    with pytest.raises(EdgewrightError, match=says) as caught:
        ew.convert(data).run(feed)
    assert caught.value.exit_code in codes, str(caught.value)
    assert time.monotonic() - start < seconds
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600 << 10
    return caught.value


def patched(proto, old, new):
    assert len(old) == len(new)
    data = proto.SerializeToString()
    assert old in data
    return data.replace(old, new)


NAMED = model(
    [h.make_node("Relu", ["x"], ["mid_value"], name="the_node"), h.make_node("Abs", ["mid_value"], ["y"])]
)


@pytest.mark.parametrize("place", [b"mid_value", b"the_node", b"Relu"])
def test_names_that_are_not_utf8_are_refused(place):
    refused(patched(NAMED, place, b"\xff" * len(place)), "not UTF-8")


@pytest.mark.parametrize(
    "name", ["../../etc/x", "a b;rm -rf", "nul\0name", "new\nline", "ü" * 100, '"quote"', "a" * 65000]
)
def test_odd_names_are_only_names(name):
    proto = model([h.make_node("Relu", ["x"], [name], name=name), h.make_node("Abs", [name], ["y"])])
    x = np.full((2, 3), -1, np.float32)
    assert ew.convert(proto).run({"x": x})["y"].sum() == 0


def test_a_name_of_many_megabytes_is_refused():
    refused(
        model(
            [h.make_node("Relu", ["x"], ["n" * (50 << 20)]), h.make_node("Abs", ["n" * (50 << 20)], ["y"])]
        ),
        "at most",
    )


def test_values_made_twice_are_refused():
    refused(model([h.make_node("Relu", ["x"], ["y"]), h.make_node("Abs", ["x"], ["y"])]), "'y' is made twice")
    refused(model([h.make_node("Relu", ["x"], ["x"])], outputs=[info("x")]), "'x' is made twice")
    refused(
        model([h.make_node("Add", ["x", "w"], ["y"])], weights=[const("w", 1.0), const("w", 2.0)]),
        "'w' is made twice",
    )


def test_cycles_and_values_that_nobody_makes_are_refused():
    cycle = [
        h.make_node("Add", ["x", "b"], ["a"]),
        h.make_node("Relu", ["a"], ["b"]),
        h.make_node("Abs", ["b"], ["y"]),
    ]
    refused(model(cycle), "cycle")
    refused(model([h.make_node("Relu", ["nothing"], ["y"])]), "'nothing' is read but never made")
    refused(model([h.make_node("Relu", ["x"], ["z"])]), "'y' is never made")


def test_a_default_value_of_an_input_is_a_constant():
    proto = model(
        [h.make_node("Add", ["x", "w"], ["y"])],
        [info("x"), info("w", ())],
        weights=[const("w", np.float32(2))],
    )
    converted = ew.convert(proto)
    assert [item.name for item in converted.inputs] == ["x"]


def tensor(dims, code=T.FLOAT, raw=b"\0" * 24):
    return onnx.TensorProto(name="w", dims=dims, data_type=code, raw_data=raw)


@pytest.mark.parametrize(
    "weight",
    [
        tensor([-1, 6]),
        tensor([2, 3], raw=b"\0" * 23),
        tensor([2, 4]),
        tensor([1 << 63 - 1, 6]),
        tensor([1 << 32, 1 << 32]),
        tensor([2, 3], code=99),
        tensor([2, 3], code=0),
        tensor([5], code=T.INT4, raw=b"\0\0"),
        tensor([2, 3], code=T.STRING),
        onnx.TensorProto(name="w", dims=[2, 3], data_type=T.FLOAT, float_data=[1.0]),
        onnx.TensorProto(name="w", dims=[2], data_type=T.FLOAT, int64_data=[1, 2]),
        onnx.TensorProto(name="w", dims=[1] * 100, data_type=T.FLOAT, float_data=[1.0]),
    ],
)
def test_weights_whose_size_and_shape_disagree_are_refused(weight):
    refused(model([h.make_node("Add", ["x", "w"], ["y"])], weights=[weight]), codes=(3,))


@pytest.mark.parametrize("dim", [-2, 1 << 62])
def test_an_input_of_an_impossible_shape_is_refused(dim):
    refused(model([h.make_node("Relu", ["x"], ["y"])], [info("x", (dim, 3))]), codes=(3,))


def test_an_input_without_a_rank_asks_for_its_shape():
    proto = model([h.make_node("Relu", ["x"], ["y"])], [info("x", None)])
    assert "input_shapes=..." in refused(proto, "no shape").do
    assert ew.convert(proto, input_shapes={"x": (2, 3)}).inputs[0].shape == (2, 3)


def nested(depth):
    graph = h.make_graph([h.make_node("Relu", ["x"], ["y0"])], "g", [], [info("y0")])
    for level in range(1, depth + 1):
        other = h.make_graph([h.make_node("Abs", ["x"], ["z"])], "e", [], [info("z")])
        node = h.make_node("If", ["c"], [f"y{level}"], then_branch=graph, else_branch=other)
        graph = h.make_graph([node], "g", [], [info(f"y{level}")])
    return model(graph.node, [info("x"), info("c", (), T.BOOL)], [info(f"y{depth}")])


def test_twenty_branches_inside_each_other_convert_in_no_time():
    start = time.monotonic()
    feed = {"x": np.ones((2, 3), np.float32), "c": np.asarray(True)}
    assert ew.convert(nested(20)).run(feed)["y20"].sum() == 6
    assert time.monotonic() - start < 5


def test_a_branch_may_use_names_of_the_graph_around_it():
    then = h.make_graph([h.make_node("Relu", ["x"], ["y"])], "g", [], [info("y")])
    other = h.make_graph([h.make_node("Abs", ["x"], ["y"])], "g", [], [info("y")])
    choose = h.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    proto = model([choose], [info("x"), info("c", (), T.BOOL)])
    feed = {"x": np.full((2, 3), -1, np.float32), "c": np.asarray(False)}
    assert ew.convert(proto).run(feed)["y"].sum() == 6


def deep_bytes(depth):
    """A thousand levels, written by hand: protobuf cannot even build it."""

    def field(number, content):
        from edgewright.frontends.onnx.wire import _write_field

        return _write_field(number, content)

    graph = field(1, field(2, b"y") + field(4, b"Relu") + field(1, b"x"))
    for _ in range(depth):
        attribute = field(1, b"then_branch") + b"\xa0\x01\x05" + field(6, graph)
        graph = field(1, field(1, b"x") + field(2, b"y") + field(4, b"If") + field(5, attribute))
    return field(7, graph + field(12, b"\x0a\1y")) + field(8, b"\x10\x11")


def test_a_thousand_levels_are_refused():
    refused(deep_bytes(1000), codes=(3,))
    refused(deep_bytes(60), codes=(3,))


def test_functions_that_multiply_hit_a_limit():
    functions = []
    for level in range(8):
        inner = f"f{level - 1}" if level else "Relu"
        domain = "local" if level else ""
        nodes = [h.make_node(inner, [f"v{i}"], [f"v{i + 1}"], domain=domain) for i in range(20)]
        opsets = [h.make_opsetid("", 17), h.make_opsetid("local", 1)]
        functions.append(h.make_function("local", f"f{level}", ["v0"], ["v20"], nodes, opsets))
    proto = model([h.make_node("f7", ["x"], ["y"], domain="local")])
    proto.functions.extend(functions)
    proto.opset_import.append(h.make_opsetid("local", 1))
    refused(proto, "more than 200000 nodes", codes=(3,), seconds=120)


def loop_forever():
    body = h.make_graph(
        [h.make_node("Identity", ["k"], ["k2"])],
        "b",
        [info("i", (), T.INT64), info("k", (), T.BOOL)],
        [info("k2", (), T.BOOL)],
    )
    return model(
        [h.make_node("Loop", ["n", ""], [], body=body), h.make_node("Relu", ["x"], ["y"])],
        weights=[const("n", np.int64(1 << 62))],
    )


def test_a_loop_that_never_ends_hits_a_limit():
    proto = loop_forever()
    graph = proto.graph.node[0].attribute[0].g
    graph.input.append(info("v"))
    graph.node.append(h.make_node("Relu", ["v"], ["w"]))
    graph.output.append(info("w"))
    proto.graph.node[0].input.append("x")
    proto.graph.node[0].output.append("z")
    proto.graph.output.append(info("z"))
    refused(proto, "more than 200000 nodes", codes=(3,), seconds=120)


@pytest.mark.parametrize(("opset", "code"), [(0, 3), (-5, 3), (9999, 4)])
def test_an_opset_that_does_not_exist_is_refused(opset, code):
    refused(model([h.make_node("Relu", ["x"], ["y"])], opset=opset), f"opset {opset}", codes=(code,))


def test_a_model_without_an_opset_is_refused():
    proto = model([h.make_node("Relu", ["x"], ["y"])])
    del proto.opset_import[:]
    refused(proto, "does not say which opset", codes=(3,))


def test_ops_of_other_domains_are_refused_all_at_once():
    nodes = [
        h.make_node("Magic", ["x"], ["a"], domain="com.example", name="first"),
        h.make_node("Wonder", ["a"], ["b"], domain="com.example", name="second"),
        h.make_node("NoSuchOp", ["x"], ["c"], name="third"),
        h.make_node("Sum", ["a", "b", "c"], ["y"]),
    ]
    problem = refused(model(nodes), codes=(4,))
    assert problem.code == "unsupported-op"
    assert [error.where.node for error in problem.errors] == ["first", "second", "third"]


def node(op, inputs, weights=(), **attributes):
    names = [*inputs, *(f"w{i}" for i in range(len(weights)))]
    stored = [const(f"w{i}", w) for i, w in enumerate(weights)]
    return model([h.make_node(op, names, ["y"], **attributes)], [info("x", (1, 1, 4, 4))], weights=stored)


K = np.ones((1, 1, 3, 3), np.float32)
I64 = np.int64
BAD_NODES = {
    "stride 0": node("Conv", ["x"], [K], strides=[0, 0]),
    "dilation 0": node("Conv", ["x"], [K], dilations=[0, 0]),
    "group 0": node("Conv", ["x"], [K], group=0),
    "group 7": node("Conv", ["x"], [K], group=7),
    "huge stride": node("Conv", ["x"], [K], strides=[-1, -1]),
    "kernel above input": node("Conv", ["x"], [np.ones((1, 1, 9, 9), np.float32)]),
    "strides of another rank": node("Conv", ["x"], [K], strides=[1]),
    "pads of another rank": node("Conv", ["x"], [K], pads=[1]),
    "strides as text": node("Conv", ["x"], [K], strides="no"),
    "strides as floats": node("Conv", ["x"], [K], strides=[1.5, 1.5]),
    "weights of rank 1": node("Conv", ["x"], [np.ones(3, np.float32)]),
    "pool without kernel": node("MaxPool", ["x"]),
    "pool stride 0": node("MaxPool", ["x"], kernel_shape=[2, 2], strides=[0, 0]),
    "pool kernel 0": node("AveragePool", ["x"], kernel_shape=[0, 0]),
    "axis": node("Softmax", ["x"], axis=9),
    "concat axis": node("Concat", ["x", "x"], axis=-9),
    "concat without axis": node("Concat", ["x", "x"]),
    "concat ranks": node("Concat", ["x"], [np.ones(3, np.float32)], axis=0),
    "two -1": node("Reshape", ["x"], [np.asarray([-1, -1], I64)]),
    "reshape to other count": node("Reshape", ["x"], [np.asarray([5, 5], I64)]),
    "reshape to -7": node("Reshape", ["x"], [np.asarray([-7, 16], I64)]),
    "reshape copies no axis": node("Reshape", ["x"], [np.asarray([1, 1, 4, 4, 0], I64)]),
    "reshape to a matrix": node("Reshape", ["x"], [np.asarray([[4, 4]], np.float32)]),
    "perm": node("Transpose", ["x"], perm=[0, 0, 1, 9]),
    "split sum": node("Split", ["x"], [np.asarray([1, 9], I64)], axis=2),
    "gather index": node("Gather", ["x"], [np.asarray([99], I64)], axis=2),
    "gather axis": node("Gather", ["x"], [np.asarray([0], I64)], axis=17),
    "top k": node("TopK", ["x"], [np.asarray([99], I64)]),
    "pads of wrong length": node("Pad", ["x"], [np.asarray([1, 1], I64)]),
    "pads beyond the size": node("Pad", ["x"], [np.asarray([0, 0, -9, 0, 0, 0, -9, 0], I64)]),
    "huge pad": node("Pad", ["x"], [np.full(8, 1 << 40, I64)]),
    "scales 0": node("Resize", ["x"], [np.zeros(0, np.float32), np.zeros(4, np.float32)]),
    "scales 1e9": node("Resize", ["x"], [np.zeros(0, np.float32), np.full(4, 1e9, np.float32)]),
    "scales nan": node("Resize", ["x"], [np.zeros(0, np.float32), np.full(4, np.nan, np.float32)]),
    "tile": node("Tile", ["x"], [np.full(4, 10**9, I64)]),
    "tile of wrong length": node("Tile", ["x"], [np.full(2, 2, I64)]),
    "expand": node("Expand", ["x"], [np.full(8, 10**6, I64)]),
    "constant of shape": node("ConstantOfShape", [], [np.full(4, 10**6, I64)]),
    "constant of negative shape": node("ConstantOfShape", [], [np.asarray([-3], I64)]),
    "range": node("Range", [], [np.asarray(0), np.asarray(10**13), np.asarray(1)]),
    "range step 0": node("Range", [], [np.asarray(0), np.asarray(10), np.asarray(0)]),
    "one hot": node(
        "OneHot", [], [np.zeros((10, 10), I64), np.asarray(1 << 50, I64), np.zeros(2, np.float32)]
    ),
    "mixed types": node("Add", ["x"], [np.asarray([1], I64)]),
    "integers in Relu of opset 13": model(
        [h.make_node("Relu", ["w"], ["y"])], weights=[const("w", np.asarray([1]))], opset=13
    ),
    "too few inputs": node("Conv", ["x"]),
    "too many inputs": node("Relu", ["x", "x"]),
    "no inputs": node("Relu", []),
    "matmul": node("MatMul", ["x"], [np.ones((5, 5), np.float32)]),
    "gemm rank": node("Gemm", ["x", "x"]),
    "broadcast": node("Add", ["x"], [np.ones(7, np.float32)]),
    "space to depth 0": node("SpaceToDepth", ["x"], blocksize=0),
    "depth to space": node("DepthToSpace", ["x"], blocksize=3),
    "einsum": node("Einsum", ["x"], equation="->->"),
    "cast to 99": node("Cast", ["x"], to=99),
    "squeeze": node("Squeeze", ["x"], [np.asarray([2], I64)]),
    "unsqueeze": node("Unsqueeze", ["x"], [np.asarray([99], I64)]),
    "slice step 0": node(
        "Slice",
        ["x"],
        [np.asarray([0], I64), np.asarray([1], I64), np.asarray([0], I64), np.asarray([0], I64)],
    ),
    "lrn size 0": node("LRN", ["x"], size=0),
    "batch norm": node("BatchNormalization", ["x"], [np.ones(7, np.float32)] * 4),
    "instance norm": node("InstanceNormalization", ["x"], [np.ones(7, np.float32)] * 2),
    "scale 0": node("QuantizeLinear", ["x"], [np.zeros(5, np.float32)], axis=9),
    "cumsum axis": node("CumSum", ["x"], [np.asarray(9, I64)]),
    "argmax axis": node("ArgMax", ["x"], axis=9),
    "reduce axes": node("ReduceMean", ["x"], axes=[9]),
}


@pytest.mark.parametrize("name", BAD_NODES)
def test_a_node_that_makes_no_sense_is_refused_with_its_place(name):
    problem = refused(BAD_NODES[name], run={"x": np.ones((1, 1, 4, 4), np.float32)})
    assert "node" in str(problem)


def test_weights_that_are_not_numbers_convert():
    w = np.asarray([[np.nan, np.inf, 1e-45], [0, -np.inf, -0.0]], np.float32)
    proto = model([h.make_node("Add", ["x", "w"], ["y"])], weights=[const("w", w)])
    np.testing.assert_array_equal(ew.convert(proto).run({"x": np.zeros((2, 3), np.float32)})["y"], w)


def test_many_inputs_and_many_nodes_are_read_in_linear_time():
    inputs = [info(f"i{k}", (1,)) for k in range(5000)]
    nodes = [h.make_node("Sum", [f"i{k}" for k in range(5000)], ["v0"])]
    nodes += [h.make_node("Relu", [f"v{k}"], [f"v{k + 1}"]) for k in range(20000)]
    proto = model(nodes, inputs, [info("v20000", (1,))])
    from edgewright.frontends.onnx.load import OnnxSource

    start = time.monotonic()
    imported = OnnxSource.open(proto.SerializeToString()).build({})
    assert imported.is_complete
    assert time.monotonic() - start < 30
