"""Networks of 8 bits give the same integers in the simulation and in the genuine emulator."""

import json
import zlib
from collections.abc import Callable

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import HardSwish
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.elementwise_unary import ElementWiseLog
from edgewright.ops.quant import Convert
from tests.native.sum_cases import EXACT, long_kernel, with_activation


def both(graph: Graph, feed: dict[str, Array]) -> tuple[Array, Array]:
    """The first output by the simulation, and by the emulator."""
    name = graph.outputs[0]
    runs = [
        find_backend(word).prepare(graph, RunOptions(threads=1)).run(feed)
        for word in ("htp-sim", "htp-native")
    ]
    return runs[0][name], runs[1][name]


@pytest.mark.parametrize("case", EXACT)
def test_what_is_known_exactly_is_the_same_to_the_last_bit(case: str) -> None:
    graph, feed = EXACT[case]()
    simulated, genuine = both(graph, feed)
    assert len(np.unique(genuine)) > 10, "the case must exercise the range"
    np.testing.assert_array_equal(simulated, genuine)


def test_the_recorded_results_are_those_of_the_emulator(golden: Callable[[str, str], None]) -> None:
    checksums = {name: zlib.crc32(both(*make())[1].tobytes()) for name, make in EXACT.items()}
    golden("htp_exact.json", json.dumps(checksums, indent=1) + "\n")


@pytest.mark.parametrize("kind", ["conv", "depthwise", "product"])
@pytest.mark.parametrize("offset", [-5, -20, -120])
def test_a_hard_swish_is_computed_from_sums_not_from_what_is_stored(kind: str, offset: int) -> None:
    simulated, found = both(*with_activation(kind, HardSwish(), Encoding((5 / 255,), (offset,))))
    assert len(np.unique(found)) > 10
    np.testing.assert_array_equal(simulated, found)


@pytest.mark.parametrize("stride", [1, 4, 8])
def test_kernels_of_64_places_are_rounded_in_the_ordinary_way(stride: int) -> None:
    simulated, found = both(*long_kernel(256, stride))
    assert np.mean((found > 0) & (found < 255)) > 0.2
    assert np.mean(simulated != found) < 0.002


def test_floats_of_32_bits_are_computed_in_16_and_the_logarithm_of_nothing_is_finite() -> None:
    x = np.array([0, 1e-9, 1e-6, 1e-3, 0.5, 1, 7, 200], np.float32).reshape(1, 1, 1, 8)
    graph = Graph("g")
    kind = TensorType(x.shape, DType.FLOAT_32)
    graph.add_input("x", kind)
    graph.add(Node("log", ElementWiseLog(), ["x"], ["l"]), [kind])
    encoding = Encoding((0.1,), (-170,))
    op = Convert(dtype=DType.UFIXED_POINT_8, encoding=encoding)
    graph.add(Node("n", op, ["l"], ["y"]), [TensorType(x.shape, DType.UFIXED_POINT_8, None, encoding)])
    graph.outputs = ["y"]
    simulated, found = both(graph, {"x": x})
    # Its logarithm is right to three digits only.
    np.testing.assert_allclose(simulated.astype(int), found.astype(int), atol=1)
    assert simulated.ravel()[0] == simulated.ravel()[1] > simulated.ravel()[2]


def test_floats_go_on_to_twice_the_largest_half() -> None:
    x = np.linspace(0, 400, 64, dtype=np.float32).reshape(1, 1, 4, 16)
    graph, kind = Graph("g"), TensorType(x.shape, DType.FLOAT_32)
    graph.add_input("x", kind)
    graph.add(Node("square", ElementWiseMultiply(), ["x", "x"], ["s"]), [kind])
    encoding = Encoding((700.0,), (0,))
    op = Convert(dtype=DType.UFIXED_POINT_8, encoding=encoding)
    graph.add(Node("n", op, ["s"], ["y"]), [TensorType(x.shape, DType.UFIXED_POINT_8, None, encoding)])
    graph.outputs = ["y"]
    simulated, found = both(graph, {"x": x})
    np.testing.assert_allclose(simulated.astype(int), found.astype(int), atol=1)
    assert int(simulated.max()) * 700 > 120_000
