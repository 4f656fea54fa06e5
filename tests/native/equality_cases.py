"""Kinds of small networks whose integers are compared: op, shape, what stands before or behind."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from zlib import crc32

import numpy as np

from edgewright.ir.op import Op
from edgewright.ops.activation import (
    Elu,
    Gelu,
    HardSwish,
    Prelu,
    Relu,
    Relu6,
    Sigmoid,
    Tanh,
)
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposeConv2d
from edgewright.ops.elementwise import (
    ElementWiseAdd,
    ElementWiseDivide,
    ElementWiseMaximum,
    ElementWiseMultiply,
    ElementWiseSubtract,
)
from edgewright.ops.elementwise_generic import ElementWiseNeuron, NeuronOperation
from edgewright.ops.elementwise_unary import ElementWiseExp, ElementWiseSquareRoot
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.norm import Batchnorm, LayerNorm
from edgewright.ops.pool import PoolAvg2d, PoolMax2d
from edgewright.ops.rearrange import Concat, Reshape
from edgewright.ops.reduce import ReduceMean, ReduceSum
from edgewright.ops.reduce_softmax import Softmax
from edgewright.ops.resize import ResizeBilinear, ResizeNearestNeighbor
from tests.native.random_nets import RandomNet

IMAGE = (1, 12, 12, 32)
SAME, NONE = ((1, 1), (1, 1)), ((0, 0), (0, 0))

Draw = Callable[[RandomNet], str]


def convolve(
    net: RandomNet,
    value: str | None = None,
    *,
    size: int = 3,
    stride: int = 1,
    dilation: int = 1,
    group: int = 1,
    given: int = 32,
) -> str:
    """A convolution of a value or of an input, with padding that keeps the size."""
    value = value or net.add_input(1, 12, 12, given)
    weights = net.add_weights(size, size, given // group, 32, axis=3)
    pad = dilation * (size // 2)
    op = Conv2d(
        stride=(stride, stride),
        pad_amount=((pad, pad), (pad, pad)),
        dilation=(dilation, dilation),
        group=group,
    )
    return net.add(op, value, weights, net.add_bias(value, weights))


def convolve_patches(net: RandomNet) -> str:
    """A convolution of patches that lie side by side, as in a vision transformer."""
    value, weights = net.add_input(1, 64, 64, 3), net.add_weights(16, 16, 3, 32, axis=3)
    op = Conv2d(stride=(16, 16), pad_amount=NONE)
    return net.add(op, value, weights, net.add_bias(value, weights))


def convolve_depthwise(net: RandomNet, *, size: int = 3, stride: int = 1) -> str:
    """A convolution of each channel."""
    value, pad = net.add_input(*IMAGE), size // 2
    weights = net.add_weights(size, size, 1, 32, axis=3)
    op = DepthWiseConv2d(stride=(stride, stride), pad_amount=((pad, pad), (pad, pad)))
    return net.add(op, value, weights, net.add_bias(value, weights))


def convolve_uneven_channels(net: RandomNet, *, spread: float) -> str:
    """One of each channel that halves an image; scales of channels are up to so many bits apart."""
    value = net.add_input(*IMAGE)
    real = net.random.uniform(-1, 1, (5, 5, 1, 32)) * 2 ** net.random.uniform(-spread, 0, 32)
    weights = net.add_weights_of(real, axis=3)
    op = DepthWiseConv2d(stride=(2, 2), pad_amount=((1, 2), (1, 2)))
    return net.add(op, value, weights, net.add_bias(value, weights))


def convolve_oddly(
    net: RandomNet, *, size: tuple[int, int], stride: tuple[int, int], smallest: float = 1.0
) -> str:
    """A convolution of each channel in another form; the weights of the first are so small."""
    value = net.add_input(*IMAGE)
    real = net.random.normal(0, 0.3, (*size, 1, 32))
    real[..., 0] *= smallest
    weights = net.add_weights_of(real, axis=3)
    pads = tuple(((places - 1) // 2, places // 2) for places in size)
    op = DepthWiseConv2d(stride=stride, pad_amount=(pads[0], pads[1]))
    return net.add(op, value, weights, net.add_bias(value, weights))


def convolve_twice(net: RandomNet) -> str:
    """A depthwise convolution of what another one has made, with padding and a stride."""
    value = convolve(net, size=1)
    weights = net.add_weights(5, 5, 1, 32, axis=3)
    op = DepthWiseConv2d(stride=(2, 2), pad_amount=((2, 2), (2, 2)))
    return net.add(op, value, weights, net.add_bias(value, weights))


def convolve_points(net: RandomNet) -> str:
    """A factor for each channel, one of them larger than all others."""
    value = net.add_input(1, 4, 4, 192)
    real = net.random.uniform(-1, 1, (1, 1, 1, 192))
    real[..., 0] = 2.5
    weights = net.add_weights_of(real, axis=3)
    op = DepthWiseConv2d(stride=(1, 1), pad_amount=NONE)
    return net.add(op, value, weights, net.add_bias(value, weights))


def convolve_back(net: RandomNet) -> str:
    """A transposed convolution that doubles an image."""
    value = net.add_input(1, 8, 8, 32)
    weights = net.add_weights(2, 2, 32, 32, axis=3)
    op = TransposeConv2d(stride=(2, 2), pad_amount=NONE)
    return net.add(op, value, weights, net.add_bias(value, weights))


def connect(net: RandomNet, value: str | None = None) -> str:
    """A fully connected layer."""
    value = value or net.add_input(8, 96)
    weights = net.add_weights(40, net.graph.types[value].static_shape()[-1], axis=0)
    return net.add(FullyConnected(), value, weights, net.add_bias(value, weights, axis=0))


def multiply_matrices(net: RandomNet, *, is_symmetric: bool = False) -> str:
    """A product of two activations, as in attention; 16 bits want a second one that is symmetric."""
    if is_symmetric:
        return net.add(MatMul(), net.add_input(1, 24, 32), net.add_symmetric_input(1, 32, 24))
    return net.add(MatMul(), net.add_input(4, 24, 32), net.add_input(4, 32, 24))


def apply(net: RandomNet, *, op: Op, shape: tuple[int, ...] = IMAGE, spread: float = 0.0) -> str:
    """An op of one input."""
    return net.add(op, net.add_input(*shape, spread=spread))


def combine(net: RandomNet, *, op: Op, second: tuple[int, ...] = IMAGE) -> str:
    """An op of two inputs, the second of which may be broadcast."""
    return net.add(op, net.add_input(*IMAGE), net.add_input(*second))


def combine_constant(net: RandomNet, *, op: Op, shape: tuple[int, ...]) -> str:
    """An op of an input and a constant."""
    constant = net.add_constant(net.random.normal(0.5, 1, shape))
    return net.add(op, net.add_input(*IMAGE), constant)


def sum_few_channels(net: RandomNet) -> str:
    """A sum of two inputs of 8 channels."""
    return net.add(ElementWiseAdd(), net.add_input(1, 16, 16, 8), net.add_input(1, 16, 16, 8))


def square(net: RandomNet) -> str:
    """An input times itself."""
    value = net.add_input(*IMAGE)
    return net.add(ElementWiseMultiply(), value, value)


def divide(net: RandomNet) -> str:
    """A quotient by numbers that are not near zero."""
    value = net.add_input(*IMAGE)
    low = net.add(Sigmoid(), net.add_input(*IMAGE, spread=2.0))
    return net.add(ElementWiseDivide(), value, low)


def extract_roots(net: RandomNet) -> str:
    """The square root of numbers from 0 to 1."""
    return net.add(ElementWiseSquareRoot(), net.add(Sigmoid(), net.add_input(*IMAGE, spread=6.0)))


def activate(net: RandomNet, *, op: Op) -> str:
    """An activation behind a convolution."""
    return net.add(op, convolve(net, size=1))


def follow(net: RandomNet, *, op: Op, draw: Draw) -> str:
    """An activation behind something else."""
    return net.add(op, draw(net))


def gate_steeply(net: RandomNet, *, gain: float, share: float = 1.0) -> str:
    """HardSwish behind a convolution of large results; its encoding has so much of their range."""
    value = net.add_input(*IMAGE)
    weights = net.add_weights_of(net.random.normal(0, gain / np.sqrt(32), (1, 1, 32, 32)), axis=3)
    point = Conv2d(stride=(1, 1), pad_amount=NONE)
    name = net.add(HardSwish(), net.add(point, value, weights, net.add_bias(value, weights)))
    kind = net.graph.types[name]
    if kind.encoding is not None:
        scale = kind.encoding.scales[0] * share
        lowest = -min(round(0.4 / scale), (1 << kind.encoding.bitwidth) - 1)
        net.graph.types[name] = replace(
            kind, encoding=replace(kind.encoding, scales=(scale,), offsets=(lowest,))
        )
    return name


def gate_reshaped(net: RandomNet, *, op: Op) -> str:
    """An activation of a convolution's results, place after place."""
    return net.add(op, net.add(Reshape(shape=(1, 144, 32)), convolve(net, size=1)))


