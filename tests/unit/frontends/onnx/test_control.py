"""Control flow: branches, loops, scans, sequences and local functions against ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnx import helper as h

import edgewright as ew
from edgewright.core.errors import EdgewrightError

FLOAT, INT, BOOL = T.FLOAT, T.INT64, T.BOOL


def info(name, code=FLOAT, shape=(2,)):
    return h.make_tensor_value_info(name, code, shape)


def const(name, value):
    return h.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.asarray(value)))


def model(nodes, inputs, outputs, *, opset=17, functions=(), weights=()):
    graph = h.make_graph(nodes, "g", inputs, outputs, list(weights))
    domains = sorted({f.domain for f in functions})
    opsets = [h.make_opsetid("", opset), *(h.make_opsetid(domain, 1) for domain in domains)]
    return h.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)


def agrees(proto, *feeds):
    """Runs every feed on one converted model and on ONNX Runtime."""
    converted = ew.convert(proto)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for feed in feeds:
        expected = session.run(None, feed)
        found = list(converted.run(feed).values())
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == theirs.dtype
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    return converted


def branch(name, op, shape=(2,), reads="x"):
    return h.make_graph([h.make_node(op, [reads], [name])], name, [], [info(name, shape=shape)])


X = np.asarray([-1.0, 2.0], np.float32)
TRUE, FALSE = np.asarray(True), np.asarray(False)


def test_a_constant_condition_leaves_only_its_branch():
    proto = model(
        [
            const("c", TRUE),
            h.make_node("If", ["c"], ["y"], then_branch=branch("a", "Relu"), else_branch=branch("b", "Neg")),
        ],
        [info("x")],
        [info("y")],
    )
    assert [type(node.op).__name__ for node in agrees(proto, {"x": X}).graph.nodes] == ["Relu"]


def test_a_condition_that_is_an_input_chooses_between_both_branches():
    proto = model(
        [h.make_node("If", ["c"], ["y"], then_branch=branch("a", "Relu"), else_branch=branch("b", "Neg"))],
        [info("c", BOOL, ()), info("x")],
        [info("y")],
    )
    converted = agrees(proto, {"c": TRUE, "x": X}, {"c": FALSE, "x": X})
    assert converted.graph is not None, "no input had to be bound"


def test_branches_of_different_shapes_bind_the_condition():
    wide = h.make_graph([h.make_node("Concat", ["x", "x"], ["b"], axis=0)], "b", [], [info("b", shape=(4,))])
    proto = model(
        [h.make_node("If", ["c"], ["y"], then_branch=branch("a", "Relu"), else_branch=wide)],
        [info("c", BOOL, ()), info("x")],
        [info("y", shape=("n",))],
    )
    agrees(proto, {"c": TRUE, "x": X}, {"c": FALSE, "x": X})


def test_a_branch_that_does_not_fit_the_shapes_binds_the_condition():
    # As in voice detectors with a branch for each sample rate: only one of them fits the length of the input.
    square = h.make_graph(
        [const("s", np.asarray([3, 3], np.int64)), h.make_node("Reshape", ["x", "s"], ["b"])],
        "b",
        [],
        [info("b", shape=(3, 3))],
    )
    proto = model(
        [h.make_node("If", ["c"], ["y"], then_branch=branch("a", "Relu"), else_branch=square)],
        [info("c", BOOL, ()), info("x")],
        [info("y", shape=None)],
    )
    converted = agrees(proto, {"c": TRUE, "x": X})
    with pytest.raises(ew.EdgewrightError, match="shape-mismatch"):
        converted.run({"c": FALSE, "x": X})


def test_a_condition_on_a_symbolic_shape_is_decided_when_the_shape_is_known():
    nodes = [
        h.make_node("Shape", ["x"], ["s"]),
        const("four", np.asarray([4], np.int64)),
        h.make_node("Equal", ["s", "four"], ["c"]),
        h.make_node(
            "If",
            ["c"],
            ["y"],
            then_branch=branch("a", "Relu", ("n",)),
            else_branch=branch("b", "Neg", ("n",)),
        ),
    ]
    proto = model(nodes, [info("x", shape=("n",))], [info("y", shape=("n",))])
    agrees(proto, {"x": np.ones(4, np.float32) * -1}, {"x": np.ones(3, np.float32) * -1})


def test_branches_see_the_values_around_them_two_levels_up():
    inner = h.make_node(
        "If", ["d"], ["z"], then_branch=branch("p", "Abs", reads="r"), else_branch=branch("q", "Neg")
    )
    outer = h.make_graph([inner], "outer", [], [info("z")])
    proto = model(
        [
            h.make_node("Exp", ["x"], ["r"]),
            h.make_node("If", ["c"], ["y"], then_branch=outer, else_branch=branch("b", "Neg", reads="r")),
        ],
        [info("c", BOOL, ()), info("d", BOOL, ()), info("x")],
        [info("y")],
    )
    agrees(proto, *({"c": c, "d": d, "x": X} for c in (TRUE, FALSE) for d in (TRUE, FALSE)))


def loop_body(*, shape=(2,)):
    nodes = [
        h.make_node("Cast", ["i"], ["f"], to=FLOAT),
        h.make_node("Add", ["v", "f"], ["w"]),
        h.make_node("Identity", ["w"], ["s"]),
        h.make_node("Identity", ["k"], ["k2"]),
    ]
    inputs = [info("i", INT, ()), info("k", BOOL, ()), info("v", shape=shape)]
    return h.make_graph(
        nodes, "body", inputs, [info("k2", BOOL, ()), info("w", shape=shape), info("s", shape=shape)]
    )


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_a_loop_of_known_length_is_unrolled_and_its_rows_are_stacked(trips):
    proto = model(
        [const("n", np.asarray(trips)), h.make_node("Loop", ["n", "", "x"], ["y", "rows"], body=loop_body())],
        [info("x")],
        [info("y"), info("rows", shape=("t", 2))],
    )
    agrees(proto, {"x": X})


def test_a_trip_count_that_is_an_input_is_bound():
    proto = model(
        [h.make_node("Loop", ["n", "", "x"], ["y", "rows"], body=loop_body())],
        [info("n", INT, ()), info("x")],
        [info("y"), info("rows", shape=("t", 2))],
    )
    converted = agrees(proto, *({"n": np.asarray(n), "x": X} for n in (3, 0, 5)))
    assert {item.name: item.is_bound for item in converted.inputs} == {"n": True, "x": False}


def test_a_loop_runs_until_its_own_condition_ends_it():
    nodes = [
        const("one", np.asarray(1.0, np.float32)),
        const("limit", np.asarray(5.0, np.float32)),
        h.make_node("Add", ["v", "one"], ["w"]),
        h.make_node("Less", ["w", "limit"], ["k2"]),
    ]
    body = h.make_graph(
        nodes,
        "body",
        [info("i", INT, ()), info("k", BOOL, ()), info("v", shape=())],
        [info("k2", BOOL, ()), info("w", shape=())],
    )
    proto = model(
        [const("k0", TRUE), h.make_node("Loop", ["", "k0", "x"], ["y"], body=body)],
        [info("x", shape=())],
        [info("y", shape=())],
    )
    agrees(proto, {"x": np.asarray(0.5, np.float32)}, {"x": np.asarray(3.0, np.float32)})


def test_weights_inside_a_loop_body_are_kept_once():
    weight = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    nodes = [h.make_node("MatMul", ["v", "w"], ["o"]), h.make_node("Identity", ["k"], ["k2"])]
    body = h.make_graph(
        nodes,
        "body",
        [info("i", INT, ()), info("k", BOOL, ()), info("v", shape=(1, 64))],
        [info("k2", BOOL, ()), info("o", shape=(1, 64))],
        [weight],
    )
    proto = model(
        [const("n", np.asarray(8)), h.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
        [info("x", shape=(1, 64))],
        [info("y", shape=(1, 64))],
    )
    converted = agrees(proto, {"x": np.full((1, 64), 1e-3, np.float32)})
    arrays = [a for a in converted.graph.constants.values() if a.size == 64 * 64]
    assert len({a.__array_interface__["data"][0] for a in arrays}) == 1


def scan_body():
    nodes = [h.make_node("Add", ["s", "e"], ["t"]), h.make_node("Mul", ["t", "e"], ["o"])]
    return h.make_graph(nodes, "body", [info("s"), info("e")], [info("t"), info("o")])


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scan_input_directions": [1]},
        {"scan_output_directions": [1]},
        {"scan_input_axes": [1]},
        {"scan_output_axes": [1]},
        {"scan_output_axes": [-1]},
    ],
)
def test_a_scan_follows_its_axes_and_directions(attributes):
    node = h.make_node("Scan", ["x", "e"], ["y", "rows"], body=scan_body(), num_scan_inputs=1, **attributes)
    shape = (2, 3) if attributes.get("scan_input_axes") else (3, 2)
    proto = model([node], [info("x"), info("e", shape=shape)], [info("y"), info("rows", shape=("a", "b"))])
    agrees(proto, {"x": X, "e": np.arange(6, dtype=np.float32).reshape(shape)})


def test_a_scan_over_a_symbolic_axis_runs_at_two_lengths():
    node = h.make_node("Scan", ["x", "e"], ["y", "rows"], body=scan_body(), num_scan_inputs=1)
    proto = model([node], [info("x"), info("e", shape=("t", 2))], [info("y"), info("rows", shape=("t", 2))])
    converted = agrees(proto, *({"x": X, "e": np.ones((t, 2), np.float32)} for t in (2, 5)))
    assert not any(item.is_bound for item in converted.inputs), "only the shape is needed"


def test_sequences_are_taken_apart_while_the_graph_is_built():
    nodes = [
        h.make_node("SplitToSequence", ["x", "two"], ["s"], axis=0),
        const("two", np.asarray(2)),
        const("last", np.asarray(-1)),
        h.make_node("SequenceAt", ["s", "last"], ["a"]),
        h.make_node("Neg", ["a"], ["b"]),
        h.make_node("SequenceInsert", ["s", "b"], ["s2"]),
        const("first", np.asarray(0)),
        h.make_node("SequenceErase", ["s2", "first"], ["s3"]),
        h.make_node("ConcatFromSequence", ["s3"], ["y"], axis=0),
        h.make_node("SequenceLength", ["s3"], ["n"]),
    ]
    proto = model(
        nodes,
        [info("x", shape=(5, 2))],
        [info("y", shape=("r", 2)), info("a", shape=("q", 2)), info("n", INT, ())],
    )
    agrees(proto, {"x": np.arange(10, dtype=np.float32).reshape(5, 2)})


def test_a_loop_that_carries_a_sequence_is_unrolled():
    nodes = [h.make_node("SequenceInsert", ["s", "x"], ["s2"]), h.make_node("Identity", ["k"], ["k2"])]
    sequence = h.make_tensor_sequence_value_info
    body = h.make_graph(
        nodes,
        "body",
        [info("i", INT, ()), info("k", BOOL, ()), sequence("s", FLOAT, (2,))],
        [info("k2", BOOL, ()), sequence("s2", FLOAT, (2,))],
    )
    proto = model(
        [
            const("n", np.asarray(3)),
            h.make_node("SequenceConstruct", ["x"], ["s0"]),
            h.make_node("Loop", ["n", "", "s0"], ["s3"], body=body),
            h.make_node("ConcatFromSequence", ["s3"], ["y"], axis=0, new_axis=1),
        ],
        [info("x")],
        [info("y", shape=(4, 2))],
    )
    agrees(proto, {"x": X})


def function(name, nodes, inputs, outputs, attributes=(), defaults=()):
    return h.make_function(
        "local",
        name,
        inputs,
        outputs,
        nodes,
        [h.make_opsetid("", 17), h.make_opsetid("local", 1)],
        attributes,
        defaults,
    )


def ref(node, attribute, name, kind):
    node.attribute.append(onnx.AttributeProto(name=attribute, ref_attr_name=name, type=kind))
    return node


def test_local_functions_are_expanded_with_their_attributes_and_defaults():
    leaky = ref(h.make_node("LeakyRelu", ["a"], ["b"]), "alpha", "slope", onnx.AttributeProto.FLOAT)
    inner = function("inner", [leaky], ["a"], ["b"], defaults=[h.make_attribute("slope", 0.5)])
    call = ref(
        h.make_node("inner", ["p"], ["q"], domain="local"), "slope", "steep", onnx.AttributeProto.FLOAT
    )
    outer = function(
        "outer", [call, h.make_node("inner", ["q"], ["r"], domain="local")], ["p"], ["r"], ["steep"]
    )
    proto = model(
        [h.make_node("outer", ["x"], ["y"], domain="local", steep=0.25)],
        [info("x")],
        [info("y")],
        functions=[inner, outer],
    )
    agrees(proto, {"x": X})


def test_attributes_of_a_function_reach_the_branches_inside_it():
    leaky = ref(h.make_node("LeakyRelu", ["a"], ["t"]), "alpha", "slope", onnx.AttributeProto.FLOAT)
    then = h.make_graph([leaky], "then", [], [info("t")])
    choose = h.make_node("If", ["c"], ["b"], then_branch=then, else_branch=branch("e", "Neg", reads="a"))
    proto = model(
        [h.make_node("pick", ["c", "x"], ["y"], domain="local", slope=0.125)],
        [info("c", BOOL, ()), info("x")],
        [info("y")],
        functions=[function("pick", [choose], ["c", "a"], ["b"], ["slope"])],
    )
    agrees(proto, {"c": TRUE, "x": X}, {"c": FALSE, "x": X})


def test_a_function_does_not_see_the_values_of_its_caller():
    body = [h.make_node("Add", ["a", "hidden"], ["b"])]
    proto = model(
        [h.make_node("Relu", ["x"], ["hidden"]), h.make_node("f", ["x"], ["y"], domain="local")],
        [info("x")],
        [info("y")],
        functions=[function("f", body, ["a"], ["b"])],
    )
    with pytest.raises(EdgewrightError, match="'hidden' is read but never made"):
        ew.convert(proto)


def test_a_function_that_calls_itself_is_refused():
    proto = model(
        [h.make_node("f", ["x"], ["y"], domain="local")],
        [info("x")],
        [info("y")],
        functions=[function("f", [h.make_node("f", ["a"], ["b"], domain="local")], ["a"], ["b"])],
    )
    with pytest.raises(EdgewrightError, match="calls itself"):
        ew.convert(proto)


def test_inputs_that_are_bound_one_after_the_other_each_count():
    nodes = [
        h.make_node("Loop", ["n", "", "x"], ["a", "rows"], body=loop_body()),
        h.make_node("Reshape", ["rows", "shape"], ["y"]),
    ]
    inputs = [info("n", INT, ()), info("x"), info("shape", INT, ("r",))]
    proto = model(nodes, inputs, [info("y", shape=None)])
    feeds = [
        {"n": np.asarray(n), "x": X, "shape": np.asarray(shape)}
        for n, shape in ((2, [4]), (2, [2, 2]), (2, [1, 4]), (3, [6]), (2, [4]))
    ]
    converted = agrees(proto, *feeds)
    assert {item.name for item in converted.inputs if item.is_bound} == {"n", "shape"}
