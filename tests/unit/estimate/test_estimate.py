"""Estimates of graphs: the four tiers, the layers, cliffs, memory and changes."""

import time
from dataclasses import replace

import numpy as np
import pytest

from edgewright.core.errors import UnsupportedFeature, UsageError
from edgewright.core.numbers import DType
from edgewright.estimate.candidates import estimate_candidates
from edgewright.estimate.chip_factors import find_pair_factor
from edgewright.estimate.cliffs import find_cliffs
from edgewright.estimate.estimate import (
    MeasuredTime,
    compare_networks,
    compare_precisions,
    estimate_graph,
    predict_time,
    read_precision,
)
from edgewright.estimate.graph_layers import read_graph
from edgewright.estimate.known import find_known
from edgewright.estimate.language import estimate_language_model
from edgewright.estimate.parameters import find_constants, list_fitted_chips
from edgewright.estimate.public_data import read_networks, read_times
from edgewright.estimate.work import BYTES, Layer, Network, count_all, pad_macs
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Sigmoid
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.targets.soc import find_soc


def make_graph() -> Graph:
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 32, 32, 16), DType.FLOAT_32))
    graph.add_constant("w", np.zeros((3, 3, 16, 64), np.float32))
    graph.add(Node("conv", Conv2d(stride=(1, 1), pad_amount=((1, 1), (1, 1))), ["x", "w"], ["c"]))
    graph.add(Node("gate", Sigmoid(), ["c"], ["s"]))
    graph.add(Node("product", ElementWiseMultiply(), ["c", "s"], ["y"]))
    graph.outputs = ["y"]
    return graph


def make_chain(ops: int) -> Network:
    layer = Layer("conv", "Conv2d", "product", 200_704, 200_704, 36_864, 115_605_504, (64, 64))
    return Network((layer,) * ops, 150_528, 1000)


def test_every_known_network_is_found_by_its_graph():
    for name, network in read_networks().items():
        assert name in find_known(network)


def test_near_matches_are_not_matches():
    network = read_networks()["mobilenet_v2"]
    layers = list(network.layers)
    layers[10] = replace(layers[10], macs=layers[10].macs + 1)
    assert find_known(replace(network, layers=tuple(layers))) == ()
    assert find_known(replace(network, layers=network.layers[:-1])) == ()
    assert find_known(replace(network, clamps=network.clamps - 1)) == ()
    assert find_known(replace(network, elements_in=network.elements_in * 4)) == ()


def test_times_grow_with_work_and_have_a_range_around_them():
    for chip in list_fitted_chips("w8a8"):
        times = [predict_time(make_chain(ops), chip, "w8a8") for ops in (5, 50)]
        assert times[0].microseconds < times[1].microseconds
        assert all(each.low < each.microseconds < each.high for each in times)


def test_unused_channels_of_a_block_are_paid_for():
    narrow = Layer("conv", "Conv2d", "product", 1000, 1000, 9 * 33 * 33, 9_801_000, (33, 33))
    assert pad_macs(narrow) == pytest.approx(narrow.macs * (64 / 33) ** 2)
    depthwise = Layer("conv", "DepthWiseConv2d", "depthwise", 1000, 1000, 297, 9000, (1, 33))
    assert pad_macs(depthwise) == pytest.approx(9000 * 64 / 33)


def test_fewer_bits_move_fewer_bytes():
    sums = {name: count_all(make_chain(20), name).sum() for name in BYTES}
    assert sums["w4a8"] < sums["w8a8"] < sums["w8a16"] < sums["float"]


def test_a_chip_of_no_data_has_the_range_of_its_generation(graph):
    result = estimate_graph(graph, ["v73", "SM8650", "SM8635"], ["w8a8"])
    known, new = result.targets[0], result.targets[2]
    assert (known.tier, new.tier) == ("c", "d")
    assert new.time.high / new.time.low > known.time.high / known.time.low
    assert "v73" in new.basis


def test_a_measured_time_is_scaled_by_the_factor_of_the_pair(graph):
    result = estimate_graph(graph, ["SM8650", "SM8550"], ["float"], measured=MeasuredTime(3200, "SM8550"))
    scaled, same = result.targets
    pair = find_pair_factor(43, 57, "float")
    assert pair is not None
    assert scaled.tier == "b"
    assert scaled.time.microseconds == pytest.approx(3200 * pair.factor)
    assert scaled.time.low < 3200 * pair.factor < scaled.time.high
    assert (same.time.microseconds, same.time.low) == (3200, pytest.approx(3200 * 0.82))


def test_factors_of_pairs_agree_with_their_reverse_and_have_errors():
    there, back = find_pair_factor(57, 43, "float"), find_pair_factor(43, 57, "float")
    assert there is not None
    assert back is not None
    assert there.factor * back.factor == pytest.approx(1, rel=0.02)
    assert there.factor == pytest.approx(1.39, rel=0.03)
    assert there.low < there.factor < there.high
    assert there.p90_error < 0.15


def test_a_chip_without_times_cannot_be_scaled_from(graph):
    with pytest.raises(UnsupportedFeature, match="no public times of 'SM8635'"):
        estimate_graph(graph, ["SM8650"], ["w8a8"], measured=MeasuredTime(1000, "SM8635"))


