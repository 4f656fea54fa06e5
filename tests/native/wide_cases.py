"""Small networks of 16 bits, fed with every integer, as the rounding of the simulation is tested with."""

from collections.abc import Callable
from functools import partial

import numpy as np

from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Elu, Gelu, HardSwish, Relu, Sigmoid, Tanh
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMaximum,
    ElementWiseMultiply,
)
from edgewright.ops.elementwise_unary import ElementWiseExp, ElementWiseSquareRoot
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange import Concat
from edgewright.ops.resize import ResizeBilinear, ResizeNearestNeighbor

SHAPE = (1, 32, 64, 32)
# Scale and offset of the input, and those of the output.
ENCODINGS = (
    ((1.8e-4, -32768), (9.3e-5, -3000)),
    ((5.1e-5, -41000), (4.2e-5, -6100)),
    ((3.7e-4, -20123), (2.9e-4, -1400)),
)
UNIT_RANGE = (2.0**-16, 0)
SIGNED_RANGE = (2.1 / 65535, -31000)
SMOOTHING = PoolAvg2d(filter_size=(3, 3), stride=(1, 1), pad_amount=((0, 0), (0, 0)))

Case = tuple[Graph, dict[str, Array]]
Numbers = tuple[float, int]


def build_function(op: Op, x: Numbers, y: Numbers, shape: tuple[int, ...] = SHAPE) -> Case:
    """A network of one op that is fed with every integer."""
    graph = Graph("g")
    graph.add_input("x", _describe(SHAPE, x))
    graph.add(Node("n", op, ["x"], ["y"]), [_describe(shape, y)])
    graph.outputs = ["y"]
    return graph, {"x": np.arange(1 << 16, dtype=np.uint16).reshape(SHAPE)}


def build_quotient(dividends: Array, divisors: Array, encodings: tuple[Numbers, Numbers, Numbers]) -> Case:
    """Numbers over others, one by one; encodings are those of both and of the output."""
    graph, feed, shape = Graph("g"), {}, (1, 8, -1, 64)
    for name, numbers, encoding in zip("ab", (dividends, divisors), encodings, strict=False):
        feed[name] = numbers.astype(np.uint16).reshape(shape)
        graph.add_input(name, _describe(feed[name].shape, encoding))
    graph.add(Node("n", ElementWiseDivide(), ["a", "b"], ["y"]), [_describe(feed["a"].shape, encodings[2])])
    graph.outputs = ["y"]
    return graph, feed


def combine(op: Op, x: Numbers, y: Numbers, shape: tuple[int, ...] = SHAPE) -> Case:
    """An op of every integer and of random ones that have the same range, more or less."""
    graph = Graph("g")
    graph.add_input("x", _describe(SHAPE, x))
    graph.add_input("z", _describe(SHAPE, (x[0] * 0.83, x[1] + 977)))
    graph.add(Node("n", op, ["x", "z"], ["y"]), [_describe(shape, y)])
    graph.outputs = ["y"]
    other = np.random.default_rng(0).integers(0, 1 << 16, SHAPE).astype(np.uint16)
    return graph, {"x": np.arange(1 << 16, dtype=np.uint16).reshape(SHAPE), "z": other}


def add_number() -> Case:
    """A number of a hundredth of a step is added; the factor of the input is rounded up to one."""
    graph, feed = build_function(ElementWiseAdd(), (9.438086e-5, -1331), (9.438087e-5, -1330))
    number = TensorType((1,), DType.UFIXED_POINT_16, None, Encoding((1.5259e-9,), (0,), bitwidth=16))
    graph.node("n").inputs.append(graph.add_constant("c", np.array([22741], np.uint16), number))
    return graph, feed


def narrow(ratio: float) -> Case:
    """Every integer in 8 bits, whose steps are so many times finer."""
    x, y = Encoding((1e-5,), (-20123,), bitwidth=16), Encoding((1e-5 / ratio,), (-137,))
    graph, feed = build_function(
        Convert(dtype=DType.UFIXED_POINT_8, encoding=y, source=x), (1e-5, -20123), (1, 0)
    )
    graph.types["y"] = TensorType(SHAPE, DType.UFIXED_POINT_8, None, y)
    return graph, feed


