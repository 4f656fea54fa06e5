"""One product with weights of each kind, as the sums of the simulation are tested with."""

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.matmul import FullyConnected

KINDS = ("conv", "strided", "few", "pointwise", "sparse", "depthwise", "product")


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
    stride = (2, 2) if kind in {"strided", "sparse"} else (1, 1)
    ops = {
        "depthwise": DepthWiseConv2d(stride=stride, pad_amount=pads),
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