def test_unknown_precisions_are_refused():
    with pytest.raises(UsageError, match="precision is 'int3', expected one of: fp16"):
        read_precision("int3")
    assert read_precision("FP16") == "float"


@pytest.fixture
def graph():
    return make_graph()


def test_a_value_times_its_own_sigmoid_is_one_layer(graph):
    network = read_graph(graph)
    assert [(layer.op, layer.kind) for layer in network.layers] == [("Conv2d", "product"), ("Swish", "curve")]
    assert network.layers[0].macs == 32 * 32 * 64 * 9 * 16
    assert network.layers[0].channels == (16, 64)
    assert (network.elements_in, network.elements_out) == (16_384, 65_536)


def test_shares_of_layers_sum_up_and_lie_in_their_ranges(graph):
    (result,) = estimate_graph(graph, ["SM8650"], ["w8a16"]).targets
    assert sum(layer.share for layer in result.layers) == pytest.approx(1)
    assert all(layer.share_low <= layer.share <= layer.share_high for layer in result.layers)
    assert sum(share for _, share in result.bounds) == pytest.approx(1)
    assert any("multiples of 32" in layer.remedy for layer in result.layers)


def test_memory_is_a_range_that_is_marked_as_not_calibrated(graph):
    (result,) = estimate_graph(graph, ["SM8650"], ["w8a8"], context_bytes=12_345).targets
    assert result.memory is not None
    assert result.memory.context == (12_345, 12_345)
    assert result.memory.is_compiled
    assert result.memory.io == 16_384 + 65_536
    assert result.memory.peak_activation == (3 * 65_536, 3 * 65_536)
    assert "not calibrated" in result.memory.note


def test_cliffs_are_looked_for_in_the_graph():
    networks = read_networks()
    assert any("YOLOv9" in text for text in find_cliffs(networks["yolov9_det"], "w8a8"))
    assert not any("YOLOv9" in text for text in find_cliffs(networks["yolov9_det"], "float"))
    assert any("VideoMAE" in text for text in find_cliffs(networks["video_mae"], "float"))
    assert any("DenseNet" in text for text in find_cliffs(networks["densenet121"], "w8a8"))
    assert list(find_cliffs(networks["resnet50"], "w8a8")) == []


def test_what_cliffs_say_was_measured():
    times = read_times()
    networks = read_networks()
    for name, precision, factor in (("yolov9_det", "w8a8", 20), ("video_mae", "w8a16", 2)):
        predicted = predict_time(networks[name], "SM8650", precision).microseconds
        assert times[name, precision, 57].microseconds > factor * predicted


def test_changes_are_ranges():
    network = make_chain(30)
    change = compare_precisions(network, "SM8650", "float", "w8a8")
    assert change.low < change.factor < change.high
    assert change.factor < 1
    fewer = compare_networks("rule=x", "fewer", network, make_chain(15), "SM8650", "w8a8")
    assert fewer.low <= fewer.factor <= fewer.high < 1


def test_a_thousand_ops_take_less_than_a_second():
    graph = Graph("g")
    graph.add_input("v0", TensorType((1, 16, 16, 32), DType.FLOAT_32))
    for place in range(1000):
        graph.add(Node(f"add{place}", ElementWiseAdd(), [f"v{place}", "v0"], [f"v{place + 1}"]))
    graph.outputs = ["v1000"]
    estimate_graph(graph, ["SM8650"], ["w8a8"])  # reads the tables
    spent = time.process_time()
    estimate_graph(graph, ["SM8650"], ["w8a8"])
    assert time.process_time() - spent < 1


def test_constants_of_faster_chips_are_smaller():
    new, old = (find_constants(chip, "w8a8") for chip in ("SM8850", "SM8450"))
    assert np.all(new < old)


def test_language_models_have_ranges_that_follow_their_size():
    small, large = (estimate_language_model(billions, "SM8750") for billions in (1.0, 8.0))
    for result in (small, large):
        for middle, low, high in (result.tokens_per_second, result.first_token_ms):
            assert low < middle < high
    assert small.tokens_per_second[0] == pytest.approx(8 * large.tokens_per_second[0])
    assert estimate_language_model(1.0, "SM8750", 256).first_token_ms[0] < small.first_token_ms[0]
    # Llama 3.2 3B: 22 to 27 tokens a second on SM8750.
    measured = estimate_language_model(3.2, "SM8750").tokens_per_second
    assert measured[1] < 24 < measured[2]


def test_a_chip_without_language_models_is_refused_with_those_that_have_some():
    with pytest.raises(UnsupportedFeature, match="no public times of language models on 'SM8450'"):
        estimate_language_model(3.8, "SM8450")


def test_candidates_of_a_build_have_times(graph):
    names = ("w8a8", "fp16", "w8a16", "w8a8+algorithms", "mixed", "as given")
    times = estimate_candidates(graph, find_soc("SM8650"), names)
    assert times["w8a8"] == times["w8a8+algorithms"]
    assert times["w8a8"].low <= times["mixed"].microseconds <= times["w8a16"].high
    assert "as given" not in times