def add_close() -> Case:
    """A sum between two products whose larger factor is almost one."""
    random, last = np.random.default_rng(0), SHAPE[3]
    x, y = (4.9999e-5, -30502), (5e-5, -30647)
    graph, feed = build_function(ElementWiseAdd(), x, y)
    graph.remove(graph.node("n"))
    bytes_of = TensorType(SHAPE, DType.UFIXED_POINT_8, None, Encoding((1.3e-4,), (-131,)))
    wide = _describe(SHAPE, (1.3e-4 / 257, -131 * 257))
    graph.add_input("b", bytes_of)
    widen = Convert(dtype=wide.dtype, encoding=wide.encoding, source=bytes_of.encoding)
    graph.add(Node("c", widen, ["b"], ["c"]), [wide])
    graph.add(Node("n", ElementWiseAdd(), ["x", "c"], ["y"]), [_describe(SHAPE, y)])
    weights = random.integers(-127, 128, (1, 1, last, last)).astype(np.int8)
    grid = TensorType(weights.shape, DType.SFIXED_POINT_8, None, Encoding((1e-3,), (0,)))
    graph.add_constant("w", weights, grid)
    point = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))
    graph.add(Node("p", point, ["y", "w"], ["out"]), [_describe(SHAPE, (1e-4, -30000))])
    graph.outputs = ["out"]
    return graph, feed | {"b": random.integers(0, 256, SHAPE).astype(np.uint8)}


def gate(x: Numbers, y: Numbers) -> Case:
    """SiLU of every integer."""
    graph, feed = build_function(Sigmoid(), x, UNIT_RANGE)
    graph.add(Node("m", ElementWiseMultiply(), ["x", "y"], ["out"]), [_describe(SHAPE, y)])
    graph.outputs = ["out"]
    return graph, feed


def _describe(shape: tuple[int, ...], numbers: Numbers) -> TensorType:
    encoding = Encoding((numbers[0],), (numbers[1],), bitwidth=16)
    return TensorType(shape, DType.UFIXED_POINT_16, None, encoding)


def divide(x: Numbers, y: Numbers) -> Case:
    """Random numbers over others, of both signs."""
    numbers, divisors = np.random.default_rng(0).integers(0, 1 << 16, (2, 1 << 15))
    return build_quotient(numbers, divisors, (x, (2.0**-15, -x[1] // -2), (y[0] * 5, -30000)))


def _list_cases(number: int, x: Numbers, y: Numbers) -> dict[str, Callable[[], Case]]:
    smooth = (1, SHAPE[1] - 2, SHAPE[2] - 2, SHAPE[3])
    joined, doubled = (*SHAPE[:3], 2 * SHAPE[3]), (1, 2 * SHAPE[1], 2 * SHAPE[2], SHAPE[3])
    return {
        f"wide-sigmoid-{number}": partial(build_function, Sigmoid(), x, UNIT_RANGE),
        f"wide-gelu-{number}": partial(build_function, Gelu(), x, y),
        f"wide-tanh-{number}": partial(build_function, Tanh(), x, SIGNED_RANGE),
        f"wide-elu-{number}": partial(build_function, Elu(), x, (y[0], y[1] * 5)),
        f"wide-exp-{number}": partial(build_function, ElementWiseExp(), x, (y[0] * 10, 0)),
        f"wide-root-{number}": partial(build_function, ElementWiseSquareRoot(), (x[0], 0), (y[0], 0)),
        f"wide-quotient-{number}": partial(divide, x, y),
        f"wide-hard-swish-{number}": partial(build_function, HardSwish(), x, y),
        f"wide-relu-{number}": partial(build_function, Relu(), x, y),
        f"wide-smooth-{number}": partial(build_function, SMOOTHING, x, y, smooth),
        f"wide-silu-{number}": partial(gate, x, y),
        f"wide-concat-{number}": partial(combine, Concat(axis=3), x, y, joined),
        f"wide-maximum-{number}": partial(combine, ElementWiseMaximum(), x, y),
        f"wide-blend-{number}": partial(
            build_function, ResizeBilinear(size=doubled[1:3], half_pixel_centers=True), x, y, doubled
        ),
        f"wide-repeat-{number}": partial(
            build_function, ResizeNearestNeighbor(size=doubled[1:3]), x, y, doubled
        ),
    }


WIDE_EXACT = {
    "wide-add-number": add_number,
    "wide-add-close": add_close,
    "wide-gelu-coarse": partial(build_function, Gelu(), (1.05e-4, -33410), (6.8e-4, -500)),
    "wide-hard-swish-coarse": partial(build_function, HardSwish(), (3e-4, -10023), (8.4e-4, -898)),
    "wide-hard-swish-coarsest": partial(build_function, HardSwish(), (2e-4, -32768), (9.4e-3, -40)),
    **{f"wide-narrow-{ratio}": partial(narrow, ratio) for ratio in (0.004, 0.09, 0.3, 0.5, 0.87, 1.3)},
} | {
    name: case for number, (x, y) in enumerate(ENCODINGS) for name, case in _list_cases(number, x, y).items()
}
