"""The simulation gives what the genuine emulator gave (SDK 2.51, SM8650): checksums of its results."""

import zlib

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp.arithmetic import htp_sums
from edgewright.backends.htp.requantize import added_bias, away_from_zero, multiplier
from edgewright.backends.registry import find_backend
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.reduce_softmax import Softmax
from tests.native.sum_cases import weighted

# Kind, bits, one scale for each channel -> CRC-32 of what the emulator stores.
GENUINE = {
    ("conv", 8, True): 3191550922,
    ("conv", 4, False): 1349975877,
    ("strided", 8, True): 604904124,
    ("pointwise", 8, True): 1872214217,
    ("pointwise", 8, False): 2831984437,
    ("pointwise", 4, True): 773777697,
    ("depthwise", 8, True): 742574344,
    ("depthwise", 4, True): 3288986247,
    ("product", 8, True): 4275392907,
    ("product", 8, False): 1038706088,
}


@pytest.mark.parametrize("case", GENUINE, ids=lambda case: "-".join(map(str, case)))
def test_the_simulation_stores_what_the_emulator_stored(case: tuple[str, int, bool]) -> None:
    kind, bits, is_per_channel = case
    graph, feed = weighted(kind, bits, 0, is_per_channel=is_per_channel)
    exact, fast = (
        find_backend(word).prepare(graph, RunOptions(threads=1)).run(feed)["y"]
        for word in ("htp-sim", "htp-sim-fast")
    )
    assert zlib.crc32(exact.tobytes()) == GENUINE[case]
    gap = np.abs(exact.astype(int) - fast)
    assert gap.max() == 1
    assert 0 < gap.mean() < 0.05


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
