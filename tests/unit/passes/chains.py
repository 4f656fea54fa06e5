"""Random graphs that give every pass something to find, and much that it must leave alone."""

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph
from edgewright.ir.op import Op
from edgewright.ops.activation import HardSwish, Relu, Relu6, ReluMinMax, Sigmoid
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMaximum,
    ElementWiseMinimum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_unary import ElementWiseNeg
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.rearrange_fill import Pad, Scheme, Tile
from edgewright.ops.rearrange_slice import StridedSlice
from edgewright.ops.reduce import ReduceMean, ReduceSum
from edgewright.ops.reduce_softmax import Softmax
from tests.unit.passes.nets import Net

UNARY: list[Op] = [
    Relu(),
    Relu6(),
    Sigmoid(),
    HardSwish(),
    ElementWiseNeg(),
    ReluMinMax(min_value=0.0, max_value=6.0),
    Cast(dtype=DType.FLOAT_32),
]
BINARY: list[Op] = [
    ElementWiseAdd(),
    ElementWiseSubtract(),
    ElementWiseMultiply(),
    ElementWiseDivide(),
    ElementWiseMaximum(),
    ElementWiseMinimum(),
]
LARGEST = 2000
Step = Callable[[st.DrawFn, Net, str], str]


@st.composite
def chains(draw: st.DrawFn) -> Graph:
    """A network of a few steps, each of which reads any value made before it."""
    net = Net(*draw(st.sampled_from([(1, 4, 6, 6), (2, 3, 4), (3, 5), (1, 2, 3, 3, 3)])))
    values = [net.x]
    for _ in range(draw(st.integers(1, 9))):
        # Mostly the newest value: chains are where passes find things.
        x = draw(st.sampled_from([values[-1]] * 4 + values))
        made = draw(st.sampled_from(STEPS))(draw, net, x)
        if net.type(made).count <= LARGEST:  # type: ignore[operator]
            values.append(made)
    outputs = {values[-1], draw(st.sampled_from(values))} - {net.x}
    return net.done(*sorted(outputs - set(net.graph.constants)))


def unary(draw: st.DrawFn, net: Net, x: str) -> str:
    return net.emit(draw(st.sampled_from(UNARY)), x)


def with_constant(draw: st.DrawFn, net: Net, x: str) -> str:
    shape = net.type(x).static_shape()
    axis = draw(st.integers(0, max(len(shape) - 1, 0)))
    shapes = [(), (1,), shape[-1:], tuple(1 if a != axis else n for a, n in enumerate(shape)), shape[axis:]]
    numbers = draw(st.sampled_from([0.0, 1.0, 6.0, -0.5, None]))
    wanted = draw(st.sampled_from(shapes))
    array = np.full(wanted, numbers) if numbers is not None else np.linspace(0.5, 2, int(np.prod(wanted)))
    constant = net.add_constant(array.reshape(wanted).astype(np.float32))
    operands = (x, constant) if draw(st.booleans()) else (constant, x)
    op = draw(st.sampled_from(BINARY))
    # What is divided by x may be divided by nothing: the meaning of that is not what these laws are about.
    return net.emit(op, *((x, constant) if isinstance(op, ElementWiseDivide) else operands))


def with_itself(draw: st.DrawFn, net: Net, x: str) -> str:
    return net.emit(draw(st.sampled_from(BINARY[:3])), x, net.relu(x))


def transposed(draw: st.DrawFn, net: Net, x: str) -> str:
    rank = net.rank(x)
    orders = [tuple(range(rank)), (*range(1, rank), 0)]
    if rank > 2:
        orders += [(0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))] * 3
    return net.emit(Transpose(perm=draw(st.sampled_from(orders))), x) if rank else net.relu(x)


def reshaped(draw: st.DrawFn, net: Net, x: str) -> str:
    shape = net.type(x).static_shape()
    shapes = [shape, (1, *shape), (*shape, 1)]
    if len(shape) > 1:
        shapes += [(shape[0], int(np.prod(shape[1:]))), (*shape[:-2], shape[-2] * shape[-1])]
    return net.emit(Reshape(shape=draw(st.sampled_from([s for s in shapes if len(s) < 6]))), x)


def spatial(draw: st.DrawFn, net: Net, x: str) -> str:
    if not 3 <= net.rank(x) <= 5 or min(net.type(x).static_shape()) < 1:
        return net.relu(x)
    kinds: list[Callable[[], str]] = [
        lambda: net.conv(x, 3, has_bias=draw(st.booleans())),
        lambda: net.batchnorm(x),
    ]
    if net.rank(x) == 4:
        kinds += [lambda: net.pool(x), lambda: net.depthwise(x)]
    return draw(st.sampled_from(kinds))()


def reduced(draw: st.DrawFn, net: Net, x: str) -> str:
    rank = net.rank(x)
    if not rank:
        return net.relu(x)
    axes = draw(st.lists(st.integers(0, rank - 1), unique=True, min_size=1))
    kind = draw(st.sampled_from([ReduceMean, ReduceSum]))
    return net.emit(kind(axes=tuple(sorted(axes)), keep_dims=draw(st.booleans())), x)


def joined(draw: st.DrawFn, net: Net, x: str) -> str:
    if not net.rank(x):
        return net.relu(x)
    axis = draw(st.integers(0, net.rank(x) - 1))
    parts = [x] if draw(st.booleans()) else [x, net.relu(x)]
    return net.emit(Concat(axis=axis), *parts)


def normalised(draw: st.DrawFn, net: Net, x: str) -> str:
    rank = net.rank(x)
    return net.emit(Softmax(axis=draw(st.integers(0, rank - 1))), x) if rank else net.relu(x)


def product(draw: st.DrawFn, net: Net, x: str) -> str:
    if net.rank(x) < 2:
        return net.relu(x)
    width = int(net.shape(x)[-1])
    if draw(st.booleans()):
        return net.emit(MatMul(), x, net.random(width, 3))
    return net.emit(FullyConnected(keep_dims=draw(st.booleans())), x, net.random(3, width))


def idle_move(draw: st.DrawFn, net: Net, x: str) -> str:
    rank, shape = net.rank(x), net.type(x).static_shape()
    if not rank:
        return net.relu(x)
    pads = [(0, 0)] * rank
    pads[draw(st.integers(0, rank - 1))] = draw(st.sampled_from([(0, 0), (1, 1), (0, 2)]))
    moves: list[Op] = [
        Pad(scheme=Scheme.CONSTANT, pad_amount=tuple(pads)),
        Tile(multiples=(1,) * rank),
        StridedSlice(ranges=tuple((0, size, 1) for size in shape)),
    ]
    return net.emit(draw(st.sampled_from(moves)), x)


def narrowed(draw: st.DrawFn, net: Net, x: str) -> str:
    wide = draw(st.sampled_from([DType.FLOAT_64, DType.FLOAT_32]))
    return net.emit(Cast(dtype=DType.FLOAT_32), net.emit(Cast(dtype=wide), x))


STEPS: list[Step] = [
    unary,
    with_constant,
    with_constant,
    with_itself,
    transposed,
    transposed,
    reshaped,
    spatial,
    spatial,
    reduced,
    joined,
    normalised,
    product,
    idle_move,
    narrowed,
]
