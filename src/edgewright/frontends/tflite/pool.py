"""TFLite pooling."""

from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.frontends.tflite.windows import read_geometry
from edgewright.ops.pool import L2Pool2d, Pool, PoolAvg2d, PoolMax2d

_POOLS: dict[str, type[Pool]] = {
    "AVERAGE_POOL_2D": PoolAvg2d,
    "L2_POOL_2D": L2Pool2d,
    "MAX_POOL_2D": PoolMax2d,
}


@tflite_op(*_POOLS)
def pool(ctx: Context, node: SourceNode) -> str:
    """Padding does not count in any of them."""
    (x,) = node.need(0)
    size = (node.option("filter_height"), node.option("filter_width"))
    found = read_geometry(ctx, node, x, size)
    op = _POOLS[node.op](filter_size=size, stride=found.stride, pad_amount=found.pads)
    return ctx.activated(node, ctx.emit(op, x))
