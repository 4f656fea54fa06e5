"""Corrections of weights and biases: what they keep, what they gain, and what they say they could not do."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from edgewright.core.errors import UsageError
from edgewright.ir.graph import Graph
from edgewright.ir.verify import verify
from edgewright.ops import reference
from edgewright.ops.activation import Relu, Relu6, Sigmoid
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.matmul import MatMul
from edgewright.quantize.assign import Plan
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.weights.bias_correction import correct_biases, measure_input_means, with_biases
from edgewright.quantize.weights.cle import equalize
from edgewright.quantize.weights.even_channels import measure_channel_reach
from tests.unit.quantize.nets import Engine, Net, samples
from tests.unit.quantize.simulate import simulated


def outputs(graph: Graph, data) -> list[np.ndarray]:
    return [reference.run(graph, sample)[graph.outputs[0]] for sample in data]


def decibels(graph: Graph, other: Graph) -> float:
    data = samples(graph)
    wanted, found = outputs(graph, data), outputs(simulated(other), data)
    noise = sum(float(np.square(a - b).sum()) for a, b in zip(wanted, found, strict=True))
    return 10 * np.log10(sum(float(np.square(a).sum()) for a in wanted) / noise)


def mobile(*, relu=Relu, scale: float = 1.0) -> Graph:
    """An inverted residual block; with a scale, its hidden channels differ by up to that factor."""
    net = Net(1, 8, 8, 4, seed=5)
    hidden = net.unary(relu(), net.conv(net.x, 16, size=1))
    deep = net.unary(relu(), net.depthwise(hidden))
    graph = net.done(net.unary(relu(), net.conv(net.conv(deep, 6, size=1), 8)))
    convs = [node for node in graph.nodes if len(node.inputs) == 3]
    for first, second in itertools.pairwise(convs):
        _rescale(graph, first, second, scale)
    return graph


def _rescale(graph, first, second, scale) -> None:
    channels = graph.types[first.outputs[0]].shape[-1]
    factor = np.geomspace(1, scale, int(channels)).astype(np.float32)
    np.random.default_rng(channels).shuffle(factor)
    graph.constants[first.inputs[1]] = graph.constants[first.inputs[1]] * factor
    graph.constants[first.inputs[2]] = graph.constants[first.inputs[2]] * factor
    across = factor if graph.types[second.inputs[1]].shape[-2] == 1 else factor[:, None]
    graph.constants[second.inputs[1]] = graph.constants[second.inputs[1]] / across


ONE_ENCODING = QuantizationRequest(per_channel=False, param_schema="symmetric")


def test_equalization_keeps_the_meaning_of_the_float_graph():
    graph = mobile(scale=100)
    twin, done = equalize(graph)
    verify(twin)
    for a, b in zip(outputs(graph, samples(graph)), outputs(twin, samples(graph)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    assert len(done.chains) == 2
    assert [len(chain) for chain in done.chains] == [3, 2]


def test_equalization_leaves_the_given_graph_alone():
    graph = mobile(scale=100)
    before = {name: array.copy() for name, array in graph.constants.items()}
    equalize(graph)
    for name, array in before.items():
        np.testing.assert_array_equal(graph.constants[name], array)


def test_a_network_whose_channels_were_rescaled_collapses_without_and_recovers_with_equalization():
    even, uneven = mobile(), mobile(scale=100)
    reference_db = decibels(even, quantize_graph(even, ONE_ENCODING, samples(even), Engine()).graph)
    collapsed = quantize_graph(uneven, ONE_ENCODING, samples(uneven), Engine())
    with_cle = QuantizationRequest(per_channel=False, algorithms=("cle",))
    recovered = quantize_graph(uneven, with_cle, samples(uneven), Engine())
    verify(recovered.graph)
    assert decibels(uneven, collapsed.graph) < reference_db - 10
    assert decibels(uneven, recovered.graph) > reference_db - 0.5
    assert any(note.startswith("cle: equalized 2 chains") for note in recovered.report.notes)


def test_equalization_that_samples_do_not_gain_by_is_left_out_and_that_is_said():
    data = samples(mobile())
    # What is equal already has nothing to gain.
    graph, _ = equalize(mobile(), lambda twin, values: measure_channel_reach(twin, values, data, Engine()))
    plain = quantize_graph(graph, ONE_ENCODING, data, Engine())
    asked = quantize_graph(graph, replace(ONE_ENCODING, algorithms=("cle",)), data, Engine())
    assert [note for note in asked.report.notes if note.startswith("cle: left out, it gains")]
    assert decibels(graph, asked.graph) == decibels(graph, plain.graph)


def test_measured_channels_of_activations_count_in_the_equalization():
    graph = mobile(scale=100)
    data = samples(graph)

    def measure(twin, values):
        return measure_channel_reach(twin, values, data, Engine())

    (unmeasured, _), (measured, done) = equalize(graph), equalize(graph, measure)
    link = next(node for node in graph.nodes if isinstance(node.op, Relu)).outputs[0]
    spreads = []
    for twin in (graph, unmeasured, measured):
        high = measure(twin, [link])[link][1]
        spreads.append(high.max() / high[high > 0].min())
    assert spreads[2] < spreads[1] < spreads[0]
    assert len(done.chains) == 2


def test_a_relu6_ends_where_its_measured_channels_did():
    graph = mobile(relu=Relu6)
    _, done = equalize(
        graph, lambda twin, values: measure_channel_reach(twin, values, samples(graph), Engine())
    )
    assert "cle: 2 Relu6 became Relu, up to what was seen" in done.list_notes()


def test_channels_have_one_range_on_both_sides_afterwards():
    twin, _ = equalize(mobile(scale=1000))
    first, second = [node for node in twin.nodes if isinstance(node.op, Conv2d)][-2:]
    out = np.abs(twin.constants[first.inputs[1]]).max((0, 1, 2))
    into = np.abs(twin.constants[second.inputs[1]]).max((0, 1, 3))
    np.testing.assert_allclose(out, into, rtol=0.05)


def test_a_relu6_between_convolutions_becomes_a_relu_and_is_said():
    twin, done = equalize(mobile(relu=Relu6))
    assert len(done.relus) == 2
    assert sum(isinstance(node.op, Relu6) for node in twin.nodes) == 1
    assert "cle: 2 Relu6 became Relu" in done.list_notes()


@pytest.mark.parametrize("how", ["sigmoid", "branch", "add", "output"])
def test_what_scales_cannot_move_through_is_left_alone_with_a_reason(how):
    net = Net()
    one = net.conv(net.x, 4)
    between = net.unary(Sigmoid(), one) if how == "sigmoid" else net.unary(Relu(), one)
    if how == "add":
        between = net.emit(ElementWiseAdd(), between, net.x)
    outs = [net.conv(between, 4)]
    if how == "branch":
        outs.append(net.unary(Sigmoid(), between))
    if how == "output":
        outs.append(between)
    graph = net.done(*outs)
    twin, done = equalize(graph)
    assert not done.chains
    assert done.skipped[graph.nodes[0].name]
    for name, array in graph.constants.items():
        np.testing.assert_array_equal(twin.constants[name], array)


def test_weights_that_two_convolutions_share_change_for_one_only():
    net = Net()
    shared = net.weights(3, 3, 4, 4)
    pads = ((1, 1), (1, 1))
    one = net.emit(Conv2d(stride=(1, 1), pad_amount=pads), net.x, shared)
    two = net.unary(Relu(), net.conv(one, 4))
    other = net.emit(Conv2d(stride=(1, 1), pad_amount=pads), net.x, shared)
    graph = net.done(net.emit(ElementWiseAdd(), two, other))
    twin, done = equalize(graph)
    assert len(done.chains) == 1
    for a, b in zip(outputs(graph, samples(graph)), outputs(twin, samples(graph)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_a_dead_channel_does_not_break_the_others():
    graph = mobile(scale=50)
    name = graph.nodes[0].inputs[1]
    graph.constants[name] = graph.constants[name].copy()
    graph.constants[name][..., 3] = 0
    twin, _ = equalize(graph)
    assert all(np.isfinite(array).all() for array in twin.constants.values())
    for a, b in zip(outputs(graph, samples(graph)), outputs(twin, samples(graph)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def high_biases(*, has_notes: bool, pads: int = 0) -> Graph:
    """Two convolutions, the first with outputs of mean 8 and deviation 1 in one channel."""
    net = Net(1, 8, 8, 4)
    weights, bias = (
        net.weights(1, 1, 4, 4, scale=0.15),
        net.add_constant(np.array([8, 0.1, -0.1, 0], np.float32)),
    )
    first = net.emit(Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0))), net.x, weights, bias)
    op = Conv2d(stride=(1, 1), pad_amount=((pads, pads), (pads, pads)))
    last = net.emit(op, net.unary(Relu(), first), net.weights(3, 3, 4, 4), net.weights(4))
    graph = net.done(last)
    if has_notes:
        graph.nodes[0].notes = {
            "gamma": np.ones(4, np.float32),
            "beta": np.array([8, 0.1, -0.1, 0], np.float32),
        }
    return graph


def test_a_high_bias_moves_into_the_next_convolution():
    graph = high_biases(has_notes=True)
    twin, done = equalize(graph)
    assert done.absorbed == [graph.nodes[0].name]
    ratio = twin.nodes[0].notes["gamma"][0]
    assert twin.constants[graph.nodes[0].inputs[2]][0] == pytest.approx(3 * ratio, rel=1e-4)
    for a, b in zip(outputs(graph, samples(graph)), outputs(twin, samples(graph)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
    assert "cle: moved high biases of 1 convolutions into the next one" in done.list_notes()


def test_biases_stay_and_the_guide_s_words_are_said_where_no_batch_norm_is_known():
    graph = high_biases(has_notes=False)
    twin, done = equalize(graph)
    assert not done.absorbed
    assert any("Invalid model for HBA quantization algorithm" in line for line in done.list_notes())
    assert twin.constants[graph.nodes[0].inputs[2]][0] > 5


def test_biases_stay_before_a_convolution_that_pads():
    _, done = equalize(high_biases(has_notes=True, pads=1))
    assert not done.absorbed
    assert any("pads with zeros" in reason for reason in done.unabsorbed.values())


def positive(graph: Graph):
    return [{name: np.abs(array) + 1 for name, array in sample.items()} for sample in samples(graph)]


@pytest.mark.parametrize("kind", ["conv", "depthwise", "dense", "matmul", "groups"])
def test_a_corrected_bias_brings_the_mean_of_the_output_back(kind):
    net = Net(2, 8, 8, 4)
    made = {
        "conv": lambda: net.conv(net.x, 6, size=1, has_bias=False),
        "depthwise": lambda: net.depthwise(net.x),
        "dense": lambda: net.dense(net.x, 5),
        "matmul": lambda: net.emit(MatMul(), net.x, net.weights(4, 5)),
        "groups": lambda: net.emit(
            Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)), group=2), net.x, net.weights(1, 1, 2, 6)
        ),
    }[kind]()
    graph = net.done(made)
    data = positive(graph)
    means = []
    for algorithms in ((), ("bc",)):
        request = QuantizationRequest(act_bw=16, weight_bw=4, per_channel=False, algorithms=algorithms)
        found = quantize_graph(graph, request, data, Engine())
        verify(found.graph)
        errors = [
            a - b for a, b in zip(outputs(graph, data), outputs(simulated(found.graph), data), strict=True)
        ]
        channels = np.concatenate([error.reshape(-1, error.shape[-1]) for error in errors])
        means.append(np.abs(channels.mean(0)).max())
    # Windows at a border see less than the mean: depthwise ones here are half border.
    assert means[1] < means[0] * (0.7 if kind == "depthwise" else 0.05)
    assert found.report.notes[0] == "bc: corrected 1 biases"


def test_products_without_bias_get_one_to_correct():
    net = Net()
    graph = net.done(net.conv(net.x, 4, has_bias=False))
    twin = with_biases(graph)
    verify(twin)
    assert len(twin.nodes[0].inputs) == 3
    assert not twin.constants[twin.nodes[0].inputs[2]].any()
    assert len(graph.nodes[0].inputs) == 2


def test_means_are_measured_channel_by_channel_over_all_samples():
    net = Net()
    graph = net.done(net.conv(net.x, 4))
    data = samples(graph, 5)
    found = measure_input_means(graph, data, Engine())["x"]
    np.testing.assert_allclose(
        found, np.concatenate([s["x"] for s in data]).mean((0, 1, 2)), rtol=1e-4, atol=1e-6
    )


def test_nothing_is_corrected_where_weights_stay_float():
    net = Net()
    graph = net.done(net.conv(net.x, 4))
    twin, changed = correct_biases(graph, Plan(), {"x": np.ones(4)})
    assert not changed
    np.testing.assert_array_equal(
        twin.constants[twin.nodes[0].inputs[2]], graph.constants[graph.nodes[0].inputs[2]]
    )


def test_an_algorithm_nobody_knows_is_refused():
    with pytest.raises(UsageError, match="there is no algorithm 'clee'") as caught:
        QuantizationRequest(algorithms=("clee",))
    assert caught.value.do == "did you mean 'cle'?"
