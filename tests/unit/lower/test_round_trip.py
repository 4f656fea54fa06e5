"""Every sample of every op survives its way into records, through net.json, and back."""

from pathlib import Path

import numpy as np
import pytest

import edgewright.ops  # noqa: F401 - fills the registry
from edgewright.core.errors import BadInput, EdgewrightError, Problems, UsageError
from edgewright.core.numbers import DType
from edgewright.ir.dims import symbol
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import REGISTRY, Sample
from edgewright.ir.types import TensorType
from edgewright.lower.lift import lift
from edgewright.lower.lower import LowerOptions, lower
from edgewright.lower.names import NameTable, sanitize_name
from edgewright.model.saving import load_graph, save_graph
from edgewright.ops import reference
from edgewright.ops.activation import Relu
from edgewright.ops.rearrange import Reshape
from edgewright.ops.source import SourceOp
from edgewright.passes.pipeline import TARGET, run_passes
from tests.unit.ops.test_samples import graph_of

QNN_ONLY = [
    sample
    for op in REGISTRY.values()
    for sample in op.samples()
    if all(i is None or not isinstance(i, TensorType) or i.dtype.is_qnn for i in sample.inputs)
]


def is_storable(graph: Graph) -> bool:
    return all(t.is_static and t.dtype.is_qnn for t in graph.types.values())


@pytest.mark.parametrize("sample", QNN_ONLY, ids=lambda s: f"{s.op.qnn_name()}-{s.label}")
def test_an_op_means_the_same_after_net_json(sample: Sample, tmp_path: Path) -> None:
    graph, feed = graph_of(sample)
    if not is_storable(graph):
        with pytest.raises(EdgewrightError):
            save_graph(graph, tmp_path / "sample.cpp")
        assert list(tmp_path.iterdir()) == []
        return
    files = save_graph(graph, tmp_path / "sample.cpp")
    loaded = load_graph(files.net_json)
    ops = [node.op for node in loaded.nodes if not isinstance(node.op, Reshape)]
    if not isinstance(sample.op, Reshape):
        assert [type(op) for op in ops] == [type(sample.op.canonical())]
    if sample.op.has_reference():
        stored = {name: array.reshape(loaded.types[name].static_shape()) for name, array in feed.items()}
        with np.errstate(all="ignore"):
            expected, found = reference.run(graph, feed), reference.run(loaded, stored)
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name].reshape(array.shape), array)


def relu(name: str = "x", shape: tuple[object, ...] = (2, 3)) -> Graph:
    graph = Graph("g")
    graph.add_input(name, TensorType(shape))  # type: ignore[arg-type]
    graph.add(Node("n", Relu(), [name], ["y"]))
    graph.outputs = ["y"]
    return graph


def test_source_names_come_back_from_sanitized_ones() -> None:
    records = lower(relu("in/put:0"))
    assert list(records.tensors) == ["in_put_0", "y"]
    assert lift(records).inputs == ["in/put:0"]


def test_two_names_never_share_a_sanitized_form() -> None:
    names = NameTable()
    assert [names("a/b"), names("a:b"), names("a/b")] == ["a_b", "a_b_2", "a_b"]


@pytest.mark.parametrize("name", ["", "9lives", "../../etc", 'a"b\n', "*/", "x" * 5000, "\u00fc\ud800"])
def test_sanitized_names_are_identifiers_that_fit_a_tar_header(name: str) -> None:
    form = sanitize_name(name)
    assert form.isascii()
    assert form.isidentifier()
    assert len(form) <= 93


def test_counted_names_keep_inputs_and_outputs() -> None:
    graph = relu()
    graph.add(Node("m", Relu(), ["y"], ["z"]))
    graph.outputs = ["z"]
    assert list(lower(graph, LowerOptions(is_counted=True)).tensors) == ["x", "tensor_2", "z"]


def test_symbolic_inputs_are_listed_with_the_options_that_fix_them() -> None:
    with pytest.raises(Problems, match=r"input_shapes=\{'x': \[N, N, ...\]\}") as caught:
        lower(relu(shape=(symbol("h"), 3)))
    assert isinstance(caught.value.errors[0], UsageError)


def test_batch_becomes_one_where_nothing_is_said() -> None:
    graph = relu(shape=(symbol("batch"), 3))
    run_passes(graph, TARGET)
    assert graph.types["x"].shape == (1, 3)


def test_all_foreign_ops_and_datatypes_are_reported_at_once() -> None:
    graph = relu()
    for index in range(2):
        op = SourceOp(package="ai.onnx", type="Det", results=(TensorType((), DType.FLOAT_8E5M2),))
        graph.add(Node(f"d{index}", op, ["y"], [f"o{index}"]))
    with pytest.raises(Problems) as caught:
        lower(graph)
    assert [error.code for error in caught.value.errors] == ["unsupported-op"] * 2 + [
        "unsupported-feature"
    ] * 2


def test_a_shape_that_contradicts_the_op_is_named_with_both_values() -> None:
    records = lower(relu())
    wrong = {**records.tensors}
    wrong["y"] = type(wrong["y"])("y", wrong["y"].kind, DType.FLOAT_32, (2, 4))
    with pytest.raises(BadInput, match=r"stored as \[2, 4\], but the op computes \[2, 3\]"):
        lift(type(records)(records.name, wrong, records.nodes))


def test_outputs_keep_the_order_of_the_source_model() -> None:
    graph = relu()
    graph.add(Node("m", Relu(), ["y"], ["first"]))
    graph.add(Node("o", Relu(), ["x"], ["last"]))
    graph.outputs = ["last", "first", "y"]
    assert lift(lower(graph)).outputs == ["last", "first", "y"]


def test_an_output_that_is_an_input_is_refused_instead_of_left_out() -> None:
    graph = relu()
    graph.outputs = ["y", "x"]
    with pytest.raises(Problems, match="output 'x' is not computed by an op"):
        lower(graph)
