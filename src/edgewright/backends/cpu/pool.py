"""Pooling for the engine."""

from math import prod

from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.windows import flatten_pads, write_padding
from edgewright.backends.cpu.writer import Writer
from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ops.pool import L2Pool2d, Pool, PoolAvg2d, PoolAvg3d, PoolMax2d, PoolMax3d


@lowers(PoolMax2d, PoolMax3d)
def max_pool(w: Writer, op: Pool, inputs: list[str], node: Node) -> str:
    """Channel first and back."""
    image = w.type(node.inputs[0])
    first = w.channel_first(inputs[0], image.rank)
    x, padding = write_padding(w, first, image, op.geometry(), op.filter_size, float("-inf"))
    result = w.node(
        "MaxPool",
        x,
        kernel_shape=list(op.filter_size),
        strides=list(op.stride),
        ceil_mode=int(op.is_ceil()),
        **padding,
    )
    return w.channel_last(result, image.rank)


@lowers(PoolAvg2d, PoolAvg3d)
def average_pool(w: Writer, op: PoolAvg2d, inputs: list[str], node: Node) -> str:
    """Channel first and back; one window over everything is what the engine does fastest."""
    _need_numbers(op)
    x = w.type(node.inputs[0])
    rank = x.rank
    if op.filter_size == x.shape[1:-1] and not any(side for pair in op.pad_amount for side in pair):
        return w.channel_last(w.node("GlobalAveragePool", w.channel_first(inputs[0], rank)), rank)
    result = w.node(
        "AveragePool",
        w.channel_first(inputs[0], rank),
        kernel_shape=list(op.filter_size),
        strides=list(op.stride),
        pads=flatten_pads(op.pad_amount),
        count_include_pad=int(op.count_pad_for_edges),
        ceil_mode=int(op.is_ceil()),
    )
    return w.channel_last(result, rank)


@lowers(L2Pool2d)
def l2_pool(w: Writer, op: L2Pool2d, inputs: list[str], node: Node) -> str:
    """The engine's p-norm sums where QNN takes the mean: without padding they differ by a factor."""
    if any(side != 0 for pair in op.pad_amount for side in pair):
        raise NotOnEngine
    x = w.type(node.inputs[0])
    norm = w.node(
        "LpPool",
        w.channel_first(inputs[0], x.rank),
        kernel_shape=list(op.filter_size),
        strides=list(op.stride),
        p=2,
    )
    factor = w.scalar(prod(op.filter_size) ** -0.5, x.dtype if x.dtype.is_float else DType.FLOAT_32)
    return w.channel_last(w.node("Mul", norm, factor), x.rank)


def _need_numbers(op: Pool) -> None:
    if any(not isinstance(side, int) for pair in op.pad_amount for side in pair):
        raise NotOnEngine
