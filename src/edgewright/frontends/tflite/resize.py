"""TFLite resizing."""

from edgewright.core.errors import BadInput
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ops.resize import ResizeBilinear, ResizeNearestNeighbor

_KINDS: dict[str, type[ResizeBilinear] | type[ResizeNearestNeighbor]] = {
    "RESIZE_BILINEAR": ResizeBilinear,
    "RESIZE_NEAREST_NEIGHBOR": ResizeNearestNeighbor,
}


@tflite_op(*_KINDS)
def resize(ctx: Context, node: SourceNode) -> str:
    """Height and width as the second input says."""
    x, sizes = node.need(0, 1)
    wanted = ctx.read_ints(sizes)
    if len(wanted) != 2:
        raise BadInput(f"sizes are {list(wanted)}, expected height and width", node.where)
    op = _KINDS[node.op](
        size=wanted,
        align_corners=node.option("align_corners"),
        half_pixel_centers=node.option("half_pixel_centers"),
    )
    return ctx.emit(op, x)
