"""Resizing for the engine."""

from edgewright.backends.cpu.registry import lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.graph import Node
from edgewright.ops.resize import Resize, ResizeBilinear, ResizeNearestNeighbor, Resizing

__all__: list[str] = []


@lowers(Resize, ResizeBilinear, ResizeNearestNeighbor)
def resize(w: Writer, op: Resizing, inputs: list[str], node: Node) -> str:
    """Channel first and back; the sizes of the spatial axes are given, not scales."""
    rank, rule = w.type(node.inputs[0]).rank, op.rule()
    result = w.node(
        "Resize",
        w.channel_first(inputs[0], rank),
        "",
        "",
        w.ints(op.size),
        axes=list(range(2, rank)),
        mode=rule.interpolation.name.lower(),
        coordinate_transformation_mode=rule.transformation.name.lower(),
        nearest_mode=rule.nearest.name.lower(),
        cubic_coeff_a=rule.cubic,
        exclude_outside=int(rule.exclude_outside),
    )
    return w.channel_last(result, rank)
