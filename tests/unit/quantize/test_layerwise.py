"""Weights fitted layer by layer: products as matrices, ranges by output, learned rounding."""

from dataclasses import replace

import numpy as np
import pytest

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Sample
from edgewright.ops.activation import Relu
from edgewright.ops.conv import Conv1d, Conv2d, Conv3d, DepthWiseConv1d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv1d, TransposeConv2d, TransposeConv3d
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.weights.adaround import Feedback, Steps, compute_error, descend
from edgewright.quantize.weights.products import find_products
from edgewright.quantize.weights.sequential_mse import choose_factors
from tests.unit.quantize.nets import Engine, Net

KINDS = (
    *(Conv1d, Conv2d, Conv3d, DepthWiseConv1d, DepthWiseConv2d),
    *(TransposeConv1d, TransposeConv2d, TransposeConv3d, FullyConnected, MatMul),
)
CASES = [sample for kind in KINDS for sample in kind.samples() if sample.inputs[0].dtype.is_float]
REQUEST = QuantizationRequest(weight_bw=4, per_row=True)


def _graph_of(sample: Sample) -> tuple[Graph, dict[str, np.ndarray]]:
    random = np.random.default_rng(5)
    graph = Graph("one")
    shapes = [tuple(t.shape) for t in sample.inputs if t is not None]
    arrays = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    graph.add_input("x", sample.inputs[0])
    names = ["x", *(graph.add_constant(f"c{i}", array) for i, array in enumerate(arrays[1:]))]
    graph.add(Node("node", sample.op, names, ["y"]))
    graph.outputs = ["y"]
    return graph, {"x": arrays[0]}


@pytest.mark.parametrize("sample", CASES, ids=lambda s: f"{s.op.qnn_name()}-{s.label}")
def test_rows_times_matrices_are_what_the_op_computes(sample):
    graph, feed = _graph_of(sample)
    found = find_products(graph)
    if not found:
        assert isinstance(sample.op, MatMul), "only stacks of matrices and turned operands are left out"
        return
    (product,) = found
    constants = list(graph.constants.values())
    rows = product.sample_rows(feed["x"], 1 << 20, 0).transpose(1, 0, 2)
    sums = (rows @ product.to_matrices(constants[0])).transpose(1, 0, 2)
    bias = constants[1] if len(constants) > 1 else 0.0
    (want,) = sample.op.compute(feed["x"], *constants)
    np.testing.assert_allclose(
        sums.reshape(-1, want.shape[-1]) + bias, want.reshape(-1, want.shape[-1]), 1e-4, 1e-4
    )
    np.testing.assert_array_equal(product.to_array(product.to_matrices(constants[0])), constants[0])


def _problem(inner: int = 90, columns: int = 7):
    random = np.random.default_rng(2)
    inputs = random.normal(size=(400, inner)) @ random.normal(size=(inner, inner)) * 0.1
    weights = random.normal(size=(1, inner, columns))
    second = (inputs.T @ inputs / len(inputs))[None] + 1e-3 * np.eye(inner)
    scale = np.broadcast_to(np.abs(weights).max(1, keepdims=True) / 7, weights.shape)
    return weights, second, Steps(scale, -8, 7)


def test_learned_rounding_halves_the_error_of_rounding_to_the_nearest():
    weights, second, steps = _problem()
    found = descend(Feedback(second).round_weights(weights, steps), weights, second, steps)
    nearest = compute_error(weights, steps.round_nearest(weights) * steps.scale, second).sum()
    assert compute_error(weights, found * steps.scale, second).sum() < nearest / 2
    assert (found == np.rint(found)).all()
    assert (found.min(), found.max()) >= (-8, -8)
    assert found.max() <= 7


def test_after_descent_no_single_weight_can_move_for_the_better():
    weights, second, steps = _problem(inner=20, columns=3)
    found = descend(steps.round_nearest(weights), weights, second, steps)
    least = compute_error(weights, found * steps.scale, second)
    for place in range(20):
        for move in (-1, 1):
            moved = found.copy()
            moved[:, place] = np.clip(moved[:, place] + move, -8, 7)
            assert (compute_error(weights, moved * steps.scale, second) >= least - 1e-12).all()


def test_chosen_ranges_are_never_worse_than_the_full_ones():
    weights, second, steps = _problem()
    weights[0, 0] *= 6
    steps = replace(steps, scale=np.broadcast_to(np.abs(weights).max(1, keepdims=True) / 7, weights.shape))
    factors = choose_factors(weights, second, steps, weights.shape[-1])
    drawn = replace(steps, scale=steps.scale * factors)
    before, after = (
        compute_error(weights, s.round_nearest(weights) * s.scale, second) for s in (steps, drawn)
    )
    assert (after <= before).all()
    assert after.sum() < 0.8 * before.sum()


