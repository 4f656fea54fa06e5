"""The simulation gives what the genuine emulator gave (SDK 2.51, SM8650): checksums of its results."""

import json
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu.compiled import SWITCH, find_kernels
from edgewright.backends.htp.arithmetic import htp_sums
from edgewright.backends.htp.products import find_product
from edgewright.backends.htp.requantize import added_bias, away_from_zero, multiplier
from edgewright.backends.registry import find_backend
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import HardSwish, Prelu, ReluMinMax
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.elementwise_unary import ElementWiseLog
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.reduce_softmax import Softmax
from tests.native.sum_cases import DRAWN, DRAWN_HALVES, DRAWN_WIDE, EXACT, KINDS, long_kernel, weighted

# CRC-32 of what the emulator stores; recorded and checked by tests/native/test_exact.py.
GENUINE = json.loads((Path(__file__).parents[2] / "golden" / "htp_exact.json").read_text())


def run(case: str, backend: str) -> Array:
    graph, feed = EXACT[case]()
    return find_backend(backend).prepare(graph, RunOptions(threads=1)).run(feed)[graph.outputs[0]]


@pytest.mark.parametrize("case", EXACT)
def test_the_simulation_stores_what_the_emulator_stored(case: str) -> None:
    assert zlib.crc32(run(case, "htp-sim").tobytes()) == GENUINE[case]


