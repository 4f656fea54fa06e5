"""Geometry of TensorFlow's sliding windows: strides, dilations and padding by name or by number."""

from collections.abc import Sequence

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ir.dims import Dim, ceil_div, maximum
from edgewright.ops.windows import Geometry, Pair, Pairs

PADDINGS = ("SAME", "VALID", "EXPLICIT")


def read_geometry(node: SourceNode, sizes: Sequence[Dim], window: Pair, group: int = 1) -> Geometry:
    """How windows slide over data of the given spatial sizes."""
    axes = len(window)
    stride, dilation = read_spatial(node, "strides", axes), read_spatial(node, "dilations", axes)
    mode = node.choice("padding", "VALID", PADDINGS)
    pads: Pairs = ((0, 0),) * axes
    if mode == "EXPLICIT":
        pads = _read_explicit_pads(node, axes)
    elif mode == "SAME":
        reach = [(size - 1) * rate + 1 for size, rate in zip(window, dilation, strict=True)]
        pads = measure_same_pads(sizes, reach, stride)
    return Geometry(stride, pads, dilation, group)


def measure_same_pads(sizes: Sequence[Dim], reach: Sequence[int], stride: Sequence[int]) -> Pairs:
    """As much padding as one output for each stride needs; the odd one goes behind."""
    pads = []
    for size, window, step in zip(sizes, reach, stride, strict=True):
        if step == 1:
            total: Dim = window - 1
        else:
            total = maximum((ceil_div(size, step) - 1) * step + window - size, 0)
        pads.append((total // 2, total - total // 2))
    return tuple(pads)


def read_spatial(node: SourceNode, name: str, axes: int) -> Pair:
    """The entries of an attribute for the spatial axes; those for batch and channels must be 1."""
    found = node.attributes.ints(name) or (1,) * (axes + 2)
    if len(found) != axes + 2 or min(found) < 1:
        raise BadInput(
            f"attribute '{name}' is {list(found)}, expected {axes + 2} numbers of 1 or more",
            node.where,
            do="export the model again",
        )
    first = 2 if node.is_channel_first else 1
    inner = found[first : first + axes]
    if sorted(found) != sorted((1, 1, *inner)):
        raise ShapeMismatch(
            f"attribute '{name}' is {list(found)}, expected 1 for batch and channels",
            node.where,
            do="move only along spatial axes",
        )
    return inner


def _read_explicit_pads(node: SourceNode, axes: int) -> Pairs:
    found = node.attributes.ints("explicit_paddings")
    if len(found) != 2 * (axes + 2) or min(found) < 0:
        raise BadInput(
            f"explicit_paddings are {list(found)}, expected {2 * (axes + 2)} numbers of 0 or more",
            node.where,
            do="export the model again",
        )
    pairs = tuple(zip(found[::2], found[1::2], strict=True))
    first = 2 if node.is_channel_first else 1
    return pairs[first : first + axes]
