"""Resizing for the engine."""

from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.writer import Writer
from edgewright.ir.dims import Dim, Shape
from edgewright.ir.graph import Node
from edgewright.ops.resize import Resize, ResizeBilinear, ResizeNearestNeighbor, Resizing
from edgewright.ops.resize_axis import Interpolation

# Networks that enlarge images of open size do it by factors such as 2, 3, 4 and 8.
LARGEST_FACTOR = 32


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
    return all(_is_at_least(size, length) for length, size in zip(lengths, sizes, strict=True))


def _is_at_least(size: Dim, length: Dim) -> bool:
    """Whether that is so for every number of the symbols: a multiple, where there are any."""
    if isinstance(size, int) and isinstance(length, int):
        return size >= length
    return any(size == length * factor for factor in range(1, LARGEST_FACTOR + 1))
