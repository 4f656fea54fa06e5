"""Folding: batch norms, biases and factors go into the weights before them, and say why where they do not."""

import logging
import math

import numpy as np
import pytest

import edgewright.passes.pipeline  # noqa: F401 - registers the passes
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.text import parse
from edgewright.ir.types import TensorType
from edgewright.ir.verify import verify
from edgewright.ops.conv import Conv1d, Conv2d, Conv3d, DepthWiseConv1d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv1d, TransposeConv2d, TransposeConv3d
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.norm import Batchnorm
from edgewright.passes.graph_pass import PASSES
from tests.unit.passes.nets import feed, results

LINEAR = [
    sample
    for kind in (
        Conv1d,
        Conv2d,
        Conv3d,
        DepthWiseConv1d,
        DepthWiseConv2d,
        TransposeConv1d,
        TransposeConv2d,
        TransposeConv3d,
        FullyConnected,
        MatMul,
    )
    for sample in kind.samples()
    if not any(isinstance(t, TensorType) and t.dtype.is_integer for t in sample.inputs)
]
RANDOM = np.random.default_rng(5)


def linear(sample, *, has_known_weights: bool = True) -> Graph:
    """A graph of one linear op whose weights are constants."""
    graph, names = Graph("net"), []
    for index, item in enumerate(sample.inputs):
        name = "" if item is None else f"x{index}"
        names.append(name)
        if isinstance(item, TensorType) and (index == 0 or not has_known_weights):
            graph.add_input(name, item)
        elif item is not None:
            shape = item.static_shape() if isinstance(item, TensorType) else item.shape
            graph.add_constant(name, RANDOM.normal(size=shape).astype(np.float32))
    graph.add(Node("linear", sample.op, names, ["y"]))
    graph.outputs = ["y"]
    return graph


def then(graph: Graph, op: Op, *constants: np.ndarray) -> Graph:
    """Another op behind the output, with constants of its own."""
    names = [graph.add_constant(graph.fresh_name("c"), c.astype(np.float32)) for c in constants]
    output = graph.fresh_name("z")
    graph.add(Node(output, op, [graph.outputs[0], *names], [output]))
    graph.outputs = [output]
    return graph


def channels(graph: Graph) -> int:
    return int(graph.types[graph.outputs[0]].shape[-1])


def folded(graph: Graph, name: str) -> int:
    inputs = feed(graph)
    before = results(graph, inputs)[0]
    output = graph.outputs[0]
    changes = PASSES[name](graph)
    verify(graph, after=name)
    assert graph.outputs == [output]
    after = results(graph, inputs)[0]
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(before).max()))
    assert PASSES[name](graph) == 0
    return changes


@pytest.mark.parametrize("sample", LINEAR, ids=lambda s: f"{s.op.qnn_name()}-{s.label}")
def test_a_batch_norm_goes_into_every_linear_op(sample) -> None:
    graph = linear(sample)
    width = channels(graph)
    graph = then(graph, Batchnorm(), RANDOM.normal(size=width), RANDOM.normal(size=width))
    assert folded(graph, "fold_batchnorm") == 1
    assert [node.name for node in graph.nodes] == ["linear"]
    assert len(graph.constants) == 2


@pytest.mark.parametrize("sample", LINEAR, ids=lambda s: f"{s.op.qnn_name()}-{s.label}")
@pytest.mark.parametrize(
    "kind", [ElementWiseAdd, ElementWiseSubtract, ElementWiseMultiply, ElementWiseDivide]
)
def test_a_constant_for_each_channel_goes_into_every_linear_op(sample, kind: type[Op]) -> None:
    graph = linear(sample)
    graph = then(graph, kind(), RANDOM.uniform(0.5, 2, size=channels(graph)))
    assert folded(graph, "fold_channels") == 1
    assert [node.name for node in graph.nodes] == ["linear"]


def test_gamma_and_beta_stay_known_and_follow_what_is_folded_later() -> None:
    graph = linear(LINEAR[0])
    width = channels(graph)
    graph = then(graph, Batchnorm(), np.full(width, 2), np.full(width, 1))
    graph.nodes[-1].notes.update(gamma=np.full(width, 3.0), beta=np.full(width, 1.0))
    graph = then(then(graph, ElementWiseMultiply(), np.full(width, 2)), ElementWiseAdd(), np.full(width, 5))
    folded(graph, "fold_batchnorm")
    folded(graph, "fold_channels")
    (node,) = graph.nodes
    np.testing.assert_array_equal(node.notes["gamma"], np.full(width, 6.0))
    np.testing.assert_array_equal(node.notes["beta"], np.full(width, 7.0))


def test_a_batch_norm_without_bias_adds_none() -> None:
    graph = linear(LINEAR[0])
    graph = then(graph, Batchnorm(), np.full(channels(graph), 2))
    folded(graph, "fold_batchnorm")
    assert len(graph.nodes[0].inputs) == 2


def test_weights_that_another_op_reads_stay_as_they_are() -> None:
    graph = linear(next(s for s in LINEAR if isinstance(s.op, Conv2d)))
    old = graph.constants["x1"].copy()
    graph.add(Node("second", graph.node("linear").op, list(graph.node("linear").inputs), ["other"]))
    graph = then(graph, ElementWiseMultiply(), np.full(channels(graph), 2))
    graph.outputs.append("other")
    folded_output = graph.outputs[0]
    assert PASSES["fold_channels"](graph) == 1
    np.testing.assert_array_equal(graph.constants["x1"], old)
    assert graph.producer(folded_output).inputs[1] != "x1"


