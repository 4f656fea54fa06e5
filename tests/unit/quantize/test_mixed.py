"""Mixed precision: which parts get more bits, in which order, and how few of them keep a limit."""

from dataclasses import replace

import numpy as np
import pytest

from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ops.activation import Relu
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange import Concat
from edgewright.ops.reduce_order import Argmax
from edgewright.quantize.cost import compute_relative_cost
from edgewright.quantize.judge import Judge
from edgewright.quantize.mixed.calibrated import Calibrated, Widths
from edgewright.quantize.mixed.cheapest import Goal, find_cheapest_widths, measure_effects
from edgewright.quantize.mixed.moves import Effects, May, apply_moves, order_moves
from edgewright.quantize.overrides import KnownEncodings, ResolvedEncodings
from edgewright.quantize.pins import Origin, Pin
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest
from tests.unit.quantize.nets import Engine, Net, samples

REQUEST = QuantizationRequest(per_row=True)


def uneven():
    """Five convolutions; one channel of the second one's result reaches far, and nobody looks at it."""
    net = Net()
    x = net.unary(Relu(), net.conv(net.x, 8))
    second = net.conv(x, 8)
    net.graph.constants[net.graph.producer(second).inputs[2]][0] += 300
    y = net.unary(Relu(), second)
    third = net.conv(y, 8)
    net.graph.constants[net.graph.producer(third).inputs[1]][:, :, 0] = 0
    z = net.unary(Relu(), net.conv(net.unary(Relu(), third), 8))
    return net.done(net.conv(z, 4)), y


def calibrated(graph, request=REQUEST, count: int = 6):
    feeds = samples(graph, count)
    base = quantize_graph(graph, request, feeds, Engine())
    return base, Calibrated(base, feeds, Engine()), feeds


def bits(graph, value: str) -> int:
    return graph.types[value].encoding.bitwidth


def test_without_a_difference_the_graph_is_the_one_it_began_with() -> None:
    graph, _ = uneven()
    base, found, _ = calibrated(graph)
    again = found.quantize(Widths()).graph
    for value, kind in base.graph.types.items():
        assert again.types[value].dtype == kind.dtype
        if kind.encoding is not None:
            assert again.types[value].encoding.scales == pytest.approx(kind.encoding.scales, rel=1e-6)
    for value, array in base.graph.constants.items():
        assert np.abs(again.constants[value].astype(np.int64) - array).max() <= 1


def test_widths_are_what_was_asked_for_and_conversions_are_where_they_meet() -> None:
    graph, y = uneven()
    _, found, _ = calibrated(graph)
    weights = list(found.parts.weights)
    root = next(root for root, part in found.parts.groups.items() if y in part.values)
    made = found.quantize(
        Widths(wide=frozenset({root}), small=frozenset(weights[:1]), fine=frozenset(weights[1:2]))
    ).graph
    assert bits(made, y) == 16
    assert bits(made, weights[0]) == 4
    assert bits(made, weights[1]) == 16
    assert bits(made, weights[2]) == 8
    converts = [node for node in made.nodes if isinstance(node.op, Convert)]
    assert [made.types[node.outputs[0]].encoding.bitwidth for node in converts] == [16, 8]


def test_half_precision_has_float_weights() -> None:
    graph, y = uneven()
    _, found, _ = calibrated(graph)
    root = next(root for root, part in found.parts.groups.items() if y in part.values)
    made = found.quantize(Widths(half=frozenset({root}))).graph
    assert made.types[y].dtype == DType.FLOAT_16
    assert made.types[graph.producer(graph.producer(y).inputs[0]).inputs[1]].dtype == DType.FLOAT_16


def test_the_value_that_8_bits_hurt_most_is_raised_first_with_what_reads_it() -> None:
    graph, y = uneven()
    _, found, feeds = calibrated(graph)
    effects, cost = measure_effects(found, feeds, Engine())
    assert cost.passes <= 10
    first = order_moves(found.graph, found.parts, effects, May(have_small=False))[0]
    raised = {value for root in first.wide for value in found.parts.groups[root].values}
    reader = graph.consumers(graph.consumers(y)[0].outputs[0])[0].outputs[0]
    assert raised == {y, reader}


