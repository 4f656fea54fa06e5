"""Resizing for the engine."""

from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.dims import Shape
from edgewright.ir.graph import Node
from edgewright.ops.resize import Resize, ResizeBilinear, ResizeNearestNeighbor, Resizing
from edgewright.ops.resize_axis import Interpolation

__all__: list[str] = []


@lowers(Resize, ResizeBilinear, ResizeNearestNeighbor)
def resize(w: Writer, op: Resizing, inputs: list[str], node: Node) -> str:
    """Channel first and back; sizes are given, not scales."""
    x, rule = w.type(node.inputs[0]), op.rule()
    # The engine moves transposes across a Resize, and then has no cubic one that shrinks channel-last images.
    if rule.interpolation == Interpolation.CUBIC and not _grows(x.shape[1:-1], op.size):
        raise NotOnEngine
    # All sizes, not those of some axes: the engine moves transposes across a Resize and forgets its axes.
    sizes = w.ints((x.shape[0], x.shape[-1], *op.size))
    result = w.node(
        "Resize",
        w.channel_first(inputs[0], x.rank),
        "",
        "",
        sizes,
        mode=rule.interpolation.name.lower(),
        coordinate_transformation_mode=rule.transformation.name.lower(),
        nearest_mode=rule.nearest.name.lower(),
        cubic_coeff_a=rule.cubic,
        exclude_outside=int(rule.exclude_outside),
    )
    return w.channel_last(result, x.rank)


def _grows(lengths: Shape, sizes: Shape) -> bool:
    return all(
        isinstance(n, int) and isinstance(m, int) and m >= n for n, m in zip(lengths, sizes, strict=True)
    )
