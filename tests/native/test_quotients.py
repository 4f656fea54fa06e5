"""Quotients in half precision by constants, of one number or several, of 8 bits and of 16."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.elementwise import ElementWiseDivide
from tests.native.equality import emulate
from tests.native.random_nets import RandomNet
from tests.native.wide_cases import build_quotient


@pytest.mark.parametrize("divisors", [[100.0], [0.01], [-7.0], [0.3, 100.0, -33.0, 0.01]])
def test_simulation_and_emulator_agree(divisors):
    net = RandomNet("fp16", np.random.default_rng(0))
    value = net.add_input(1, 6, 6, 32)
    count = 1 if len(divisors) == 1 else 32
    graph, feed = net.finish(
        net.add(ElementWiseDivide(), value, net.add_constant(np.resize(divisors, count)))
    )
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    np.testing.assert_array_equal(simulated[graph.outputs[0]], found[graph.outputs[0]])


@pytest.mark.parametrize("shape", [(1,), (1, 1, 1)])
def test_one_number_that_is_no_constant_has_the_nearest_reciprocal(shape):
    random, graph = np.random.default_rng(0), Graph("g")
    kinds = {"a": TensorType((1, 64, 32), DType.FLOAT_16), "b": TensorType(shape, DType.FLOAT_16)}
    for name, kind in kinds.items():
        graph.add_input(name, kind)
    graph.add(Node("n", ElementWiseDivide(), ["a", "b"], ["y"]), [kinds["a"]])
    graph.outputs = ["y"]
    dividends = random.normal(size=(1, 64, 32)).astype(np.float16)
    for divisor in np.exp(random.normal(size=12)):
        feed = {"a": dividends, "b": np.full(shape, divisor, np.float16)}
        (found,) = emulate([graph], [feed])
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
        np.testing.assert_array_equal(simulated["y"], found["y"])


@pytest.mark.parametrize("lowest", [(-128, 0), (-77, -199), (-255, -13)])
def test_quotients_of_all_bytes_are_the_emulators(lowest):
    places = np.arange(256, dtype=np.uint8)
    first, second = (side.reshape(1, 16, 64, 64) for side in np.meshgrid(places, places))
    graph = Graph("g")
    for name, scale, offset in zip("ab", (0.02, 1 / 256), lowest, strict=True):
        graph.add_input(name, _describe(scale, offset))
    scales = (0.05, 0.0237, 0.3)
    graph.outputs = [f"y{scale}" for scale in scales]
    for name, scale in zip(graph.outputs, scales, strict=True):
        graph.add(Node(name, ElementWiseDivide(), ["a", "b"], [name]), [_describe(scale, -100)])
    feed = {"a": first, "b": second}
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    for name in graph.outputs:
        np.testing.assert_array_equal(simulated[name], found[name])


@pytest.mark.parametrize("lowest", [(0, 0), (-30001, 0), (-41000, -20000)])
def test_quotients_of_words_are_the_emulators(lowest):
    random = np.random.default_rng(0)
    numbers, divisors = (random.integers(0, 1 << 16, 1 << 15) for _ in range(2))
    encodings = ((1e-3, lowest[0]), (2.0**-15, lowest[1]), (3e-3, -30000))
    graph, feed = build_quotient(numbers, divisors, encodings)
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    np.testing.assert_array_equal(simulated["y"], found["y"])


def _describe(scale: float, offset: int) -> TensorType:
    return TensorType((1, 16, 64, 64), DType.UFIXED_POINT_8, None, Encoding((scale,), (offset,)))