def test_steps_go_from_the_cheapest_widths_to_the_widest() -> None:
    graph, _ = uneven()
    _, found, feeds = calibrated(graph)
    effects, _ = measure_effects(found, feeds, Engine())
    steps = order_moves(found.graph, found.parts, effects, May(have_half=False))
    last = apply_moves(steps, effects.small)
    assert last == Widths(wide=frozenset(found.parts.groups), fine=frozenset(found.parts.weights))
    costs = [
        compute_relative_cost(found.quantize(apply_moves(steps[:count], effects.small)).graph, graph)
        for count in (0, len(steps) // 2, len(steps))
    ]
    assert costs[0] == pytest.approx(0.5, rel=0.02)
    assert costs[2] == pytest.approx(4.0, rel=0.05)
    assert costs[0] < costs[1] < costs[2]


def test_what_the_target_lacks_is_no_step() -> None:
    graph, _ = uneven()
    _, found, _ = calibrated(graph)
    effects = Effects(
        dict.fromkeys(found.parts.groups, 1.0),
        dict.fromkeys(found.parts.weights, 1.0),
        dict.fromkeys(found.parts.weights, 0.1),
    )
    steps = order_moves(
        found.graph, found.parts, effects, May(have_small=False, have_fine=False, have_half=False)
    )
    assert not any(step.half or step.usual or step.fine for step in steps)
    assert {root for step in steps for root in step.wide} == set(found.parts.groups)
    halves = order_moves(found.graph, found.parts, effects, May(have_small=False, have_fine=False))
    assert {root for step in halves for root in step.half} == set(found.parts.groups)


def noise_of(graph, feeds):
    judge = Judge(graph, feeds, Engine())
    return lambda made, _: -judge.measure_noise(made.graph).sqnr_db


@pytest.mark.parametrize("count", [1, 4, 7])
def test_widths_that_lose_exactly_the_limit_keep_it(count: int) -> None:
    graph, _ = uneven()
    _, found, feeds = calibrated(graph)
    effects, _ = measure_effects(found, feeds, Engine())
    may = May(have_fine=False, have_half=False)
    steps = order_moves(found.graph, found.parts, effects, may)
    costs = [
        compute_relative_cost(found.quantize(apply_moves(steps[:n], [*effects.small])).graph, graph)
        for n in range(len(steps) + 1)
    ]
    # What is lost falls by one with each step.
    drop = {cost: float(len(steps) - n) for n, cost in reversed([*enumerate(costs)])}
    limit = drop[costs[count]]
    done = find_cheapest_widths(
        found,
        effects,
        lambda made, _: drop[compute_relative_cost(made.graph, graph)],
        Goal(limit, limit),
        may,
    )
    assert (done.is_met, drop[costs[done.taken]]) == (True, limit)


@pytest.mark.parametrize("limit", [-25.0, -35.0, -45.0])
def test_the_first_widths_that_keep_the_limit_are_found_in_few_tries(limit: float) -> None:
    graph, _ = uneven()
    _, found, feeds = calibrated(graph)
    effects, _ = measure_effects(found, feeds, Engine())
    drop = noise_of(graph, feeds)
    done = find_cheapest_widths(found, effects, drop, Goal(limit, limit), May())
    assert done.is_met
    assert drop(done.quantized, False) <= limit
    assert done.tries <= 2 + np.log2(done.steps + 1) + 1
    wide = quantize_graph(graph, replace(REQUEST, act_bw=16), feeds, Engine())
    if limit > -40:
        assert compute_relative_cost(done.quantized.graph, graph) < compute_relative_cost(wide.graph, graph)


def test_a_harder_limit_costs_more() -> None:
    graph, _ = uneven()
    _, found, feeds = calibrated(graph)
    effects, _ = measure_effects(found, feeds, Engine())
    drop = noise_of(graph, feeds)
    costs = [
        compute_relative_cost(
            find_cheapest_widths(found, effects, drop, Goal(limit, limit), May()).quantized.graph, graph
        )
        for limit in (-15.0, -30.0, -45.0)
    ]
    assert costs == sorted(costs)
    assert costs[0] < 1 < costs[2]


def test_what_is_aimed_at_is_kept_unless_only_the_limit_can_be() -> None:
    graph, _ = uneven()
    _, found, feeds = calibrated(graph)
    effects, _ = measure_effects(found, feeds, Engine())
    drop = noise_of(graph, feeds)
    done = find_cheapest_widths(found, effects, drop, Goal(-25.0, -30.0), May())
    assert drop(done.quantized, False) <= -30.0
    beyond = find_cheapest_widths(found, effects, drop, Goal(-25.0, -500.0), May())
    assert beyond.is_met
    assert not beyond.widths.fine


def test_a_limit_that_nothing_keeps_gives_the_cheapest_near_the_best() -> None:
    graph, _ = uneven()
    _, found, feeds = calibrated(graph)
    effects, _ = measure_effects(found, feeds, Engine())
    done = find_cheapest_widths(found, effects, lambda made, _: 3.0, Goal(1.0, 0.8), May())
    assert not done.is_met
    assert done.taken == 0


def test_a_limit_that_a_part_of_the_samples_keeps_is_confirmed_on_all() -> None:
    graph, _ = uneven()
    _, found, feeds = calibrated(graph)
    effects, _ = measure_effects(found, feeds, Engine())
    noise = noise_of(graph, feeds)
    # The part is too kind by 10 dB.
    done = find_cheapest_widths(
        found, effects, lambda made, quick: noise(made, quick) - 10 * quick, Goal(-30.0, -30.0), May()
    )
    assert done.is_met
    assert noise(done.quantized, False) <= -30.0


def test_a_graph_that_answers_with_a_class_is_judged_by_its_scores() -> None:
    graph, y = uneven()
    graph.add(Node("best", Argmax(axis=3), [graph.outputs[0]], ["class"]))
    graph.outputs = ["class"]
    _, found, feeds = calibrated(graph)
    effects, _ = measure_effects(found, feeds, Engine())
    root = next(root for root, part in found.parts.groups.items() if y in part.values)
    assert effects.groups[root] == max(effects.groups.values()) > 0


def test_values_that_meet_in_a_sum_are_linked_both_ways() -> None:
    net = Net()
    left, right = net.conv(net.x, 4), net.conv(net.x, 4)
    graph = net.done(net.conv(net.emit(ElementWiseAdd(), left, right), 4))
    _, found, _ = calibrated(graph)
    total = graph.consumers(left)[0].outputs[0]
    assert found.parts.groups[left].readers == found.parts.groups[right].readers == {total}
    assert found.parts.groups["x"].readers == {left, right}


def test_more_bits_for_what_is_joined_with_a_constant_cover_both() -> None:
    net = Net(1, 6, 8)
    token = net.weights(1, 1, 8, scale=0.01)
    joined = net.emit(Concat(axis=1), token, net.dense_rows(net.x, 8))
    graph = net.done(net.dense_rows(joined, 4))
    _, found, feeds = calibrated(graph)
    judge = Judge(graph, feeds, Engine())
    everything = found.quantize(Widths(wide=frozenset(found.parts.groups)))
    narrow = judge.measure_noise(found.quantize(Widths()).graph)
    assert judge.measure_noise(everything.graph).sqnr_db > narrow.sqnr_db


def test_a_part_with_a_width_of_its_own_does_not_take_the_range_of_what_it_is_joined_with() -> None:
    net = Net(1, 6, 8)
    wide, narrow = net.dense_rows(net.x, 8), net.dense_rows(net.x, 8)
    small = net.emit(ElementWiseMultiply(), narrow, net.add_constant(np.array(0.01, np.float32)))
    graph = net.done(net.emit(Concat(axis=1), wide, small))
    known = KnownEncodings(resolved=ResolvedEncodings({wide: Pin(16, None, Origin.CALIBRATED)}))
    feeds = samples(graph)
    made = quantize_graph(graph, REQUEST, feeds, Engine(), known)
    assert Judge(graph, feeds, Engine()).measure_noise(made.graph).sqnr_db > 35
