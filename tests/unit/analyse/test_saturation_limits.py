import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.analyse.advice import list_findings
from edgewright.analyse.layers import measure_layers
from edgewright.analyse.tensors import view_worst_tensors

RANDOM = np.random.default_rng(0)


def model(tmp_path, *tail):
    """x -> a product that reaches far -> what follows -> y."""
    weights = helper.make_tensor(
        "w", TensorProto.FLOAT, [16, 16], RANDOM.normal(0, 4, 256).astype(np.float32)
    )
    nodes = [helper.make_node("MatMul", ["x", "w"], ["far"], name="far"), *tail]
    io = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", io[:1], io[1:], [weights])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return ew.convert(path)


def analysed(source):
    samples = [{"x": RANDOM.normal(0, 2, (4, 16)).astype(np.float32)} for _ in range(12)]
    quantized = ew.quantize(source, samples, act_quantizer="tf")
    before, after = source.fixed_graph(), quantized.fixed_graph()
    layers = measure_layers(before, after, samples)
    views = view_worst_tensors(before, after, samples, layers)
    result = {layer.source: layer for layer in layers}, {view.source: view for view in views}
    return (*result, list_findings(before, after, layers, views, quantized.report))


@pytest.mark.parametrize("op", ["Sigmoid", "Tanh"])
def test_what_a_flat_function_cannot_tell_apart_is_no_loss(tmp_path, op):
    layers, views, findings = analysed(model(tmp_path, helper.make_node(op, ["far"], ["y"], name="flat")))
    # The range ends where the function is flat, far before the values do.
    assert views["far"].high < 0.5 * views["far"].edges[-1]
    assert views["far"].clipped == 0
    assert layers["far"].own_db > 30
    assert not [finding for finding in findings if finding.where == "far"]


def test_a_swish_sees_all_above_zero_and_little_below(tmp_path):
    gate = helper.make_node("Sigmoid", ["far"], ["gate"], name="gate")
    layers, views, _ = analysed(
        model(tmp_path, gate, helper.make_node("Mul", ["far", "gate"], ["y"], name="m"))
    )
    assert views["far"].low > 0.5 * views["far"].edges[0]
    assert views["far"].high == pytest.approx(views["far"].edges[-1], rel=0.02)
    assert layers["far"].own_db > 30


def test_what_an_op_cannot_exceed_is_neither_cut_nor_drawn_beyond(tmp_path):
    _, views, _ = analysed(model(tmp_path, helper.make_node("Sigmoid", ["far"], ["y"], name="flat")))
    view = views["y"]
    # The NPU's encoding of a sigmoid ends a step before 1.
    assert view.high == pytest.approx(255 / 256)
    assert view.clipped == 0
    assert view.edges[-1] == pytest.approx(view.high)