def refused(graph: Graph, name: str, caplog: pytest.LogCaptureFixture) -> str:
    with caplog.at_level(logging.DEBUG, logger="edgewright"):
        assert PASSES[name](graph) == 0
    return caplog.text


def test_an_output_that_others_read_is_refused(caplog) -> None:
    graph = linear(LINEAR[0])
    graph = then(graph, ElementWiseAdd(), np.ones(channels(graph)))
    graph.outputs.append("y")
    assert "the output of 'linear' is read elsewhere too" in refused(graph, "fold_channels", caplog)


def test_weights_that_are_not_known_are_refused(caplog) -> None:
    graph = linear(next(s for s in LINEAR if isinstance(s.op, MatMul)), has_known_weights=False)
    graph = then(graph, ElementWiseMultiply(), np.ones(channels(graph)))
    assert "the weights of 'linear' are not known" in refused(graph, "fold_channels", caplog)


def test_a_division_by_zero_is_refused(caplog) -> None:
    graph = linear(LINEAR[0])
    graph = then(graph, ElementWiseDivide(), np.zeros(channels(graph)))
    assert "is not finite" in refused(graph, "fold_channels", caplog)


@pytest.mark.parametrize("shape", [(1, 6, 1, 1), (6, 6, 1), (2, 1, 1, 5), (1, 1, 1, 1, 5)])
def test_a_constant_that_is_not_one_for_each_channel_stays(shape: tuple[int, ...]) -> None:
    graph = parse("""
        graph main {
          input x: float_32[1,6,6,1]
          const w: float_32[1,1,1,5] = [1, 2, 3, 4, 5]
          y = Conv2d(x, w) {stride=(1, 1), pad_amount=((0, 0), (0, 0))}
          output y
        }
    """)
    graph = then(graph, ElementWiseAdd(), np.ones(shape))
    assert folded(graph, "fold_channels") == 0


def test_a_constant_is_folded_up_to_a_size_and_no_further(caplog) -> None:
    graph = parse("""
        graph main {
          const c: float_32[2] = [1, -2]
          input x: float_32[2]
          r = Relu(c)
          s = ElementWiseAdd(r, x)
          t = Tile(c) {multiples=(1000000,)}
          u = Relu(t)
          output s, u
        }
    """)
    text = refused_or_folded(graph, caplog)
    assert "r" in graph.constants
    assert "more than 1048576" in text
    assert graph.producer("t") is not None


def refused_or_folded(graph: Graph, caplog: pytest.LogCaptureFixture) -> str:
    with caplog.at_level(logging.DEBUG, logger="edgewright"):
        PASSES["fold_constants"](graph)
    return caplog.text


def behind_reshape(shape: str, constant: str) -> Graph:
    numbers = range(1, math.prod(map(int, constant.split(","))) + 1)
    return parse(f"""
        graph main {{
          input x: float_32[6,4]
          const w: float_32[4,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7]
          f = FullyConnected(x, w)
          r = Reshape(f) {{shape=({shape})}}
          const c: float_32[{constant}] = [{", ".join(map(str, numbers))}]
          y = ElementWiseAdd(r, c)
          output y
        }}
    """)


@pytest.mark.parametrize(
    ("shape", "constant"),
    [
        ("2, 3, 4", "4"),
        ("2, 3, 2, 2", "2,2"),
        ("2, 3, 2, 2", "1,1,2,2"),
        ("3, 2, 4", "1"),
        ("6, 1, 4", "1,4"),
    ],
)
def test_a_constant_behind_a_reshape_of_the_rows_or_channels_is_folded(shape: str, constant: str) -> None:
    graph = behind_reshape(shape, constant)
    assert folded(graph, "fold_channels") == 1
    assert [node.name for node in graph.nodes] == ["f", "r"]


@pytest.mark.parametrize(
    ("shape", "constant"), [("2, 12", "12"), ("2, 3, 4", "3,1"), ("2, 4, 3", "4,1"), ("12, 2", "2")]
)
def test_a_constant_behind_a_reshape_that_mixes_channels_stays(shape: str, constant: str) -> None:
    assert folded(behind_reshape(shape, constant), "fold_channels") == 0


def normed(shape: str, channels: int) -> Graph:
    """A batch norm behind a reshape, as 1-D convolutions are written."""
    graph = parse(f"""
        graph main {{
          input x: float_32[1,1,6,2]
          const w: float_32[1,1,2,4] = [1, 2, 3, 4, 5, 6, 7, 8]
          c = Conv2d(x, w) {{stride=(1, 1), pad_amount=((0, 0), (0, 0))}}
          y = Reshape(c) {{shape=({shape})}}
          output y
        }}
    """)
    weights = RANDOM.normal(size=(2, channels))
    graph = then(graph, Batchnorm(), *weights)
    graph.nodes[-1].notes.update(gamma=weights[0], beta=weights[1])
    return graph


def test_a_batch_norm_behind_the_reshape_of_a_1d_convolution_is_folded() -> None:
    graph = normed("1, 6, 4", 4)
    assert folded(graph, "fold_batchnorm") == 1
    assert [node.op.qnn_name() for node in graph.nodes] == ["Conv2d", "Reshape"]
    assert set(graph.nodes[0].notes) == {"gamma", "beta"}


def test_a_batch_norm_behind_a_reshape_of_the_channels_stays(caplog) -> None:
    assert "a reshape between them changes the channels" in refused(
        normed("1, 12, 2", 2), "fold_batchnorm", caplog
    )
