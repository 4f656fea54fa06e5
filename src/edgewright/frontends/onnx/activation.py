"""ONNX activation functions."""

import math

from edgewright.frontends._common.functions import add, multiply, square_plus
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import MICROSOFT, one_to_one, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops import activation
from edgewright.ops import elementwise as binary
from edgewright.ops.elementwise import Unary
from edgewright.ops.elementwise_generic import ElementWiseNeuron, NeuronOperation
from edgewright.ops.elementwise_unary import ElementWiseAbs

# Above it softplus is its argument in single precision: it changes nothing. QNN's default of -1 means none.
SOFTPLUS_THRESHOLD = 20.0
SINGLE = 32

one_to_one(
    {
        "HardSwish": activation.HardSwish(),
        "Relu": activation.Relu(),
        "Sigmoid": activation.Sigmoid(),
        "Softplus": activation.ElementWiseSoftplus(threshold=SOFTPLUS_THRESHOLD),
        "Tanh": activation.Tanh(),
    }
)
one_to_one({"Gelu": activation.Gelu()}, domain=MICROSOFT)


@onnx_op("PRelu")
def prelu(ctx: Context, node: SourceNode) -> str:
    """Before opset 7 a vector of slopes is one for each channel, later it broadcasts as any other."""
    x, slope = node.inputs
    if node.version < 7 and ctx.rank(slope) == 1 and ctx.rank(x) > 1:
        slope = ctx.reshape(slope, (*ctx.shape(slope), *[1] * (ctx.rank(x) - 2)))
    return ctx.emit(activation.Prelu(), x, slope)


@onnx_op("Elu")
def elu(ctx: Context, node: SourceNode) -> str:
    """Elu."""
    return ctx.emit(activation.Elu(alpha=node.attr("alpha", 1.0)), node.inputs[0])


@onnx_op("Celu")
def celu(ctx: Context, node: SourceNode) -> str:
    """An Elu whose argument and result are scaled."""
    alpha = node.attr("alpha", 1.0)
    if alpha == 0:
        raise ctx.refuse(node, "alpha is 0, expected another number")
    return multiply(ctx, ctx.emit(activation.Elu(), multiply(ctx, node.inputs[0], 1 / alpha)), alpha)


@onnx_op("Selu")
def selu(ctx: Context, node: SourceNode) -> str:
    """A scaled Elu."""
    result = ctx.emit(activation.Elu(alpha=node.attr("alpha", activation.SELU_ALPHA)), node.inputs[0])
    return multiply(ctx, result, node.attr("gamma", activation.SELU_SCALE))


@onnx_op("LeakyRelu")
def leaky_relu(ctx: Context, node: SourceNode) -> str:
    """A Prelu of one slope."""
    x = node.inputs[0]
    return ctx.emit(
        activation.Prelu(), x, ctx.add_scalar(node.attr("alpha", 0.01), x, rank=min(ctx.rank(x), 1))
    )


@onnx_op("ThresholdedRelu")
def thresholded_relu(ctx: Context, node: SourceNode) -> str:
    """What is above alpha, else 0."""
    x = node.inputs[0]
    is_above = ctx.emit(binary.ElementWiseGreater(), x, ctx.add_scalar(node.attr("alpha", 1.0), x))
    return ctx.emit(binary.ElementWiseSelect(), is_above, x, ctx.add_scalar(0, x))


@onnx_op("Softsign")
def softsign(ctx: Context, node: SourceNode) -> str:
    """X / (1 + |x|)."""
    x = node.inputs[0]
    return ctx.emit(binary.ElementWiseDivide(), x, add(ctx, ctx.emit(ElementWiseAbs(), x), 1))


@onnx_op("Mish")
def mish(ctx: Context, node: SourceNode) -> str:
    """X * tanh(softplus(x))."""
    x = node.inputs[0]
    soft = ctx.emit(activation.ElementWiseSoftplus(threshold=SOFTPLUS_THRESHOLD), x)
    return ctx.emit(binary.ElementWiseMultiply(), x, ctx.emit(activation.Tanh(), soft))


@onnx_op("HardSigmoid")
def hard_sigmoid(ctx: Context, node: SourceNode) -> str:
    """A line, cut at 0 and 1."""
    op = ElementWiseNeuron(
        operation=NeuronOperation.HARD_SIGMOID, alpha=node.attr("alpha", 0.2), beta=node.attr("beta", 0.5)
    )
    return ctx.emit(op, node.inputs[0])


@onnx_op("Shrink")
def shrink(ctx: Context, node: SourceNode) -> str:
    """Nothing within lambd of 0; further out, nearer to 0 by the bias."""
    x = node.inputs[0]
    lambd, bias = node.attr("lambd", 0.5), node.attr("bias", 0.0)
    zero = ctx.add_scalar(0, x)
    is_above = ctx.emit(binary.ElementWiseGreater(), x, ctx.add_scalar(lambd, x))
    is_below = ctx.emit(binary.ElementWiseLess(), x, ctx.add_scalar(-lambd, x))
    upper = ctx.emit(binary.ElementWiseSelect(), is_above, add(ctx, x, -bias), zero)
    return ctx.emit(binary.ElementWiseSelect(), is_below, add(ctx, x, bias), upper)


