"""Networks of 8 bits give the same integers in the simulation and in the genuine emulator."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import HardSwish, Relu
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.elementwise_unary import ElementWiseLog, ElementWiseNeg
from edgewright.ops.matmul import MatMul
from edgewright.ops.quant import Convert
from tests.native.sum_cases import KINDS, activation, weighted


def both(graph: Graph, feed: dict[str, Array]) -> tuple[Array, Array]:
    """The first output by the simulation, and by the emulator."""
    name = graph.outputs[0]
    runs = [
        find_backend(word).prepare(graph, RunOptions(threads=1)).run(feed)
        for word in ("htp-sim", "htp-native")
    ]
    return runs[0][name], runs[1][name]


# One scale for all rows of 4 bits is refused by the library.
@pytest.mark.parametrize(
    ("kind", "bits", "is_per_channel"),
    sorted({*product(KINDS, (4, 8), (False, True))} - {("product", 4, False)}),
)
def test_sums_of_products_are_the_same_to_the_last_bit(kind: str, bits: int, *, is_per_channel: bool) -> None:
    for seed in range(3):
        simulated, found = both(*weighted(kind, bits, seed, is_per_channel=is_per_channel))
        assert np.mean((found > 0) & (found < 255)) > 0.2
        np.testing.assert_array_equal(simulated, found)


@pytest.mark.parametrize("op", [ElementWiseAdd(), ElementWiseSubtract()], ids=lambda op: op.qnn_name())
def test_sums_of_two_activations_are_the_same_to_the_last_bit(op: ElementWiseAdd) -> None:
    every = np.arange(256, dtype=np.uint8)
    first, second = (a.reshape(1, 64, 64, 16) for a in np.meshgrid(every, every, indexing="ij"))
    for seed in range(6):
        random = np.random.default_rng(seed)
        graph = Graph("g")
        for name in ("a", "b"):
            activation(graph, name, first.shape, random)
        scale = 0.03 * random.uniform(0.4, 3)
        out = Encoding((scale,), (-int(random.integers(60, 190)),))
        graph.add(
            Node("n", op, ["a", "b"], ["y"]), [TensorType(first.shape, DType.UFIXED_POINT_8, None, out)]
        )
        graph.outputs = ["y"]
        simulated, found = both(graph, {"a": first, "b": second})
        np.testing.assert_array_equal(simulated, found)


def with_activation(kind: str, op: Op, out: Encoding) -> tuple[Graph, dict[str, Array]]:
    """A product and an activation of its sums, which reach from -3 to 3 or so."""
    plain, feed = weighted(kind, 8, 1, is_per_channel=True)
    stored, given = plain.types["y"].encoding, plain.types["x"].encoding
    assert stored is not None
    assert given is not None
    factor = 8 / 255 / stored.scales[0]
    graph = Graph("g")
    x = Encoding((given.scales[0] * factor,), given.offsets)
    graph.add_input("x", replace(plain.types["x"], encoding=x))
    graph.add_constant("w", plain.constants["w"], plain.types["w"])
    bias = plain.types["b"].encoding
    assert bias is not None
    scaled = replace(bias, scales=tuple(scale * factor for scale in bias.scales))
    graph.add_constant("b", plain.constants["b"], replace(plain.types["b"], encoding=scaled))
    middle = replace(plain.types["y"], encoding=Encoding((8 / 255,), (-120,)))
    graph.add(Node("n", plain.nodes[0].op, ["x", "w", "b"], ["m"]), [middle])
    graph.add(Node("a", op, ["m"], ["y"]), [replace(middle, encoding=out)])
    graph.outputs = ["y"]
    return graph, feed


@pytest.mark.parametrize("kind", ["conv", "depthwise", "product"])
def test_a_relu_is_computed_from_the_sums_before_it(kind: str) -> None:
    simulated, found = both(*with_activation(kind, Relu(), Encoding((4 / 255,), (0,))))
    np.testing.assert_array_equal(simulated, found)


@pytest.mark.parametrize("kind", ["conv", "depthwise", "product"])
def test_a_hard_swish_is_computed_from_finer_sums_than_are_stored(kind: str) -> None:
    simulated, found = both(*with_activation(kind, HardSwish(), Encoding((5 / 255,), (-20,))))
    assert np.mean(simulated != found) < 0.03


def test_products_of_activations_are_the_same_where_the_second_is_symmetric() -> None:
    random = np.random.default_rng(7)
    graph, feed, scales = Graph("g"), {}, []
    for name, offset in (("a", -60), ("b", -128)):
        scales.append(random.uniform(0.01, 0.05))
        kind = TensorType((4, 40, 40), DType.UFIXED_POINT_8, None, Encoding((scales[-1],), (offset,)))
        feed[graph.add_input(name, kind)] = random.integers(0, 256, (4, 40, 40)).astype(np.uint8)
    out = Encoding((scales[0] * scales[1] * 90 * 90 * 6 / 40,), (-128,))
    graph.add(Node("n", MatMul(), ["a", "b"], ["y"]), [replace(graph.types["a"], encoding=out)])
    graph.outputs = ["y"]
    simulated, found = both(graph, feed)
    assert np.mean((found > 0) & (found < 255)) > 0.2
    np.testing.assert_array_equal(simulated, found)


@pytest.mark.parametrize("stride", [1, 4, 8])
def test_kernels_of_64_places_are_rounded_in_the_ordinary_way(stride: int) -> None:
    random = np.random.default_rng(stride)
    graph, width = Graph("g"), 256 + 99 * stride
    x = random.integers(0, 256, (1, 1, width, 1)).astype(np.uint8)
    graph.add_input("x", TensorType(x.shape, DType.UFIXED_POINT_8, None, Encoding((0.01,), (-120,))))
    weights = random.integers(-127, 128, (1, 256, 1, 8)).astype(np.int8)
    kind = TensorType(weights.shape, DType.SFIXED_POINT_8, None, Encoding((0.003,), (0,)))
    graph.add_constant("w", weights, kind)
    op = Conv2d(stride=(1, stride), pad_amount=((0, 0), (0, 0)))
    out = TensorType((1, 1, 100, 8), DType.UFIXED_POINT_8, None, Encoding((0.08,), (-128,)))
    graph.add(Node("n", op, ["x", "w"], ["y"]), [out])
    graph.outputs = ["y"]
    simulated, found = both(graph, {"x": x})
    assert np.mean((found > 0) & (found < 255)) > 0.2
    assert np.mean(simulated != found) < 0.002


@pytest.mark.parametrize("ratio", [0.052, 0.4165, 1.04, 2.5, 2.75])
def test_negated_values_are_rounded_twice(ratio: float) -> None:
    every = np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16)
    for offset in (-229, -128, -63):
        graph = Graph("g")
        graph.add_input(
            "x", TensorType(every.shape, DType.UFIXED_POINT_8, None, Encoding((0.01 * ratio,), (offset,)))
        )
        out = TensorType(every.shape, DType.UFIXED_POINT_8, None, Encoding((0.01,), (-110,)))
        graph.add(Node("n", ElementWiseNeg(), ["x"], ["y"]), [out])
        graph.outputs = ["y"]
        np.testing.assert_array_equal(*both(graph, {"x": every}))


@pytest.mark.parametrize("op", [ElementWiseAdd(), ElementWiseSubtract()], ids=lambda op: op.qnn_name())
def test_a_single_number_is_added_by_a_table(op: Op) -> None:
    every = np.arange(256, dtype=np.uint8).reshape(1, 256, 1)
    for seed in range(4):
        random = np.random.default_rng(seed)
        graph = Graph("g")
        activation(graph, "x", every.shape, random)
        encoding = Encoding((random.uniform(0.005, 0.02),), (-int(random.integers(0, 255)),))
        graph.add_constant("c", np.full((1, 1, 1), 200, np.uint8), replace(graph.types["x"], shape=(1, 1, 1)))
        out = Encoding((0.03,), encoding.offsets)
        graph.add(Node("n", op, ["x", "c"], ["y"]), [replace(graph.types["x"], encoding=out)])
        graph.outputs = ["y"]
        np.testing.assert_array_equal(*both(graph, {"x": every}))


@pytest.mark.parametrize("scale", [0.0418, 0.3, 0.0021, 7.7])
def test_floats_become_integers_through_16_bits(scale: float) -> None:
    random = np.random.default_rng(3)
    x = ((random.uniform(-9, 264, (1, 1, 64, 64)) - 100) * scale).astype(np.float16)
    graph, encoding = Graph("g"), Encoding((float(np.float32(scale)),), (-100,))
    graph.add_input("x", TensorType(x.shape, DType.FLOAT_16))
    op = Convert(dtype=DType.UFIXED_POINT_8, encoding=encoding)
    graph.add(Node("n", op, ["x"], ["y"]), [TensorType(x.shape, DType.UFIXED_POINT_8, None, encoding)])
    graph.outputs = ["y"]
    np.testing.assert_array_equal(*both(graph, {"x": x}))


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
