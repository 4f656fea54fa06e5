"""Values of 16 bits that get another scale, another sign, or are squared."""

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWiseMultiply, ElementWisePower
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.matmul import MatMul
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange import Reshape, Transpose
from tests.native.equality import emulate

WIDE, SIGNED = DType.UFIXED_POINT_16, DType.SFIXED_POINT_16
SHAPE, CHANNELS = (1, 16, 8, 32), 32
POINT = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))
DRAWS = 4


def draw_encoding(random, least: float, most: float) -> Encoding:
    return Encoding(
        (float(2 ** random.uniform(least, most)),), (-int(random.integers(100, 65000)),), bitwidth=16
    )


def make_net(seed: int, op: str, way: tuple[str, ...] = ()) -> tuple[Graph, dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    x = draw_encoding(random, -3, 3)
    graph, value, shape = Graph("g"), "x", SHAPE
    graph.add_input("x", TensorType(SHAPE, WIDE, None, x))
    for step in way:
        inputs, made = [value], graph.fresh_name(step)
        if step == "layer":
            weights = (np.eye(CHANNELS) * 100).astype(np.int8).reshape(1, 1, CHANNELS, CHANNELS)
            encoding = Encoding((0.01,) * CHANNELS, (0,) * CHANNELS, 3, 8)
            kind = TensorType(weights.shape, DType.SFIXED_POINT_8, None, encoding)
            inputs, moved = [value, graph.add_constant("w", weights, kind)], POINT
        elif step == "turn":
            moved, shape = Transpose(perm=(0, 2, 1, 3)), tuple(shape[axis] for axis in (0, 2, 1, 3))
        else:
            shape = (1, shape[1] * shape[2], 1, CHANNELS)
            moved = Reshape(shape=shape)
        graph.add(Node(made, moved, inputs, [made]), [TensorType(shape, WIDE, None, x)])
        value = made
    reach = max(65535 + x.offsets[0], -x.offsets[0]) * x.scales[0]
    y, dtype, inputs = draw_encoding(random, -3, 3), WIDE, [value]
    if op == "square":
        # Also what lies a little below zero has integers.
        y = Encoding((reach**2 / 50000,), (-int(random.integers(0, 3000)),), bitwidth=16)
        kind = TensorType((), WIDE, None, Encoding((2 / 65535,), (0,), bitwidth=16))
        inputs.append(graph.add_constant("exponent", np.array(65535, np.uint16), kind))
        made = ElementWisePower()
    elif op == "negate":
        made = ElementWiseNeg()
    else:
        if op == "sign":
            y, dtype = Encoding((reach / 0x7F7F * 1.07,), (0,), bitwidth=16), SIGNED
        made = Convert(dtype=dtype, encoding=y, source=x)
    graph.add(Node("o", made, inputs, ["o"]), [TensorType(shape, dtype, None, y)])
    graph.outputs = ["o"]
    return graph, {"x": random.integers(0, 65536, SHAPE).astype(np.uint16)}


@pytest.mark.parametrize("way", [(), ("layer",), ("layer", "turn"), ("layer", "flatten")], ids="-".join)
@pytest.mark.parametrize("op", ["square", "negate", "sign", "convert"])
def test_simulation_and_emulator_agree(op, way):
    nets = [make_net(seed, op, way or ("turn",)) for seed in range(DRAWS)]
    found = emulate([graph for graph, _ in nets], [feed for _, feed in nets])
    for (graph, feed), emulated in zip(nets, found, strict=True):
        simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
        np.testing.assert_array_equal(simulated["o"], emulated["o"])


@pytest.mark.parametrize("rows", [10, 16, 17, 32, 40, 49, 64, 128])
def test_scaled_rows_before_a_product_of_matrices_are_the_emulator_s(rows):
    """Rows that fill blocks are multiplied, others only get another scale."""
    random, heads, width = np.random.default_rng(rows), 3, 24
    x = draw_encoding(random, -1, 1)
    turned, scale = (1, heads, rows, width), 0.25
    graph, feed = Graph("g"), {}
    for name, shape in (("x", (1, rows, heads, width)), ("keys", (1, heads, width, rows))):
        kind = TensorType(shape, WIDE, None, x)
        if name == "keys":
            kind = TensorType(shape, SIGNED, None, Encoding((1e-4,), (0,), bitwidth=16))
        graph.add_input(name, kind)
        feed[name] = random.integers(0, 0x7F7F, shape).astype(kind.dtype.numpy)
    graph.add(Node("turn", Transpose(perm=(0, 2, 1, 3)), ["x"], ["t"]), [TensorType(turned, WIDE, None, x)])
    encoding = Encoding((scale / 65535,), (0,), bitwidth=16)
    graph.add_constant("k", np.array([65535], np.uint16), TensorType((1,), WIDE, None, encoding))
    y = Encoding((x.scales[0] * scale * 1.3,), (x.offsets[0],), bitwidth=16)
    graph.add(Node("scale", ElementWiseMultiply(), ["t", "k"], ["s"]), [TensorType(turned, WIDE, None, y)])
    result = TensorType((1, heads, rows, rows), WIDE, None, Encoding((1e2,), (-30000,), bitwidth=16))
    graph.add(Node("multiply", MatMul(), ["s", "keys"], ["y"]), [result])
    graph.outputs = ["s", "y"]
    (found,) = emulate([graph], [feed])
    simulated = HtpSimBackend().prepare(graph, RunOptions(threads=1)).run(feed)
    for name in graph.outputs:
        np.testing.assert_array_equal(simulated[name], found[name])