@onnx_op("Swish")
def swish(ctx: Context, node: SourceNode) -> str:
    """X * sigmoid(alpha * x)."""
    return _emit_swish(ctx, node.inputs[0], node.attr("alpha", 1.0))


@onnx_op("QuickGelu", domain=MICROSOFT)
def quick_gelu(ctx: Context, node: SourceNode) -> str:
    """X * sigmoid(1.702 * x)."""
    return _emit_swish(ctx, node.inputs[0], node.attr("alpha", 1.702))


@onnx_op("Gelu")
def gelu(ctx: Context, node: SourceNode) -> str:
    """The exact form, or the approximation by a hyperbolic tangent."""
    mode = node.attr("approximate", "none")
    if mode not in {"none", "tanh"}:
        raise ctx.refuse(node, f"approximate is '{mode}', expected 'none' or 'tanh'")
    return (
        emit_gelu_tanh(ctx, node.inputs[0]) if mode == "tanh" else ctx.emit(activation.Gelu(), node.inputs[0])
    )


@onnx_op("BiasGelu", domain=MICROSOFT)
def bias_gelu(ctx: Context, node: SourceNode) -> str:
    """Exact, after a bias."""
    return ctx.emit(activation.Gelu(), _add_bias(ctx, node))


@onnx_op("FastGelu", domain=MICROSOFT)
def fast_gelu(ctx: Context, node: SourceNode) -> str:
    """Approximated, after a bias that may be left out."""
    return emit_gelu_tanh(ctx, _add_bias(ctx, node))


@onnx_op("Clip")
def clip_attributes(ctx: Context, node: SourceNode) -> str:
    """Bounds as attributes."""
    low, high = (node.attr(name) for name in ("min", "max"))
    x = node.inputs[0]
    return _emit_clip(ctx, x, *("" if bound is None else ctx.add_scalar(bound, x) for bound in (low, high)))


@onnx_op("Clip", since=11)
def clip(ctx: Context, node: SourceNode) -> str:
    """Bounds as inputs, each of one element."""
    return _emit_clip(ctx, node.inputs[0], node.input(1), node.input(2))


def emit_gelu_tanh(ctx: Context, x: str) -> str:
    """Gelu by a hyperbolic tangent, which QNN does not have as an op."""
    bent = multiply(ctx, x, math.sqrt(activation.GELU_TANH_CUBE))
    inner = square_plus(ctx, bent, activation.GELU_TANH_SLOPE)
    argument = ctx.emit(binary.ElementWiseMultiply(), x, inner)
    return ctx.emit(binary.ElementWiseMultiply(), x, ctx.emit(activation.Sigmoid(), argument))


def _emit_swish(ctx: Context, x: str, alpha: float) -> str:
    share = ctx.emit(activation.Sigmoid(), multiply(ctx, x, alpha))
    return ctx.emit(binary.ElementWiseMultiply(), x, share)


def _add_bias(ctx: Context, node: SourceNode) -> str:
    x, bias = node.inputs[0], node.input(1)
    return ctx.emit(binary.ElementWiseAdd(), x, bias) if bias else x


def _emit_clip(ctx: Context, x: str, low: str, high: str) -> str:
    """One op where the bounds are known numbers, else a maximum and a minimum."""
    op = _clip_op(ctx, x, low, high)
    if op is not None:
        return ctx.emit(op, x)
    for bound, step in ((low, binary.ElementWiseMaximum()), (high, binary.ElementWiseMinimum())):
        if bound:
            x = ctx.emit(step, x, _take_single(ctx, bound))
    return x


def _clip_op(ctx: Context, x: str, low: str, high: str) -> Unary | None:
    """Bounds are stored in single precision: wider values keep theirs as tensors."""
    dtype = ctx.dtype(x)
    bounds = [_number(ctx, bound) for bound in (low, high)]
    if not dtype.is_float or dtype.bits > SINGLE or bounds[0] is None:
        return None
    if bounds[1] is None:
        return activation.Relu() if bounds[0] == 0 and not high else None
    if bounds == [0.0, 6.0]:
        return activation.Relu6()
    return activation.ReluMinMax(min_value=bounds[0], max_value=bounds[1])


def _number(ctx: Context, bound: str) -> float | None:
    """The bound where it is known."""
    found = ctx.find_array(bound) if bound else None
    return None if found is None or found.size != 1 else float(found.reshape(()))


def _take_single(ctx: Context, bound: str) -> str:
    """A bound is a scalar; some exporters write a vector of one element."""
    return ctx.reshape(bound, ()) if ctx.type(bound).count == 1 else bound
