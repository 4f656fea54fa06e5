"""Recurrent layers with the lengths of their sequences: the engine gets the one op that the source had."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.cpu.lengths import with_lengths
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ops import reference
from edgewright.ops.source import SourceOp

STEPS, BATCH, WIDTH, UNITS = 6, 4, 3, 5
GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}


def make_layer(kind: str, direction: str, layout: int = 0, **settings: object) -> onnx.ModelProto:
    """One layer with biases, first states and lengths."""
    gates, count = GATES[kind], 2 if direction == "bidirectional" else 1
    random = np.random.default_rng(5)
    shapes = {
        "w": (count, gates * UNITS, WIDTH),
        "r": (count, gates * UNITS, UNITS),
        "b": (count, 2 * gates * UNITS),
    }
    constants = [
        numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    state = (BATCH, count, UNITS) if layout else (count, BATCH, UNITS)
    states, results = (["h0", "c0"], ["y", "h", "c"]) if kind == "LSTM" else (["h0"], ["y", "h"])
    inputs = [
        helper.make_tensor_value_info(
            "x", TensorProto.FLOAT, (BATCH, STEPS, WIDTH) if layout else (STEPS, BATCH, WIDTH)
        ),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, (BATCH,)),
        *(helper.make_tensor_value_info(name, TensorProto.FLOAT, state) for name in states),
    ]
    attributes = {
        "hidden_size": UNITS,
        "direction": direction,
        **({"layout": 1} if layout else {}),
        **settings,
    }
    node = helper.make_node(kind, ["x", "w", "r", "b", "lengths", *states], results, **attributes)
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    graph = helper.make_graph([node], "g", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def draw(graph: Graph, lengths: list[int]) -> dict[str, Array]:
    random = np.random.default_rng(8)
    values = {
        name: random.normal(size=graph.types[name].static_shape()).astype(np.float32)
        for name in graph.inputs
        if name != "lengths"
    }
    return {**values, "lengths": np.asarray(lengths, np.int32)}


def list_kinds(graph: Graph) -> list[str]:
    return [node.op.type for node in with_lengths(graph).nodes if isinstance(node.op, SourceOp)]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", GATES)
def test_a_layer_with_lengths_is_one_op_again(kind: str, direction: str, tmp_path: Path) -> None:
    proto = make_layer(kind, direction)
    onnx.save(proto, tmp_path / "m.onnx")
    graph = ew.convert(tmp_path / "m.onnx").fixed_graph()
    assert list_kinds(graph) == [kind] * (2 if direction == "bidirectional" else 1)
    source = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    session = CpuBackend().prepare(graph, RunOptions(threads=1))
    for lengths in ([1, 6, 3, 5], [6, 6, 6, 6], [0, 2, 0, 4]):
        feed = draw(graph, lengths)
        found, plain = session.run(feed), reference.run(graph, feed)
        for item, wanted in zip(source.get_outputs(), source.run(None, feed), strict=True):
            np.testing.assert_array_equal(found[item.name], wanted)
            np.testing.assert_allclose(plain[item.name], wanted, atol=1e-5)


@pytest.mark.parametrize("kind", GATES)
def test_batches_may_come_first(kind: str, tmp_path: Path) -> None:
    onnx.save(make_layer(kind, "bidirectional", layout=1), tmp_path / "m.onnx")
    graph = ew.convert(tmp_path / "m.onnx").fixed_graph()
    assert list_kinds(graph) == [kind, kind]
    feed = draw(graph, [1, 6, 0, 5])
    found, wanted = CpuBackend().prepare(graph, RunOptions()).run(feed), reference.run(graph, feed)
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, atol=1e-5)


def test_coupled_gates_stay_as_they_are(tmp_path: Path) -> None:
    onnx.save(make_layer("LSTM", "forward", input_forget=1), tmp_path / "m.onnx")
    assert not list_kinds(ew.convert(tmp_path / "m.onnx").fixed_graph())


def test_lengths_of_another_mask_are_not_taken_for_those_of_the_layer(tmp_path: Path) -> None:
    """The mask counts in twos: only ONNX's own counting means that a sequence ends."""
    onnx.save(make_layer("GRU", "forward"), tmp_path / "m.onnx")
    graph = ew.convert(tmp_path / "m.onnx").fixed_graph()
    for name, array in graph.constants.items():
        if array.size == STEPS and np.array_equal(array.reshape(-1), np.arange(STEPS)):
            graph.constants[name] = array * 2
    assert not list_kinds(graph)
