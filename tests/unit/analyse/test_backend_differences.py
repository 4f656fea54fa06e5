"""The first op that two backends compute differently, with what it needs to be computed again."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.analyse.backend_differences import compare_backends
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.htp import HtpSimBackend
from edgewright.model.model import Model
from tests.browser.sample_build import digits, mnist
from tests.cli import models

FEEDS = digits()[0][:2]


class OffByTwo(HtpSimBackend):
    """Computes additions wrong: two steps too much in the first element."""

    name = "broken"

    def prepare(self, graph, options):
        session = super().prepare(graph, options)
        return _Broken(session, graph)


class _Broken:
    def __init__(self, session, graph):
        self._session, self._graph = session, graph

    def run(self, inputs):
        outputs = self._session.run(inputs)
        for name in outputs:
            maker = self._graph.producer(name)
            if maker is not None and maker.op.qnn_name() == "FullyConnected":
                outputs[name] = outputs[name].copy()
                outputs[name].reshape(-1)[0] ^= 2
        return outputs

    def placement(self):
        return self._session.placement()


def test_a_backend_is_like_itself():
    graph = mnist("w8a8")[1].fixed_graph()
    result = compare_backends(graph, FEEDS, {"htp-sim": HtpSimBackend(), "again": HtpSimBackend()})
    assert result.differences == ()
    assert "compute all 5 ops alike" in result.first_divergence


def test_the_op_that_differs_is_named_and_can_be_run_again():
    graph = mnist("w8a8")[1].fixed_graph()
    result = compare_backends(graph, FEEDS, {"htp-sim": HtpSimBackend(), "broken": OffByTwo()})
    (difference,) = result.differences
    assert difference.op == "FullyConnected"
    assert difference.steps == pytest.approx(2.0, rel=1e-5)
    assert 0 < difference.share <= 0.1
    assert "FullyConnected" in result.first_divergence
    (expected,) = result.case.outputs["htp-sim"].values()
    again = Model.of(result.case.graph).run(dict(result.case.inputs), backend="htp-sim")
    np.testing.assert_allclose(next(iter(again.values())), expected, rtol=1e-6)


def test_rounding_of_the_cpu_is_told_from_the_npu():
    graph = mnist("w8a8")[1].fixed_graph()
    result = compare_backends(graph, FEEDS, {"cpu": CpuBackend(), "htp-sim": HtpSimBackend()})
    assert all(difference.steps <= 1.5 for difference in result.differences)


def test_an_activation_that_is_computed_with_its_layer_is_no_difference(tmp_path):
    rng = np.random.default_rng(3)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], name="c"),
        helper.make_node("PRelu", ["c", "s"], ["y"], name="p"),
    ]
    weights = {
        "w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32),
        "s": rng.uniform(0.05, 0.3, (6, 1, 1)).astype(np.float32),
    }
    shapes = [("x", TensorProto.FLOAT, [1, 4, 9, 9])], [("y", TensorProto.FLOAT, [1, 6, 9, 9])]
    models.save(tmp_path / "m.onnx", nodes, *shapes, weights)
    feeds = [{"x": rng.standard_normal((1, 4, 9, 9)).astype(np.float32)} for _ in range(3)]
    graph = ew.quantize(tmp_path / "m.onnx", feeds, act_quantizer="tf").fixed_graph()
    result = compare_backends(graph, feeds, {"htp-sim": HtpSimBackend(), "again": HtpSimBackend()})
    assert result.differences == ()