def combine_number(net: RandomNet, *, op: Op, number: float) -> str:
    """An op of an input and one number."""
    return net.add(op, net.add_input(*IMAGE), net.add_constant(np.full(1, number)))


def rectify(net: RandomNet) -> str:
    """A Relu that has the encoding of the convolution before it, numbers below zero included."""
    value = convolve(net, size=1)
    found = net.add(Relu(), value)
    net.graph.types[found] = net.graph.types[value]
    return found


def gate(net: RandomNet) -> str:
    """SiLU behind a convolution; of 12 x 12 places in 16 bits the library makes nonsense."""
    value = convolve(net, net.add_input(1, 16, 16, 32), size=1)
    return net.add(ElementWiseMultiply(), value, net.add(Sigmoid(), value))


def bend(net: RandomNet, *, is_behind: bool) -> str:
    """A slope for each channel."""
    value = convolve(net, size=1) if is_behind else net.add_input(*IMAGE)
    return net.add(Prelu(), value, net.add_constant(net.random.uniform(0.05, 0.4, 32)))


def bend_hard(net: RandomNet, *, is_behind: bool) -> str:
    """HardSigmoid, which has one encoding of each width on HTP."""
    op = ElementWiseNeuron(operation=NeuronOperation.HARD_SIGMOID, alpha=1 / 6, beta=0.5)
    name = net.add(op, convolve(net, size=1) if is_behind else net.add_input(*IMAGE, spread=4.0))
    kind = net.graph.types[name]
    if kind.encoding is not None:
        encoding = replace(kind.encoding, scales=(2.0**-kind.encoding.bitwidth,), offsets=(0,))
        net.graph.types[name] = replace(kind, encoding=encoding)
    return name


