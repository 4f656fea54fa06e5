"""Networks of 8 and 16 bits and of floats give the emulator's numbers, op by op, with random encodings."""

from dataclasses import replace

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.conv import DepthWiseConv2d
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseSubtract
from tests.native.equality import emulate, measure

# The share of equal elements; rounding in the ordinary way gives 0.55 to 0.999.
ENOUGH = 0.9995
WIDE = (
    "Conv2d, 3x3",
    "Conv2d, 3x3, stride 2",
    "Conv2d, 1x1",
    "Conv2d, 5x5",
    "Conv2d, 3x3, dilated",
    "Conv2d, 3x3, groups",
    "Conv2d, 3 channels, stride 2",
    "Conv2d + Relu",
    "DepthWiseConv2d, 1x1",
    "DepthWiseConv2d, 3x3",
    "DepthWiseConv2d, 5x5",
    "FullyConnected",
    "Add",
    "Add, channels",
    "Add, constant channels",
    "Subtract",
    "PoolAvg2d, 2x2",
    "PoolAvg2d, whole image",
    "ReduceMean, image",
    "Multiply, channels",
    "Multiply, itself",
    "Multiply, places",
    "Conv2d + SiLU",
    "Conv2d + Relu6",
    "Conv2d + HardSigmoid",
    "Conv2d + DepthWiseConv2d, 5x5, stride 2",
    "Batchnorm",
    "MatMul, symmetric",
    "ReduceMean, 4x4",
    "squeeze and excite",
    "Conv2d + Prelu",
    "Prelu",
    "PoolAvg2d, 3x3",
    "TransposeConv2d, 2x2, stride 2",
)


NARROW = (
    "Conv2d + Relu, same encoding",
    "Conv2d + Prelu",
    "Subtract",
    "Batchnorm",
    "PoolAvg2d, 2x2",
    "Multiply, itself",
    "ResizeBilinear, x2",
)


@pytest.mark.parametrize("case", NARROW)
def test_what_is_rounded_by_kernels_of_its_own_is_that_of_the_emulator(case: str) -> None:
    assert measure(case, "w8a8", 6).equal >= ENOUGH


@pytest.mark.parametrize("case", WIDE)
def test_sums_of_16_bits_are_those_of_the_emulator(case: str) -> None:
    assert measure(case, "w8a16", 3).equal >= ENOUGH


def test_a_hard_swish_of_16_bits_reads_the_sums_not_what_is_stored_of_them() -> None:
    found = measure("Conv2d + HardSwish", "w8a16", 3)
    assert found.equal >= 0.999
    assert found.furthest <= 1


@pytest.mark.parametrize("form", ["w8a8", "w8a16"])
def test_a_layer_norm_adds_a_whole_number_of_steps(form: str) -> None:
    # Roots are still coarser than ours; real numbers instead of whole steps give 0.75.
    assert measure("LayerNorm", form, 3).equal >= 0.9


FLOATS = (
    "Conv2d, 3x3",
    "Conv2d, 5x5",
    "Conv2d, 3x3, groups",
    "Conv2d + SiLU",
    "Conv2d + HardSigmoid",
    "Conv2d + Prelu",
    "DepthWiseConv2d, 3x3, stride 2",
    "FullyConnected",
    "MatMul",
    "Add",
    "Add, few channels",
    "ReduceMean, image",
    "HardSigmoid",
)


@pytest.mark.parametrize("case", FLOATS)
def test_floats_are_those_of_the_emulator(case: str) -> None:
    assert measure(case, "fp16", 6).equal >= ENOUGH


def test_a_factor_for_each_channel_is_no_sum_of_floats() -> None:
    # Middles go away from zero; to the even neighbour they give 0.997.
    assert measure("DepthWiseConv2d, 1x1", "fp16", 6).equal >= 0.9985


def test_a_factor_for_each_channel_does_not_overflow() -> None:
    """With a kernel of one place the library gives 0 for large results of these channels."""
    factors = (-0.72923, -0.28873, -0.77028, -0.65214, 0.28656, -0.62575, 0.68661, -0.60231, 0.61072, 0.99654)
    shape, width = (1, 64, 64, len(factors)), 127
    graph, random = Graph("g"), np.random.default_rng(0)
    x = random.integers(0, 1 << 16, shape).astype(np.uint16)
    kind = TensorType(shape, DType.UFIXED_POINT_16, None, Encoding((3.2134e-05,), (-38949,), bitwidth=16))
    graph.add_input("x", kind)
    scales = tuple(abs(factor) / width for factor in factors)
    weights = (width * np.sign(factors)).astype(np.int8).reshape(1, 1, 1, -1)
    stored = TensorType(weights.shape, DType.SFIXED_POINT_8, None, Encoding(scales, (0,) * len(scales), 3, 8))
    graph.add_constant("w", weights, stored)
    out = replace(kind, encoding=Encoding((7.34e-05,), (-32078,), bitwidth=16))
    op = DepthWiseConv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))
    graph.add(Node("n", op, ["x", "w"], ["y"]), [out])
    graph.outputs = ["y"]
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run({"x": x})["y"]
    (found,) = emulate([graph], [{"x": x}])
    assert found["y"].min() > 0
    np.testing.assert_array_equal(simulated, found["y"])


@pytest.mark.parametrize("op", [ElementWiseAdd(), ElementWiseSubtract()], ids=lambda op: type(op).__name__)
@pytest.mark.parametrize("shape", [(1, 16, 16, 64), (64,)])
def test_constants_of_16_bits_are_added_as_the_emulator_does(op, shape):
    """What the offsets add loses its last bit, rounded up; a spread constant is turned round."""
    wide, nets = DType.UFIXED_POINT_16, []
    for seed in range(12):
        random, encodings = np.random.default_rng(seed), []
        for reach in (0.0, 0.0, 1.0):
            scale = float(np.float32(2 ** random.uniform(reach - 14, reach - 12)))
            encodings.append(Encoding((scale,), (-int(random.integers(5000, 60000)),), bitwidth=16))
        graph, image = Graph("g"), (1, 16, 16, 64)
        graph.add_input("a", TensorType(image, wide, None, encodings[0]))
        stored = random.integers(0, 65536, shape).astype(np.uint16)
        graph.add_constant("b", stored, TensorType(shape, wide, None, encodings[1]))
        graph.add(Node("y", op, ["a", "b"], ["y"]), [TensorType(image, wide, None, encodings[2])])
        graph.outputs = ["y"]
        nets.append((graph, {"a": random.integers(0, 65536, image).astype(np.uint16)}))
    found = emulate([graph for graph, _ in nets], [feed for _, feed in nets])
    for (graph, feed), emulated in zip(nets, found, strict=True):
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
        np.testing.assert_array_equal(simulated["y"], emulated["y"])
