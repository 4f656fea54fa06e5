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
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import HardSwish
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.elementwise_unary import ElementWiseLog
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.quant import Convert
from tests.native.random_nets import RandomNet
from tests.native.sum_cases import EXACT, bent_sums, long_kernel, with_activation


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


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ((0.002090274356305599, -145), (0.001021993812173605, -132)),
        ((0.02252293936908245, -254), (0.0015150289982557297, -248)),
        ((0.0009679284412413836, -70), (0.0005019211675971746, -66)),
        ((0.035748302936553955, -241), (0.0026156229432672262, -143)),
    ],
)
def test_a_hard_swish_that_is_nearly_half_a_step_is_rounded_as_there(
    given: tuple[float, int], made: tuple[float, int]
) -> None:
    kinds = [
        TensorType((1, 16, 16, 1), DType.UFIXED_POINT_8, None, Encoding((scale,), (offset,)))
        for scale, offset in (given, made)
    ]
    graph = Graph("g")
    graph.add_input("x", kinds[0])
    graph.add(Node("n", HardSwish(), ["x"], ["y"]), kinds[1:])
    graph.outputs = ["y"]
    simulated, genuine = both(graph, {"x": np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)})
    np.testing.assert_array_equal(simulated, genuine)


@pytest.mark.parametrize(
    "shape", [(1, 16, 32), (24, 32), (1, 15, 32), (1, 4, 4, 32), (3, 1, 16, 32), (1, 257, 32)]
)
def test_a_product_of_a_sum_rounds_before_its_activation_where_rows_are_folded(
    shape: tuple[int, ...],
) -> None:
    net = RandomNet("w8a8", np.random.default_rng(0))
    value = net.add(ElementWiseAdd(), net.add_input(*shape), net.add_input(*shape))
    weights = net.add_weights(64, 32, axis=0)
    bias = net.add_bias(value, weights, axis=0)
    value = net.add(FullyConnected(keep_dims=True), value, weights, bias)
    simulated, genuine = both(*net.finish(net.add(HardSwish(), value)))
    np.testing.assert_array_equal(simulated, genuine)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("offset", [-5, -120, -250])
def test_sums_are_bent_by_slopes_of_any_sign(bits: int, offset: int) -> None:
    graph, feed = bent_sums(bits, offset << (bits - 8))
    simulated, genuine = both(graph, feed)
    assert len(np.unique(genuine)) > 100
    assert np.mean(simulated == genuine) > (0.9999 if bits == 8 else 0.999)


@pytest.mark.parametrize(
    ("op", "ratio"), [(ElementWiseAdd(), 4224 / 8192), (ElementWiseSubtract(), 8320 / 16384)]
)
@pytest.mark.parametrize("zero", [65, 67, 191])
def test_half_a_unit_of_what_offsets_add_goes_down(op: Op, ratio: float, zero: int) -> None:
    # The factor of the first operand is an odd multiple of half a unit, and so is what its zero adds.
    graph = Graph("g")
    scales, kind = {"a": ratio / 64, "b": 0.5 / 64}, DType.UFIXED_POINT_8
    for name, scale in scales.items():
        graph.add_input(name, TensorType((1, 16, 16, 256), kind, None, Encoding((scale,), (-zero,))))
    result = TensorType((1, 16, 16, 256), kind, None, Encoding((1 / 64,), (-100,)))
    graph.add(Node("n", op, ["a", "b"], ["y"]), [result])
    graph.outputs = ["y"]
    every = np.arange(256, dtype=np.uint8)
    first, second = (side.reshape(1, 16, 16, 256) for side in np.meshgrid(every, every))
    simulated, genuine = both(graph, {"a": first, "b": second})
    np.testing.assert_array_equal(simulated, genuine)


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