def excite(net: RandomNet) -> str:
    """Squeeze and excite."""
    value = net.add(Relu(), convolve(net, size=1))
    mean = net.add(ReduceMean(axes=(1, 2), keep_dims=True), value)
    weights = net.add_weights(1, 1, 32, 32, axis=3)
    point = Conv2d(stride=(1, 1), pad_amount=NONE)
    weight = net.add(Sigmoid(), net.add(point, mean, weights, net.add_bias(mean, weights)))
    return net.add(ElementWiseMultiply(), value, weight)


def pool(net: RandomNet, *, kind: type[PoolAvg2d | PoolMax2d], size: int, stride: int, pad: int = 0) -> str:
    """A pool; padding does not count."""
    op = kind(filter_size=(size, size), stride=(stride, stride), pad_amount=((pad, pad), (pad, pad)))
    return net.add(op, net.add_input(*IMAGE))


def pool_zeros(net: RandomNet, *, size: int) -> str:
    """An average pool whose padding counts as zeros."""
    pads = ((size // 2, size // 2),) * 2
    op = PoolAvg2d(filter_size=(size, size), stride=(1, 1), pad_amount=pads, count_pad_for_edges=True)
    return net.add(op, net.add_input(*IMAGE))


def join(net: RandomNet) -> str:
    """Two inputs side by side in a third encoding."""
    return net.add(Concat(axis=3), net.add_input(*IMAGE), net.add_input(*IMAGE))


def normalize(net: RandomNet, count: int = 96) -> str:
    """LayerNorm of rows."""
    gain, shift = (net.add_constant(net.random.normal(mean, 0.3, count)) for mean in (1, 0))
    return net.add(LayerNorm(axes=(2,)), net.add_input(1, 32, count), gain, shift)


def normalize_channels(net: RandomNet) -> str:
    """Batchnorm with weights of both signs."""
    value = net.add_input(*IMAGE)
    weights = net.add_constant(net.random.normal(0.2, 0.5, 32))
    return net.add(Batchnorm(), value, weights, net.add_number(net.random.normal(0, 0.4, 32)))


def combine_rectified(net: RandomNet, *, op: Op) -> str:
    """A Relu of an op of two inputs."""
    return net.add(Relu(), net.add(op, net.add_input(*IMAGE), net.add_input(*IMAGE)))


def scale_before(net: RandomNet, *, op: Op) -> str:
    """A function of an input times a number."""
    number = net.add_constant(net.random.uniform(0.3, 2, (1,)))
    return net.add(op, net.add(MULTIPLY, net.add_input(*IMAGE), number))


def share_scaled(net: RandomNet) -> str:
    """The shares of scores that were scaled, as in attention."""
    number = net.add_constant(net.random.uniform(0.3, 2, (1,)))
    return net.add(Softmax(), net.add(MULTIPLY, net.add_input(1, 3, 64, 50, spread=6.0), number))


def scale_between(net: RandomNet) -> str:
    """A number between two convolutions."""
    number = net.add_constant(net.random.uniform(0.3, 2, (1,)))
    return convolve(net, net.add(MULTIPLY, convolve(net, size=1), number), size=1)


ADD, SUBTRACT, MULTIPLY = ElementWiseAdd(), ElementWiseSubtract(), ElementWiseMultiply()
CHANNELS = (1, 1, 1, 32)
DEPTHWISE_HALVED = partial(convolve_oddly, size=(3, 3), stride=(2, 2))
DEPTHWISE_FLAT = partial(convolve_oddly, size=(3, 3), stride=(2, 1))
CASES: dict[str, Draw] = {
    "Conv2d, 3x3": convolve,
    "Conv2d, 3x3, stride 2": partial(convolve, stride=2),
    "Conv2d, 1x1": partial(convolve, size=1),
    "Conv2d, 5x5": partial(convolve, size=5),
    "Conv2d, 3x3, dilated": partial(convolve, dilation=2),
    "Conv2d, 3x3, dilated, stride 2": partial(convolve, dilation=2, stride=2),
    "Conv2d, 3x3, groups": partial(convolve, group=4),
    "Conv2d, 3 channels, stride 2": partial(convolve, given=3, stride=2),
    "Conv2d, 16x16 patches": convolve_patches,
    "Conv2d + Relu": partial(activate, op=Relu()),
    "Conv2d + Relu, same encoding": rectify,
    "Conv2d + Relu6": partial(activate, op=Relu6()),
    "Conv2d + HardSwish": partial(activate, op=HardSwish()),
    "Conv2d + HardSwish, steep": partial(gate_steeply, gain=12.0),
    "Conv2d + HardSwish, range too small": partial(gate_steeply, gain=1.0, share=0.1),
    "Conv2d, dilated + HardSwish": partial(follow, op=HardSwish(), draw=partial(convolve, dilation=2)),
    "Conv2d + Reshape + HardSwish": partial(gate_reshaped, op=HardSwish()),
    "Conv2d + Reshape + Relu": partial(gate_reshaped, op=Relu()),
    "Conv2d + Sigmoid": partial(activate, op=Sigmoid()),
    "Conv2d + HardSigmoid": partial(bend_hard, is_behind=True),
    "Conv2d + Tanh": partial(activate, op=Tanh()),
    "Conv2d + Gelu": partial(activate, op=Gelu()),
    "Conv2d + SiLU": gate,
    "Conv2d + Prelu": partial(bend, is_behind=True),
    "squeeze and excite": excite,
    "DepthWiseConv2d, 1x1": convolve_points,
    "DepthWiseConv2d, 3x3": convolve_depthwise,
    "DepthWiseConv2d, 3x3, stride 2": partial(convolve_depthwise, stride=2),
    "DepthWiseConv2d, 3x3, stride 2x1": partial(convolve_oddly, size=(3, 3), stride=(2, 1)),
    "DepthWiseConv2d, 2x2, stride 2": partial(convolve_oddly, size=(2, 2), stride=(2, 2)),
    "DepthWiseConv2d, 1x3, stride 2": partial(convolve_oddly, size=(1, 3), stride=(2, 2)),
    "DepthWiseConv2d, 3x3, stride 2, tiny channel": partial(
        convolve_oddly, size=(3, 3), stride=(2, 2), smallest=1e-4
    ),
    "DepthWiseConv2d, stride 2 + Relu": partial(follow, op=Relu(), draw=DEPTHWISE_HALVED),
    "DepthWiseConv2d, stride 2x1 + HardSwish": partial(follow, op=HardSwish(), draw=DEPTHWISE_FLAT),
    "DepthWiseConv2d, 5x5": partial(convolve_depthwise, size=5),
    "DepthWiseConv2d, 5x5, stride 2": partial(convolve_depthwise, size=5, stride=2),
    "DepthWiseConv2d, 5x5, stride 2, uneven": partial(convolve_uneven_channels, spread=8),
    "DepthWiseConv2d, 5x5, stride 2, very uneven": partial(convolve_uneven_channels, spread=12),
    "Conv2d + DepthWiseConv2d, 5x5, stride 2": convolve_twice,
    "TransposeConv2d, 2x2, stride 2": convolve_back,
    "FullyConnected": connect,
    "MatMul": multiply_matrices,
    "MatMul, symmetric": partial(multiply_matrices, is_symmetric=True),
    "Add": partial(combine, op=ADD),
    "Add, channels": partial(combine, op=ADD, second=CHANNELS),
    "Add, few channels": sum_few_channels,
    "Add, constant channels": partial(combine_constant, op=ADD, shape=(32,)),
    "Subtract": partial(combine, op=SUBTRACT),
    "Multiply": partial(combine, op=MULTIPLY),
    "Multiply, channels": partial(combine, op=MULTIPLY, second=CHANNELS),
    "Multiply, places": partial(combine, op=MULTIPLY, second=(1, 12, 12, 1)),
    "Multiply, one number": partial(combine_constant, op=MULTIPLY, shape=(1,)),
    "Multiply, negative number": partial(combine_number, op=MULTIPLY, number=-0.7),
    "Multiply, constant channels": partial(combine_constant, op=MULTIPLY, shape=(32,)),
    "Multiply, itself": square,
    "Multiply, one number + Gelu": partial(scale_before, op=Gelu()),
    "Conv2d + Multiply, one number + Conv2d": scale_between,
    "Add + Relu": partial(combine_rectified, op=ADD),
    "Subtract + Relu": partial(combine_rectified, op=SUBTRACT),
    "Multiply + Relu": partial(combine_rectified, op=MULTIPLY),
    "Divide": divide,
    "Divide, one number": partial(combine_number, op=ElementWiseDivide(), number=0.4),
    "Maximum": partial(combine, op=ElementWiseMaximum()),
    "Maximum, one number": partial(combine_number, op=ElementWiseMaximum(), number=-0.4),
    "PoolAvg2d, 2x2": partial(pool, kind=PoolAvg2d, size=2, stride=2),
    "PoolAvg2d, 3x3": partial(pool, kind=PoolAvg2d, size=3, stride=1),
    "PoolAvg2d, 3x3, padded": partial(pool, kind=PoolAvg2d, size=3, stride=1, pad=1),
    "PoolAvg2d, 3x3, stride 2, padded": partial(pool, kind=PoolAvg2d, size=3, stride=2, pad=1),
    "PoolAvg2d, 3x3, padded with zeros": partial(pool_zeros, size=3),
    "PoolAvg2d, 5x5, padded with zeros": partial(pool_zeros, size=5),
    "PoolAvg2d, whole image": partial(pool, kind=PoolAvg2d, size=12, stride=1),
    "PoolMax2d, 2x2": partial(pool, kind=PoolMax2d, size=2, stride=2),
    "ReduceMean, image": partial(apply, op=ReduceMean(axes=(1, 2), keep_dims=True)),
    "ReduceMean, 4x4": partial(apply, op=ReduceMean(axes=(1, 2), keep_dims=True), shape=(1, 4, 4, 512)),
    "ReduceMean, 5x3": partial(apply, op=ReduceMean(axes=(1, 2), keep_dims=True), shape=(1, 5, 3, 512)),
    "ReduceMean, channels": partial(apply, op=ReduceMean(axes=(3,), keep_dims=True)),
    "ReduceSum, channels": partial(apply, op=ReduceSum(axes=(3,), keep_dims=True)),
    "ResizeBilinear, x2": partial(apply, op=ResizeBilinear(size=(24, 24), half_pixel_centers=True)),
    "ResizeBilinear, x2, from the corner": partial(apply, op=ResizeBilinear(size=(24, 24))),
    "ResizeBilinear, x4, from the corner": partial(apply, op=ResizeBilinear(size=(48, 48))),
    "ResizeBilinear, x2, corners aligned": partial(
        apply, op=ResizeBilinear(size=(23, 23), align_corners=True)
    ),
    "ResizeBilinear, x1.5": partial(apply, op=ResizeBilinear(size=(18, 18), half_pixel_centers=True)),
    "ResizeNearestNeighbor, x2": partial(apply, op=ResizeNearestNeighbor(size=(24, 24))),
    "Relu": partial(apply, op=Relu()),
    "Relu6": partial(apply, op=Relu6(), spread=8.0),
    "HardSigmoid": partial(bend_hard, is_behind=False),
    "HardSwish": partial(apply, op=HardSwish(), spread=5.0),
    "Sigmoid": partial(apply, op=Sigmoid(), spread=6.0),
    "Tanh": partial(apply, op=Tanh(), spread=4.0),
    "Gelu": partial(apply, op=Gelu(), spread=5.0),
    "Elu": partial(apply, op=Elu(), spread=4.0),
    "Exp": partial(apply, op=ElementWiseExp(), spread=2.0),
    "SquareRoot": extract_roots,
    "Prelu": partial(bend, is_behind=False),
    "Softmax, 2": partial(apply, op=Softmax(), shape=(256, 2), spread=6.0),
    "Softmax, 4": partial(apply, op=Softmax(), shape=(256, 4), spread=6.0),
    "Softmax, 10": partial(apply, op=Softmax(), shape=(64, 10), spread=6.0),
    "Multiply, one number + Softmax, 50": share_scaled,
    "Softmax, 197": partial(apply, op=Softmax(), shape=(1, 3, 64, 197), spread=6.0),
    "Softmax, 1000": partial(apply, op=Softmax(), shape=(8, 1000), spread=6.0),
    "Batchnorm": normalize_channels,
    "LayerNorm": normalize,
    "LayerNorm, 400": partial(normalize, count=400),
    "Concat": join,
}


def draw(case: str, form: str, number: int) -> tuple[RandomNet, str]:
    """One of the networks of a case; the same number gives the same one, whatever other cases there are."""
    net = RandomNet(form, np.random.default_rng([number, crc32(case.encode()), len(form)]))
    return net, CASES[case](net)
