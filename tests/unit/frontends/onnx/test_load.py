"""What the user says of inputs and outputs, and the report on a model."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import DType
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends._common.report import report_on
from edgewright.frontends.onnx.load import OnnxSource


def info(name, shape, code=T.FLOAT):
    return h.make_tensor_value_info(name, code, shape)


def model(nodes, inputs, outputs, weights=(), **kwargs):
    graph = h.make_graph(nodes, "g", inputs, outputs, list(weights), **kwargs)
    opsets = [h.make_opsetid("", 17), h.make_opsetid("com.example", 1)]
    return h.make_model(graph, opset_imports=opsets, ir_version=10)


def chain():
    nodes = [
        h.make_node("Relu", ["image"], ["middle"], name="first"),
        h.make_node("Exp", ["middle"], ["result"], name="second"),
        h.make_node("Neg", ["image"], ["loose"], name="third"),
    ]
    return model(nodes, [info("image", ("batch", 3, "height"))], [info("result", None)])


def shapes(**options):
    return {n: t.shape for n, t in OnnxSource.open(chain(), InputSpec(**options)).inputs.items()}["image"]


def test_shapes_batch_and_symbols_fix_dimensions():
    assert shapes(input_shapes={"image": (2, 3, 4)}) == (2, 3, 4)
    assert [str(dim) for dim in shapes(batch=7)] == ["7", "3", "height"]
    assert shapes(batch=7, symbols={"height": 9}) == (7, 3, 9)
    assert shapes(input_shapes={"image": (2, 5, 4)}, batch=7) == (2, 5, 4)


def test_a_symbol_has_one_size_in_every_input():
    proto = model(
        [h.make_node("Add", ["a", "b"], ["y"])], [info("a", ("n",)), info("b", ("n",))], [info("y", None)]
    )
    inputs = OnnxSource.open(proto, InputSpec(symbols={"n": 4})).inputs
    assert [t.shape for t in inputs.values()] == [(4,), (4,)]


def test_an_input_may_get_another_datatype():
    found = OnnxSource.open(chain(), InputSpec(input_dtypes={"image": DType.FLOAT_16})).build({})
    assert found.graph.types["result"].dtype == DType.FLOAT_16


@pytest.mark.parametrize("output", ["middle", "loose", "image"])
def test_any_value_may_be_an_output(output):
    options = InputSpec(outputs=[output], input_shapes={"image": (1, 3, 1)})
    graph = OnnxSource.open(chain(), options).build({}).graph
    x = np.asarray([-1, 0, 2], np.float32).reshape(1, 3, 1)
    expected = {"middle": np.maximum(x, 0), "loose": -x, "image": x}[output]
    (found,) = CpuBackend().prepare(graph, RunOptions()).run({"image": x}).values()
    np.testing.assert_array_equal(found, expected)


def test_disconnected_nodes_are_kept_when_asked_for():
    assert len(OnnxSource.open(chain()).build({}).graph) == 2
    assert len(OnnxSource.open(chain(), InputSpec(keep_disconnected=True)).build({}).graph) == 3


@pytest.mark.parametrize(
    ("options", "says", "do"),
    [
        (
            {"input_shapes": {"imag": (1,)}},
            "input_shapes=... names the input 'imag'",
            "did you mean 'image'?",
        ),
        (
            {"input_dtypes": {"zzz": DType.INT_8}},
            "input_dtypes=... names the input 'zzz'",
            "use one of 'image'",
        ),
        (
            {"symbols": {"hieght": 3}},
            "symbols=... names the symbolic dimension",
            "did you mean 'height'?",
        ),
        ({"outputs": ["resul"]}, "outputs=... names the value 'resul'", "did you mean 'result'?"),
        ({"symbols": {"height": 0}}, "size 0, expected 1 or more", ""),
        ({"batch": 0}, "batch 0 is given, expected 1 or more", ""),
        (
            {"input_shapes": {"image": (1, 3)}},
            r"shape \[1, 3\] is given .* \[batch,3,height\]",
            "give 3 dimensions",
        ),
        ({"input_shapes": {"image": (1, 3, -4)}}, r"shape \[1, 3, -4\] is given", "none below 0"),
    ],
)
def test_requests_that_do_not_fit_say_what_would(options, says, do):
    with pytest.raises(EdgewrightError, match=says) as caught:
        OnnxSource.open(chain(), InputSpec(**options))
    assert do in caught.value.do


def test_a_shape_that_contradicts_the_graph_names_the_node():
    w = onnx.numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
    proto = model(
        [h.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        [info("x", (2, 3))],
        [info("y", None)],
        [w],
    )
    with pytest.raises(EdgewrightError) as caught:
        OnnxSource.open(proto, InputSpec(input_shapes={"x": (2, 5)})).build({})
    assert (caught.value.exit_code, caught.value.where.node) == (3, "product")


def test_inputs_that_are_no_tensors_are_unsupported():
    sequence = h.make_tensor_sequence_value_info("s", T.FLOAT, (2,))
    proto = model([h.make_node("SequenceLength", ["s"], ["n"])], [sequence], [info("n", (), T.INT64)])
    with pytest.raises(EdgewrightError) as caught:
        OnnxSource.open(proto)
    assert caught.value.code == "unsupported-op"


def test_an_output_that_is_an_initializer_is_made_by_a_node():
    w = onnx.numpy_helper.from_array(np.asarray([1, 2], np.float32), "w")
    proto = model(
        [h.make_node("Relu", ["x"], ["y"])], [info("x", (2,))], [info("y", (2,)), info("w", (2,))], [w]
    )
    graph = OnnxSource.open(proto).build({}).graph
    assert graph.outputs == ["y", "w"]
    assert graph.producer("w") is not None


def test_inputs_may_be_fixed_to_values_of_their_type():
    nodes = [h.make_node("Reshape", ["x", "shape"], ["y"])]
    proto = model(nodes, [info("x", (2, 3)), info("shape", (2,), T.INT64)], [info("y", None)])
    source = OnnxSource.open(proto, InputSpec(input_values={"shape": [3, 2]}))
    graph = source.build({}).graph
    assert (graph.inputs, graph.types["y"].shape) == (["x"], (3, 2))
    for value, words in (
        ([3, 2.5], "is not one of int64"),
        ("a", "is not one of int64"),
        ([1], "does not fit"),
    ):
        with pytest.raises(EdgewrightError, match=words):
            OnnxSource.open(proto, InputSpec(input_values={"shape": value}))
    with pytest.raises(EdgewrightError, match="names the input 'shapes'"):
        OnnxSource.open(proto, InputSpec(input_values={"shapes": [3, 2]}))


def mixed():
    w = onnx.numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
    nodes = [
        h.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        h.make_node("Magic", ["a"], ["b"], name="magic", domain="com.example"),
        h.make_node("Relu", ["b"], ["c"], name="behind"),
        h.make_node("Wonder", ["c"], ["y"], name="wonder", domain="com.example"),
        h.make_node("Unique", ["a"], ["u"], name="unique"),
    ]
    inputs = [info("x", (2, 3)), info("unread", (1,))]
    return model(nodes, inputs, [info("y", None), info("u", None)], [w])


def counts(report):
    return {item.op: (item.how, item.nodes, item.macs) for item in report.ops}


def test_the_report_counts_every_op_and_how_it_comes_across():
    report = report_on(OnnxSource.open(mixed()))
    assert counts(report) == {
        "MatMul": ("qnn", 1, 24),
        "Relu": ("behind an unsupported op", 1, 0),
        "Unique": ("source op", 1, 0),
        "com.example.Magic": ("unsupported", 1, 0),
        "com.example.Wonder": ("unsupported", 1, 0),
    }
    assert [problem.node for problem in report.problems] == ["magic", "wonder"]
    assert [problem.node for problem in report.source_ops] == ["unique"]
    assert report.unused_inputs == ("unread",)
    assert not report.is_convertible
    assert report.share("nodes") == pytest.approx(1 / 5)
    assert report.share("macs") == 1


def test_a_declared_type_lets_the_check_go_on_behind_an_unsupported_op():
    proto = mixed()
    proto.graph.value_info.append(info("b", (2, 4)))
    report = report_on(OnnxSource.open(proto))
    assert counts(report)["Relu"] == ("qnn", 1, 0)
    assert report.share("nodes") == pytest.approx(2 / 5)


def test_an_op_that_waits_for_an_unsupported_one_is_not_called_folded():
    # The target of the reshape would have to be known; only its type is declared.
    nodes = [
        h.make_node("Magic", ["x"], ["w"], name="magic", domain="com.example"),
        h.make_node("Reshape", ["x", "w"], ["y"], name="reshape"),
    ]
    proto = model(nodes, [info("x", (2, 3))], [info("y", None)])
    proto.graph.value_info.append(info("w", (2,), T.INT64))
    report = report_on(OnnxSource.open(proto))
    assert counts(report)["Reshape"] == ("behind an unsupported op", 1, 0)
    assert (report.share("nodes"), report.share("macs")) == (0, 0)


def test_macs_are_counted_for_a_batch_of_one_and_not_where_other_sizes_are_open():
    w = onnx.numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
    for shape, expected in ((("batch", 3), (12, 0)), (("batch", "n", 3), (0, 1))):
        proto = model([h.make_node("MatMul", ["x", "w"], ["y"])], [info("x", shape)], [info("y", None)], [w])
        report = report_on(OnnxSource.open(proto))
        assert (report.macs, report.symbolic_nodes) == expected


def test_the_report_of_a_good_model_says_so_and_names_what_is_loose():
    report = report_on(OnnxSource.open(chain(), InputSpec(outputs=["middle"])))
    assert report.is_convertible
    assert report.unused_outputs == ("result", "loose")
    assert (report.nodes, report.share("nodes")) == (1, 1.0)


def test_the_report_names_inputs_that_must_be_constants():
    nodes = [h.make_node("Reshape", ["x", "shape"], ["y"], name="reshape")]
    proto = model(nodes, [info("x", (2, 3)), info("shape", (2,), T.INT64)], [info("y", None)])
    report = report_on(OnnxSource.open(proto))
    assert report.bound == {"shape": "reshape"}
    assert not report.is_convertible
