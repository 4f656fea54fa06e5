"""Pooling for the engine."""

from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.graph import Node
from edgewright.ops.pool import PoolMax2d

__all__: list[str] = []


@lowers(PoolMax2d)
def max_pool(w: Writer, op: PoolMax2d, inputs: list[str], node: Node) -> str:
    """Channel first and back."""
    rank = w.type(node.outputs[0]).rank
    result = w.node(
        "MaxPool",
        w.channel_first(inputs[0], rank),
        kernel_shape=list(op.filter_size),
        strides=list(op.stride),
        pads=[before for before, _ in op.pad_amount] + [after for _, after in op.pad_amount],
        ceil_mode=int(op.rounding_mode),
    )
    return w.channel_last(result, rank)
