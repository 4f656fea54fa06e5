"""TFLite activations."""

from edgewright.core.numbers import DType
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import one_to_one, tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ops.activation import (
    GELU_TANH_CUBE,
    GELU_TANH_SLOPE,
    Elu,
    Gelu,
    HardSwish,
    Prelu,
    Relu,
    Relu1,
    Relu6,
    ReluMinMax,
    Sigmoid,
    Tanh,
)
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply

one_to_one(
    {
        "ELU": Elu(),
        "HARD_SWISH": HardSwish(),
        "LOGISTIC": Sigmoid(),
        "PRELU": Prelu(),
        "RELU": Relu(),
        "RELU6": Relu6(),
        "RELU_0_TO_1": ReluMinMax(min_value=0.0, max_value=1.0),
        "RELU_N1_TO_1": Relu1(),
        "TANH": Tanh(),
    }
)


@tflite_op("LEAKY_RELU")
def leaky_relu(ctx: Context, node: SourceNode) -> str:
    """A slope for what is negative."""
    (x,) = node.need(0)
    return ctx.emit(Prelu(), x, ctx.add_scalar(node.option("alpha"), DType.FLOAT_32, rank=1))


@tflite_op("GELU")
def gelu(ctx: Context, node: SourceNode) -> str:
    """The exact form, or the approximation by a hyperbolic tangent."""
    (x,) = node.need(0)
    if not node.option("approximate"):
        return ctx.emit(Gelu(), x)
    square = ctx.emit(ElementWiseMultiply(), x, x)
    bent = ctx.emit(ElementWiseMultiply(), square, ctx.add_scalar(GELU_TANH_CUBE, x))
    inner = ctx.emit(ElementWiseAdd(), bent, ctx.add_scalar(GELU_TANH_SLOPE, x))
    return ctx.emit(ElementWiseMultiply(), x, ctx.emit(Sigmoid(), ctx.emit(ElementWiseMultiply(), x, inner)))
