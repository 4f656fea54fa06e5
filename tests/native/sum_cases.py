"""Small networks of one kind of sum each, as the rounding of the simulation is tested with."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Prelu, Relu
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseMaximum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.quant import Convert
from edgewright.ops.reduce_softmax import Softmax
from tests.native.equality_cases import draw
from tests.native.random_nets import RandomNet
from tests.native.wide_cases import WIDE_EXACT

KINDS = ("conv", "strided", "few", "pointwise", "sparse", "depthwise", "strided_depthwise", "product")


def activation(graph: Graph, name: str, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """Declares an input of 8 bits and draws it."""
    encoding = Encoding((random.uniform(0.01, 0.05),), (-int(random.integers(0, 200)),))
    graph.add_input(name, TensorType(shape, DType.UFIXED_POINT_8, None, encoding))
    return random.integers(0, 256, shape).astype(np.uint8)


def weighted(kind: str, bits: int, seed: int, *, is_per_channel: bool) -> tuple[Graph, dict[str, Array]]:
    """One convolution or product with weights, whose sums fill the range of the output."""
    random = np.random.default_rng(seed)
    graph, limit = Graph("g"), (1 << (bits - 1)) - 1
    shapes = {
        "conv": ((1, 12, 12, 24), (3, 3, 24, 40), 3, (1, 12, 12, 40)),
        "strided": ((1, 12, 12, 24), (3, 3, 24, 40), 3, (1, 6, 6, 40)),
        "pointwise": ((1, 16, 16, 33), (1, 1, 33, 70), 3, (1, 16, 16, 70)),
        "few": ((1, 12, 12, 3), (3, 3, 3, 40), 3, (1, 12, 12, 40)),
        "sparse": ((1, 15, 15, 33), (1, 1, 33, 70), 3, (1, 8, 8, 70)),
        "depthwise": ((1, 12, 12, 40), (3, 3, 1, 40), 3, (1, 12, 12, 40)),
        "strided_depthwise": ((1, 12, 12, 40), (3, 3, 1, 40), 3, (1, 6, 6, 40)),
        "product": ((9, 200), (50, 200), 0, (9, 50)),
    }
    shape, filters, axis, result = shapes[kind]
    x = activation(graph, "x", shape, random)
    scales = 0.004 * random.uniform(0.05, 1, filters[axis] if is_per_channel else 1)
    encoding = Encoding(tuple(scales.tolist()), (0,) * scales.size, axis if is_per_channel else None, bits)
    weights = random.integers(-limit, limit + 1, filters).astype(np.int8)
    graph.add_constant("w", weights, TensorType(filters, DType.SFIXED_POINT_8, None, encoding))
    given = graph.types["x"].encoding
    assert given is not None
    sums = tuple(float(np.float32(given.scales[0]) * np.float32(scale)) for scale in scales)
    bias = random.integers(-70 * limit, 70 * limit, filters[axis]).astype(np.int32)
    stored = Encoding(sums, (0,) * len(sums), 0 if is_per_channel else None, 32)
    graph.add_constant("b", bias, TensorType((filters[axis],), DType.SFIXED_POINT_32, None, stored))
    pads = ((0, 0), (0, 0)) if kind in {"pointwise", "sparse"} else ((1, 1), (1, 1))
    stride = (2, 2) if kind in {"strided", "sparse", "strided_depthwise"} else (1, 1)
    ops = {
        "depthwise": DepthWiseConv2d(stride=stride, pad_amount=pads),
        "strided_depthwise": DepthWiseConv2d(stride=stride, pad_amount=pads),
        "product": FullyConnected(),
    }
    op = ops.get(kind) or Conv2d(stride=stride, pad_amount=pads)
    # Sums of so many products are about so large.
    taps = int(np.prod(filters)) // filters[axis]
    spread = float(np.sqrt(taps)) * 90 * (limit / 1.7) * float(scales.max()) * given.scales[0]
    out = Encoding((spread * 4 / 255,), (-int(random.integers(60, 190)),))
    graph.add(Node("n", op, ["x", "w", "b"], ["y"]), [TensorType(result, DType.UFIXED_POINT_8, None, out)])
    graph.outputs = ["y"]
    return graph, {"x": x}


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


def bent_sums(bits: int, offset: int) -> tuple[Graph, dict[str, Array]]:
    """A convolution whose sums are bent by 32 slopes from -1 to 2, right before the output."""
    graph, random = Graph("g"), np.random.default_rng(bits)
    dtype, last = DType[f"UFIXED_POINT_{bits}"], (1 << bits) - 1

    def describe(shape: tuple[int, ...], scale: float, zero: int) -> TensorType:
        return TensorType(shape, dtype, None, Encoding((scale / last,), (zero,), bitwidth=bits))

    graph.add_input("x", describe((1, 32, 32, 16), 4.0, -(last // 2)))
    weights = random.integers(-127, 128, (1, 1, 16, 32)).astype(np.int8)
    graph.add_constant(
        "w", weights, TensorType(weights.shape, DType.SFIXED_POINT_8, None, Encoding((1 / 256,), (0,)))
    )
    slopes = np.linspace(0, last, 32).astype(dtype.numpy)
    graph.add_constant("slopes", slopes, describe((32,), 3.0, -(last // 3)))
    point = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))
    graph.add(Node("c", point, ["x", "w"], ["c"]), [describe((1, 32, 32, 32), 6.0, -(last // 2))])
    graph.add(Node("y", Prelu(), ["c", "slopes"], ["y"]), [describe((1, 32, 32, 32), 7.0, offset)])
    graph.outputs = ["y"]
    return graph, {"x": random.integers(0, last + 1, (1, 32, 32, 16)).astype(dtype.numpy)}


def pair(op: Op, seed: int) -> tuple[Graph, dict[str, Array]]:
    """A sum or a difference of all pairs of integers."""
    every = np.arange(256, dtype=np.uint8)
    first, second = (a.reshape(1, 64, 64, 16) for a in np.meshgrid(every, every, indexing="ij"))
    random = np.random.default_rng(seed)
    graph = Graph("g")
    for name in ("a", "b"):
        activation(graph, name, first.shape, random)
    scale = 0.03 * random.uniform(0.4, 3)
    out = Encoding((scale,), (-int(random.integers(60, 190)),))
    graph.add(Node("n", op, ["a", "b"], ["y"]), [TensorType(first.shape, DType.UFIXED_POINT_8, None, out)])
    graph.outputs = ["y"]
    return graph, {"a": first, "b": second}


def shifted(op: Op, seed: int) -> tuple[Graph, dict[str, Array]]:
    """All integers, and one number that is added to or taken from them."""
    every = np.arange(256, dtype=np.uint8).reshape(1, 256, 1)
    random = np.random.default_rng(seed)
    graph = Graph("g")
    activation(graph, "x", every.shape, random)
    offset = -int(random.integers(0, 255))
    graph.add_constant("c", np.full((1, 1, 1), 200, np.uint8), replace(graph.types["x"], shape=(1, 1, 1)))
    out = Encoding((0.03,), (offset,))
    graph.add(Node("n", op, ["x", "c"], ["y"]), [replace(graph.types["x"], encoding=out)])
    graph.outputs = ["y"]
    return graph, {"x": every}


def multiplied() -> tuple[Graph, dict[str, Array]]:
    """A product of two activations, the second one symmetric."""
    random = np.random.default_rng(7)
    graph, feed, scales = Graph("g"), {}, []
    for name, offset in (("a", -60), ("b", -128)):
        scales.append(random.uniform(0.01, 0.05))
        kind = TensorType((4, 40, 40), DType.UFIXED_POINT_8, None, Encoding((scales[-1],), (offset,)))
        feed[graph.add_input(name, kind)] = random.integers(0, 256, (4, 40, 40)).astype(np.uint8)
    out = Encoding((scales[0] * scales[1] * 90 * 90 * 6 / 40,), (-128,))
    graph.add(Node("n", MatMul(), ["a", "b"], ["y"]), [replace(graph.types["a"], encoding=out)])
    graph.outputs = ["y"]
    return graph, feed


def negated(ratio: float, offset: int) -> tuple[Graph, dict[str, Array]]:
    """All integers, negated into steps of another size."""
    every = np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16)
    graph = Graph("g")
    x = TensorType(every.shape, DType.UFIXED_POINT_8, None, Encoding((0.01 * ratio,), (offset,)))
    graph.add_input("x", x)
    out = TensorType(every.shape, DType.UFIXED_POINT_8, None, Encoding((0.01,), (-110,)))
    graph.add(Node("n", ElementWiseNeg(), ["x"], ["y"]), [out])
    graph.outputs = ["y"]
    return graph, {"x": every}


def stored(scale: float) -> tuple[Graph, dict[str, Array]]:
    """Floats of 16 bits that become integers."""
    random = np.random.default_rng(3)
    x = ((random.uniform(-9, 264, (1, 1, 64, 64)) - 100) * scale).astype(np.float16)
    graph, encoding = Graph("g"), Encoding((float(np.float32(scale)),), (-100,))
    graph.add_input("x", TensorType(x.shape, DType.FLOAT_16))
    op = Convert(dtype=DType.UFIXED_POINT_8, encoding=encoding)
    graph.add(Node("n", op, ["x"], ["y"]), [TensorType(x.shape, DType.UFIXED_POINT_8, None, encoding)])
    graph.outputs = ["y"]
    return graph, {"x": x}


def shared_out(scale: float) -> tuple[Graph, dict[str, Array]]:
    """The shares of two classes, for differences of all sizes."""
    every = np.stack([np.arange(256), np.arange(256)[::-1]], -1).astype(np.uint8).reshape(1, 256, 2)
    graph = Graph("g")
    graph.add_input("x", TensorType(every.shape, DType.UFIXED_POINT_8, None, Encoding((scale,), (-128,))))
    out = TensorType(every.shape, DType.UFIXED_POINT_8, None, Encoding((1 / 256,), (0,)))
    graph.add(Node("n", Softmax(), ["x"], ["y"]), [out])
    graph.outputs = ["y"]
    return graph, {"x": every}


def long_kernel(places: int, stride: int) -> tuple[Graph, dict[str, Array]]:
    """A convolution along one axis."""
    random = np.random.default_rng(stride)
    graph, width = Graph("g"), places + 99 * stride
    x = random.integers(0, 256, (1, 1, width, 1)).astype(np.uint8)
    graph.add_input("x", TensorType(x.shape, DType.UFIXED_POINT_8, None, Encoding((0.01,), (-120,))))
    weights = random.integers(-127, 128, (1, places, 1, 8)).astype(np.int8)
    kind = TensorType(weights.shape, DType.SFIXED_POINT_8, None, Encoding((0.003,), (0,)))
    graph.add_constant("w", weights, kind)
    op = Conv2d(stride=(1, stride), pad_amount=((0, 0), (0, 0)))
    out = TensorType((1, 1, 100, 8), DType.UFIXED_POINT_8, None, Encoding((0.08,), (-128,)))
    graph.add(Node("n", op, ["x", "w"], ["y"]), [out])
    graph.outputs = ["y"]
    return graph, {"x": x}


# Of the page of equal numbers.
DRAWN = (
    "Conv2d + HardSwish, steep",
    "Conv2d + HardSwish, range too small",
    "Conv2d, dilated + HardSwish",
    "Conv2d + Reshape + HardSwish",
    "DepthWiseConv2d, 3x3, stride 2x1",
    "DepthWiseConv2d, 2x2, stride 2",
    "DepthWiseConv2d, 1x3, stride 2",
    "DepthWiseConv2d, 3x3, stride 2, tiny channel",
    "DepthWiseConv2d, stride 2 + Relu",
    "DepthWiseConv2d, stride 2x1 + HardSwish",
    "Multiply, negative number",
    "Divide",
    "Divide, one number",
    "Maximum, one number",
    "Softmax, 2",
    "Softmax, 4",
    "Softmax, 10",
    "Conv2d, 3x3, dilated, stride 2",
    "Multiply, one number + Gelu",
    "Conv2d + Multiply, one number + Conv2d",
    "Add + Relu",
    "Multiply + Relu",
    "PoolAvg2d, 3x3, padded",
    "PoolAvg2d, 3x3, stride 2, padded",
    "PoolAvg2d, 5x5, padded with zeros",
)
# Of 16 bits: networks whose integers were not always those of the emulator.
DRAWN_WIDE = {
    "Conv2d + Tanh": 0,
    "Add + Relu": 0,
    "DepthWiseConv2d, 5x5, stride 2, uneven": 5,
    "LayerNorm": 0,
    "PoolAvg2d, 3x3, padded": 0,
    "Multiply, one number + Softmax, 50": 0,
    "Softmax, 4": 0,
    "Softmax, 197": 0,
}
# Of the same page in half precision.
DRAWN_HALVES = {
    "LayerNorm": 0,
    "LayerNorm, 400": 0,
    "ReduceMean, channels": 4,
    "ReduceSum, channels": 4,
    "PoolAvg2d, 2x2": 0,
    "PoolAvg2d, 3x3": 0,
    "PoolAvg2d, 3x3, padded": 0,
    "ResizeBilinear, x2": 0,
    "ResizeBilinear, x4, from the corner": 0,
    "ResizeBilinear, x2, corners aligned": 0,
}


def drawn(case: str, form: str = "w8a8", number: int = 0) -> tuple[Graph, dict[str, Array]]:
    """A network of a case."""
    net, output = draw(case, form, number)
    return net.finish(output)


def tiled(size: int) -> tuple[Graph, dict[str, Array]]:
    """A pool of floats without overlaps."""
    net = RandomNet("fp16", np.random.default_rng(size))
    pool = PoolAvg2d(filter_size=(size, size), stride=(size, size), pad_amount=((0, 0), (0, 0)))
    return net.finish(net.add(pool, net.add_input(1, 16, 16, 40)))


# What the simulation computes to the last bit. One scale for all rows of 4 bits is refused by the library.
EXACT: dict[str, Callable[[], tuple[Graph, dict[str, Array]]]] = {
    **{
        f"{kind}-w{bits}-{'channels' if is_per_channel else 'tensor'}-{seed}": partial(
            weighted, kind, bits, seed, is_per_channel=is_per_channel
        )
        for kind, bits, is_per_channel, seed in product(KINDS, (4, 8), (False, True), range(3))
        if (kind, bits, is_per_channel) != ("product", 4, False)
    },
    **{f"add-{seed}": partial(pair, ElementWiseAdd(), seed) for seed in range(6)},
    **{f"subtract-{seed}": partial(pair, ElementWiseSubtract(), seed) for seed in range(6)},
    **{f"multiply-{seed}": partial(pair, ElementWiseMultiply(), seed) for seed in range(6)},
    **{f"maximum-{seed}": partial(pair, ElementWiseMaximum(), seed) for seed in range(3)},
    **{f"add-number-{seed}": partial(shifted, ElementWiseAdd(), seed) for seed in range(4)},
    **{f"subtract-number-{seed}": partial(shifted, ElementWiseSubtract(), seed) for seed in range(4)},
    **{
        f"negate-{ratio}-{-offset}": partial(negated, ratio, offset)
        for ratio in (0.052, 0.4165, 1.04, 2.5, 2.75)
        for offset in (-229, -128, -63)
    },
    **{
        f"relu-{kind}": partial(with_activation, kind, Relu(), Encoding((4 / 255,), (0,)))
        for kind in ("conv", "depthwise", "product")
    },
    **{f"store-{scale}": partial(stored, scale) for scale in (0.0418, 0.3, 0.0021, 7.7)},
    **{f"softmax-{scale}": partial(shared_out, scale) for scale in (0.005, 0.02, 0.1)},
    **{f"prelu-{-offset}": partial(bent_sums, 8, offset) for offset in (-5, -120, -250)},
    "matmul": multiplied,
    **{f"drawn-{case}": partial(drawn, case) for case in DRAWN},
    **{f"drawn-wide-{case}": partial(drawn, case, "w8a16", number) for case, number in DRAWN_WIDE.items()},
    **{f"tiled-fp16-{size}": partial(tiled, size) for size in (4, 8)},
    **{f"drawn-fp16-{case}": partial(drawn, case, "fp16", number) for case, number in DRAWN_HALVES.items()},
    **WIDE_EXACT,
}
