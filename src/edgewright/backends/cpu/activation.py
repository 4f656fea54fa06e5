"""Activation functions for the engine."""

from edgewright.backends.cpu.registry import NotOnEngine, lowers, one_to_one
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.graph import Node
from edgewright.ops import activation
from edgewright.ops.elementwise import Unary

# From here on a softplus in single precision is its argument, threshold or not.
LINEAR_FROM = 20.0

one_to_one(
    {
        activation.Gelu: "Gelu",
        activation.HardSwish: "HardSwish",
        activation.Relu: "Relu",
        activation.Sigmoid: "Sigmoid",
        activation.Tanh: "Tanh",
    }
)


@lowers(activation.Relu1, activation.Relu6, activation.ReluMinMax)
def clip(w: Writer, op: Unary, inputs: list[str], node: Node) -> str:
    """Bounds as constants of the input's datatype."""
    # Crossed bounds are written as they are: the engine, too, lets the upper one win.
    low, high = (op.min_value, op.max_value) if isinstance(op, activation.ReluMinMax) else op.value_range()
    dtype = w.type(node.outputs[0]).dtype
    return w.node("Clip", inputs[0], w.scalar(low, dtype), w.scalar(high, dtype))


@lowers(activation.Elu)
def elu(w: Writer, op: activation.Elu, inputs: list[str], node: Node) -> str:
    """Elu."""
    return w.node("Elu", inputs[0], alpha=float(op.alpha))


@lowers(activation.HardSigmoid)
def hard_sigmoid(w: Writer, op: activation.HardSigmoid, inputs: list[str], node: Node) -> str:
    """HardSigmoid."""
    return w.node("HardSigmoid", inputs[0], alpha=float(op.alpha), beta=float(op.beta))


@lowers(activation.Prelu)
def prelu(w: Writer, op: activation.Prelu, inputs: list[str], node: Node) -> str:
    """A single slope that is known is an attribute."""
    slope = w.graph.constants.get(node.inputs[1])
    if slope is not None and slope.size == 1 and slope.ndim <= w.type(node.inputs[0]).rank:
        encoding = w.graph.types[node.inputs[1]].encoding
        real = slope if encoding is None else encoding.decode(slope)
        return w.node("LeakyRelu", inputs[0], alpha=float(real.reshape(())))
    if w.type(node.inputs[0]).shape != w.type(node.outputs[0]).shape:
        raise NotOnEngine
    return w.node("PRelu", *inputs)


@lowers(activation.ElementWiseSoftplus)
def softplus(w: Writer, op: activation.ElementWiseSoftplus, inputs: list[str], node: Node) -> str:
    """Scaled and scaled back where beta is not 1."""
    if 0 <= op.threshold < LINEAR_FROM:
        raise NotOnEngine
    if op.beta == 1.0:
        return w.node("Softplus", inputs[0])
    beta = w.scalar(op.beta, w.type(node.outputs[0]).dtype)
    return w.node("Div", w.node("Softplus", w.node("Mul", inputs[0], beta)), beta)
