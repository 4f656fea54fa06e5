"""TensorFlow's activations."""

from edgewright.frontends._common.functions import add, multiply
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import one_to_one, tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ops import activation
from edgewright.ops.elementwise import ElementWiseDivide, ElementWiseMaximum, ElementWiseMinimum
from edgewright.ops.elementwise_unary import ElementWiseAbs
from edgewright.ops.reduce_softmax import LogSoftmax, Softmax

one_to_one(
    {
        "Elu": activation.Elu(),
        "Relu": activation.Relu(),
        "Relu6": activation.Relu6(),
        "Sigmoid": activation.Sigmoid(),
        "Softplus": activation.ElementWiseSoftplus(),
        "Tanh": activation.Tanh(),
    }
)


@tf_op("LeakyRelu")
def leaky_relu(ctx: Context, node: SourceNode) -> str:
    """A slope for negative numbers, the same for all channels."""
    (x,) = node.need(0)
    return ctx.emit(activation.Prelu(), x, ctx.add_scalar(node.attributes.real("alpha", 0.2), x))


@tf_op("Selu")
def selu(ctx: Context, node: SourceNode) -> str:
    """An Elu of fixed form, scaled."""
    bent = ctx.emit(activation.Elu(alpha=activation.SELU_ALPHA), *node.need(0))
    return multiply(ctx, bent, activation.SELU_SCALE)


@tf_op("Softsign")
def softsign(ctx: Context, node: SourceNode) -> str:
    """A number over its size plus 1."""
    (x,) = node.need(0)
    return ctx.emit(ElementWiseDivide(), x, add(ctx, ctx.emit(ElementWiseAbs(), x), 1))


@tf_op("ClipByValue")
def clip(ctx: Context, node: SourceNode) -> str:
    """Between two bounds."""
    x, low, high = node.need(0, 1, 2)
    return ctx.emit(ElementWiseMaximum(), ctx.emit(ElementWiseMinimum(), x, high), low)


@tf_op("Softmax")
def softmax(ctx: Context, node: SourceNode) -> str:
    """Along the last axis."""
    (x,) = node.need(0)
    return ctx.emit(Softmax(axis=ctx.rank(x) - 1), x)


@tf_op("LogSoftmax")
def log_softmax(ctx: Context, node: SourceNode) -> str:
    """Along the last axis."""
    (x,) = node.need(0)
    return ctx.emit(LogSoftmax(axis=ctx.rank(x) - 1), x)