@pytest.mark.parametrize(
    "case", [*DRAWN, *(f"wide-{case}" for case in DRAWN_WIDE), *(f"fp16-{case}" for case in DRAWN_HALVES)]
)
def test_the_engines_own_ops_store_the_same(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.setenv(SWITCH, "0")
    find_kernels.cache_clear()
    stored = run(f"drawn-{case}", "htp-sim")
    find_kernels.cache_clear()
    assert zlib.crc32(stored.tobytes()) == GENUINE[f"drawn-{case}"]


# Whole sums are rounded alike but for a few in a thousand.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "strided_depthwise"])
def test_ordinary_rounding_is_a_step_away_now_and_then(kind: str) -> None:
    exact, fast = (run(f"{kind}-w8-channels-0", backend) for backend in ("htp-sim", "htp-sim-fast"))
    gap = np.abs(exact.astype(int) - fast)
    assert gap.max() == 1
    assert 0 < gap.mean() < 0.05


@pytest.mark.parametrize("op", [Prelu(), HardSwish()], ids=["prelu", "hard-swish"])
def test_an_activation_behind_sums_that_are_rounded_whole_does_its_own_work(op: Op) -> None:
    graph, feed = weighted("strided_depthwise", 8, 0, is_per_channel=True)
    # One encoding for both values: what a product that did the work would have stored.
    kind, inputs = graph.types["y"], ["y"]
    if isinstance(op, Prelu):
        slopes = TensorType(kind.shape[-1:], DType.UFIXED_POINT_8, None, Encoding((0.001,), (0,)))
        inputs.append(graph.add_constant("s", np.full(kind.shape[-1:], 100, np.uint8), slopes))
    graph.add(Node("a", op, inputs, ["z"]), [kind])
    graph.outputs = ["z"]
    results = [
        find_backend(name).prepare(graph, RunOptions(threads=1)).run(feed)["z"].astype(int)
        for name in ("htp-sim", "htp-sim-fast")
    ]
    assert np.abs(results[0] - results[1]).max() <= 1


@pytest.mark.parametrize("seed", range(8))
def test_strided_depthwise_sums_are_rounded_whole_with_a_multiplier_of_15_bits(seed: int) -> None:
    graph, feed = weighted("strided_depthwise", 8, seed, is_per_channel=True)
    given, weights, out = (graph.types[name].encoding for name in ("x", "w", "y"))
    x = np.pad(feed["x"].astype(int) + given.offsets[0], ((0, 0), (1, 1), (1, 1), (0, 0)))
    places = [x[:, i : i + 12 : 2, j : j + 12 : 2] for i in range(3) for j in range(3)]
    kernel = graph.constants["w"].astype(int).reshape(9, -1)
    sums = sum(place * row for place, row in zip(places, kernel, strict=True)) + graph.constants["b"]
    factor = given.scales[0] * np.array(weights.scales) / out.scales[0]
    unit = 2.0 ** (np.floor(np.log2(factor)) - 14)
    # The offset of the output is one of the whole numbers that are added.
    shifted = sums + np.rint(-out.offsets[0] / factor)
    steps = np.floor(shifted * np.floor(factor / unit + 0.5) * unit + 0.5)
    stored = find_backend("htp-sim").prepare(graph, RunOptions(threads=1)).run(feed)["y"]
    np.testing.assert_array_equal(stored, np.clip(steps, 0, 255))


@pytest.mark.parametrize(("places", "stride"), [(64, 1), (127, 2)])
def test_kernels_of_64_places_are_rounded_in_the_ordinary_way(places: int, stride: int) -> None:
    for shorter in (0, 1):
        graph, _ = long_kernel(places - shorter, stride)
        assert (htp_sums(graph, graph.nodes[0]) is None) == (shorter == 0)


def test_the_logarithm_of_nothing_is_that_of_the_smallest_number_that_counts() -> None:
    graph, kind = Graph("g"), TensorType((1, 3), DType.FLOAT_16)
    graph.add_input("x", kind)
    graph.add(Node("log", ElementWiseLog(), ["x"], ["y"]), [kind])
    graph.outputs = ["y"]
    session = find_backend("htp-sim").prepare(graph, RunOptions(threads=1))
    zero, smallest, larger = session.run({"x": np.array([[0, 2.0**-11, 2.0**-10]], np.float16)})["y"][0]
    assert zero == smallest < larger


def test_a_multiplier_has_twelve_bits_and_one_half_goes_up() -> None:
    found = multiplier(1.0, np.array([0.5, 0.75, 1.0]), 1024.0, 12)
    assert found is not None
    assert found.value.tolist() == [0.5 / 1024, 0.75 / 1024, 1 / 1024]
    tie = multiplier(1.0, np.array([1.0]), 1 / (1 + 2**-12), 12)
    assert tie is not None
    assert tie.value.tolist() == [1 + 2**-11]
    assert found.cut.tolist() == [2.0**-7, 2.0**-7, 2.0**-6]


def test_a_bias_loses_what_float32_cannot_hold() -> None:
    scale = np.float32(0.028031973) * np.float32(0.009554173)
    stored = np.array([234, 235, 236, 470, -235], np.float32)
    added = added_bias(stored * scale, float(scale), is_per_channel=False)
    assert added.tolist() == [234, 234, 236, 469, -234]


def test_halves_are_rounded_away_from_zero() -> None:
    assert [away_from_zero(number) for number in (2.5, -2.5, 2.4, -0.5)] == [3, -3, 2, -1]


def a_sum(first: Encoding, second: Encoding, out: Encoding) -> Graph:
    graph, shape = Graph("g"), (1, 4, 4, 8)
    for name, encoding in (("a", first), ("b", second)):
        graph.add_input(name, TensorType(shape, DType.UFIXED_POINT_8, None, encoding))
    kind = TensorType(shape, DType.UFIXED_POINT_8, None, out)
    graph.add(Node("n", ElementWiseAdd(), ["a", "b"], ["y"]), [kind])
    graph.outputs = ["y"]
    return graph


@pytest.mark.parametrize(
    "graph",
    [
        a_sum(Encoding((1.0,), (0,)), Encoding((1.0,), (0,)), Encoding((1e-6,), (0,))),
        a_sum(Encoding((0.1,), (5,)), Encoding((0.1,), (0,)), Encoding((0.1,), (0,))),
        a_sum(Encoding((0.1,), (0,)), Encoding((0.1,), (-300,)), Encoding((0.1,), (-400,))),
    ],
    ids=["tiny steps", "positive offset", "offsets beyond a byte"],
)
def test_odd_encodings_are_summed_as_the_fast_simulation_does(graph: Graph) -> None:
    random = np.random.default_rng(0)
    feed = {name: random.integers(0, 256, (1, 4, 4, 8)).astype(np.uint8) for name in graph.inputs}
    exact, fast = (
        find_backend(word).prepare(graph, RunOptions(threads=1)).run(feed)["y"]
        for word in ("htp-sim", "htp-sim-fast")
    )
    np.testing.assert_array_equal(exact, fast)


def test_scales_beyond_float32_have_no_multiplier() -> None:
    assert multiplier(1e-30, np.array([1e-30]), 1.0, 12) is None


def test_a_softmax_of_pairs_along_another_axis_is_not_taken_for_one_along_the_last() -> None:
    graph = Graph("g")
    graph.add_input("x", TensorType((1, 5, 2), DType.UFIXED_POINT_8, None, Encoding((0.05,), (-128,))))
    out = TensorType((1, 5, 2), DType.UFIXED_POINT_8, None, Encoding((1 / 256,), (0,)))
    graph.add(Node("n", Softmax(axis=1), ["x"], ["y"]), [out])
    assert htp_sums(graph, graph.node("n")) is None


def test_a_clamp_to_nothing_behind_16_bits_is_zero():
    wide = TensorType((3, 6), DType.UFIXED_POINT_16, encoding=Encoding((1e-3,), (-32768,), bitwidth=16))
    graph = Graph("g")
    graph.add_input("x", replace(wide, shape=(3, 8)))
    weights = TensorType((6, 8), DType.SFIXED_POINT_8, encoding=Encoding((0.01,), (0,)))
    graph.add_constant("w", np.ones((6, 8), np.int8), weights)
    graph.add(Node("p", FullyConnected(), ["x", "w"], ["p"]), [wide])
    graph.add(Node("y", ReluMinMax(min_value=0.0, max_value=0.0), ["p"], ["y"]), [wide])
    graph.outputs = ["y"]
    feed = {"x": np.arange(24, dtype=np.uint16).reshape(3, 8) * 2000}
    found = find_backend("htp-sim").prepare(graph, RunOptions()).run(feed)["y"]
    assert np.all(found == 32768)


def test_matrices_of_16_bits_that_share_no_element_make_zeros():
    def make(shape, dtype, offset):
        return TensorType(shape, dtype, encoding=Encoding((1e-3,), (offset,), bitwidth=16))

    graph = Graph("g")
    graph.add_input("a", make((1, 2, 0), DType.UFIXED_POINT_16, -31000))
    graph.add_input("b", make((1, 0, 3), DType.SFIXED_POINT_16, 0))
    result = make((1, 2, 3), DType.UFIXED_POINT_16, -32768)
    graph.add(Node("y", MatMul(), ["a", "b"], ["y"]), [result])
    graph.outputs = ["y"]
    feed = {"a": np.zeros((1, 2, 0), np.uint16), "b": np.zeros((1, 0, 3), np.int16)}
    assert np.all(find_backend("htp-sim").prepare(graph, RunOptions()).run(feed)["y"] == 32768)


def test_a_bias_whose_scale_is_that_of_the_sums_but_for_its_last_bits_is_read_as_it_is_stored() -> None:
    graph, _ = weighted("conv", 16, 0, is_per_channel=True)
    node = graph.producer("y")
    assert node is not None
    kind = graph.types[node.inputs[2]]
    assert kind.encoding is not None
    # The lowest number is what a channel without weights has; a real number of it is another one.
    stored = np.full(kind.static_shape(), np.iinfo(np.int32).min, np.int32)
    scales = tuple(scale * (1 + 3e-8) for scale in kind.encoding.scales)
    graph.types[node.inputs[2]] = replace(kind, encoding=replace(kind.encoding, scales=scales))
    graph.constants[node.inputs[2]] = stored
    product = find_product(graph, node)
    assert product is not None
    np.testing.assert_array_equal(product.bias, stored)