def _net() -> Graph:
    net = Net(1, 8, 8, 4)
    x = net.unary(Relu(), net.conv(net.x, 16))
    x = net.unary(Relu(), net.depthwise(x))
    return net.done(net.dense(net.unary(Relu(), net.conv(x, 8, stride=2)), 5))


def _samples(count: int, seed: int) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    mixing = np.random.default_rng(1).normal(size=(4, 4))
    return [{"x": (random.normal(size=(1, 8, 8, 4)) @ mixing).astype(np.float32)} for _ in range(count)]


def _noise(graph: Graph, quantized: Graph, feeds) -> float:
    engine, (name,) = Engine(), graph.outputs
    plain, fixed = engine.prepare(graph, [name]), engine.prepare(quantized, [name])
    kind, encoding = quantized.types["x"], quantized.types[name].encoding
    pairs = [
        (
            plain.run(f)[name],
            encoding.decode(fixed.run({"x": kind.encoding.encode(f["x"], kind.dtype)})[name]),
        )
        for f in feeds
    ]
    noise = sum(float(np.square(a - b).sum()) for a, b in pairs)
    signal = sum(float(np.square(a).sum()) for a, _ in pairs)
    return 10 * np.log10(noise / signal)


@pytest.mark.parametrize(
    ("algorithms", "least"), [(("seq_mse",), 0.5), (("adaround",), 1.5), (("seq_mse", "adaround"), 2.5)]
)
def test_other_data_gains_in_4_bits(algorithms, least):
    graph, feeds = _net(), _samples(60, 3)
    plain = quantize_graph(graph, REQUEST, feeds, Engine()).graph
    found = quantize_graph(graph, replace(REQUEST, algorithms=algorithms), feeds, Engine())
    others = _samples(40, 8)
    assert _noise(graph, plain, others) - _noise(graph, found.graph, others) > least
    assert f"{'+'.join(algorithms)}: fitted the weights of 4 layers" in found.report.notes[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"block_size": 4},
        {"per_channel": False, "per_row": False},
        {"weight_bw": 8, "act_bw": 16, "steps": (-7, 7)},
    ],
    ids=["blocks", "one encoding a weight", "restricted steps"],
)
def test_any_grid_of_weights_is_kept(changes):
    graph = _net()
    request = replace(REQUEST, algorithms=("seq_mse", "adaround"), **changes)
    found = quantize_graph(graph, request, _samples(24, 3), Engine())
    assert any(note.endswith("adaround: fitted the weights of 4 layers") for note in found.report.notes)
    plain = quantize_graph(graph, replace(request, algorithms=()), _samples(24, 3), Engine())
    for name, kind in plain.graph.types.items():
        if name in plain.graph.constants and kind.encoding is not None:
            fitted = found.graph.types[name]
            assert (fitted.dtype, fitted.encoding.axis, fitted.encoding.block_size) == (
                *(kind.dtype, kind.encoding.axis, kind.encoding.block_size),
            )
    assert _noise(graph, found.graph, _samples(9, 8)) < _noise(graph, plain.graph, _samples(9, 8))


def test_learned_rounding_is_the_same_every_time():
    request = replace(REQUEST, algorithms=("seq_mse", "adaround"))
    first, second = (quantize_graph(_net(), request, _samples(30, 3), Engine()).graph for _ in range(2))
    for name, array in first.constants.items():
        np.testing.assert_array_equal(array, second.constants[name])
        assert first.types[name].encoding == second.types[name].encoding


def test_what_gains_nothing_on_samples_held_back_is_left_out_and_said():
    request = replace(REQUEST, weight_bw=16, algorithms=("adaround",))
    found = quantize_graph(_net(), request, _samples(30, 3), Engine())
    assert found.report.notes[0].startswith("adaround: left out, it gains ")
    plain = quantize_graph(_net(), replace(request, algorithms=()), _samples(30, 3), Engine())
    for name, array in plain.graph.constants.items():
        np.testing.assert_array_equal(array, found.graph.constants[name])


def test_ranges_alone_leave_the_weights_to_the_bias_correction():
    request = replace(REQUEST, algorithms=("seq_mse", "bc"))
    graph = _net()
    found = quantize_graph(graph, request, _samples(30, 3), Engine())
    for name, array in found.source.constants.items():
        np.testing.assert_array_equal(array, graph.constants[name])
    assert "seq_mse: fitted the weights of 4 layers" in found.report.notes


def test_without_samples_learned_rounding_says_what_it_lacks():
    found = quantize_graph(_net(), replace(REQUEST, algorithms=("adaround",)))
    assert found.report.notes == ["adaround: left out, it needs samples"]
