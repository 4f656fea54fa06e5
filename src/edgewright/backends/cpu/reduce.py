"""Reductions, rankings and the softmax family for the engine."""

from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.writer import ENGINE_CODES, Writer
from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ir.op import Op
from edgewright.ops import reduce, reduce_order, reduce_softmax

_ENGINE_NAMES: dict[type[Op], str] = {
    reduce.ReduceMax: "ReduceMax",
    reduce.ReduceMean: "ReduceMean",
    reduce.ReduceMin: "ReduceMin",
    reduce.ReduceProd: "ReduceProd",
    reduce.ReduceSum: "ReduceSum",
    reduce.ReduceSumSquare: "ReduceSumSquare",
    reduce_order.Argmax: "ArgMax",
    reduce_order.Argmin: "ArgMin",
}


@lowers(
    reduce.ReduceMax,
    reduce.ReduceMean,
    reduce.ReduceMin,
    reduce.ReduceProd,
    reduce.ReduceSum,
    reduce.ReduceSumSquare,
)
def reduction(w: Writer, op: reduce.Reduction, inputs: list[str], node: Node) -> str:
    """The engine disagrees about reductions of nothing, over no axes, and about means of integers."""
    x = w.type(node.inputs[0])
    is_odd = 0 in x.shape or not op.axes
    if is_odd or (isinstance(op, reduce.ReduceMean) and not x.dtype.is_float):
        raise NotOnEngine
    return w.node(_ENGINE_NAMES[type(op)], inputs[0], w.ints(op.axes), keepdims=int(op.keep_dims))


@lowers(reduce.Moments)
def moments(w: Writer, op: reduce.Moments, inputs: list[str], node: Node) -> list[str]:
    """The mean, and the mean of squared distances from it."""
    axes = w.ints(op.axes)
    mean = w.node("ReduceMean", inputs[0], axes, keepdims=1)
    distance = w.node("Sub", inputs[0], mean)
    variance = w.node("ReduceMean", w.node("Mul", distance, distance), axes, keepdims=int(op.keep_dims))
    return [mean if op.keep_dims else w.node("Squeeze", mean, axes), variance]


@lowers(reduce_order.Argmax, reduce_order.Argmin)
def arg(w: Writer, op: reduce_order.Argmax, inputs: list[str], node: Node) -> str:
    """The engine counts in 64 bits."""
    found = w.node(_ENGINE_NAMES[type(op)], inputs[0], axis=op.axis, keepdims=int(op.keep_dims))
    return w.node("Cast", found, to=ENGINE_CODES[op.dtype])


@lowers(reduce_order.TopK)
def top_k(w: Writer, op: reduce_order.TopK, inputs: list[str], node: Node) -> list[str]:
    """The engine counts in 64 bits."""
    values, places = w.node_all(
        "TopK", inputs[0], w.ints((op.k,)), outputs=2, axis=-1, largest=int(op.largest), sorted=1
    )
    return [values, w.node("Cast", places, to=ENGINE_CODES[op.dtype])]


@lowers(reduce_order.CumulativeSum)
def cumulative_sum(w: Writer, op: reduce_order.CumulativeSum, inputs: list[str], node: Node) -> str:
    """CumSum."""
    return w.node(
        "CumSum",
        inputs[0],
        w.scalar(op.axis, DType.INT_64),
        exclusive=int(op.exclusive),
        reverse=int(op.reverse),
    )


@lowers(reduce_softmax.Softmax, reduce_softmax.LogSoftmax)
def softmax(w: Writer, op: reduce_softmax.Softmax, inputs: list[str], node: Node) -> str:
    """Scaled first where beta is not 1."""
    x = w.type(node.inputs[0])
    scaled = inputs[0] if op.beta == 1.0 else w.node("Mul", inputs[0], w.scalar(op.beta, x.dtype))
    is_logarithm, axis = isinstance(op, reduce_softmax.LogSoftmax), op.axis_of(x.rank)
    if x.shape[axis] == 1:
        # The engine's kernel for integers has 0 where there is nothing beside a number.
        nothing = w.node("Sub", scaled, scaled)
        return nothing if is_logarithm else w.node("Exp", nothing)
    # The engine moves another axis to the end and back inside the op: written out, transposes may cancel.
    order = (*(place for place in range(x.rank) if place != axis), axis)
    back = tuple(order.index(place) for place in range(x.rank))
    kind = "LogSoftmax" if is_logarithm else "Softmax"
    return w.transpose(w.node(kind, w.transpose(scaled, order), axis=x.rank - 1), back)


@lowers(reduce_softmax.MaskedSoftmax)
def masked_softmax(w: Writer, op: reduce_softmax.MaskedSoftmax, inputs: list[str], node: Node) -> str:
    """The mask is added before."""
    if op.mode != reduce_softmax.MaskMode.UNCOMPRESSED:
        raise NotOnEngine
    mask = w.node("Unsqueeze", inputs[1], w.ints((1, 2)))
    return w.node("Softmax", w.node("Add", inputs[0], mask), axis=3)
