"""Lets an image input come in another colour encoding than the one the network was trained on."""

from dataclasses import dataclass, replace

import numpy as np

from edgewright.core.errors import UsageError, Where
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import ReluMinMax
from edgewright.ops.conv import Conv2d
from edgewright.ops.gather import Gather
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.rearrange_slice import StridedSlice
from edgewright.ops.resize import ResizeNearestNeighbor
from edgewright.passes.layout.orders import order_channel_first
from edgewright.passes.target.retype_io import insert_after_input

# Where red, green and blue stand in a pixel.
PACKED = {"rgb": (0, 1, 2), "bgr": (2, 1, 0), "rgba": (0, 1, 2), "argb32": (1, 2, 3)}
WIDTHS = {"rgb": 3, "bgr": 3, "rgba": 4, "argb32": 4}
# The order of chroma in a pair: U then V, or V then U.
PLANAR = {"nv12": (1, 2), "nv21": (2, 1)}
NO_IMAGE = ("time_series", "other")
WANTED = ("bgr", "rgb")
# ITU-R BT.601, studio range (luma 16 to 235, chroma 16 to 240), which cameras and video decoders write:
# QNN publishes no matrix of its own.
LUMA = 255 / 219
CHROMA = 255 / 224
RED, BLUE = 0.299, 0.114
GREEN = 1 - RED - BLUE
BRIGHTEST = 255.0
MIX = Conv2d(stride=(1, 1), pad_amount=((0, 0), (0, 0)))


@dataclass(frozen=True)
class Colours:
    """The colour encoding that an input comes in, and the one that the network wants."""

    have: str
    want: str = "bgr"

    @property
    def is_same(self) -> bool:
        """Whether nothing is to be done; what is no image has no colours."""
        return self.have == self.want or (self.have in NO_IMAGE and self.want == "bgr")


@dataclass(frozen=True)
class _Image:
    """An input of the network as an image."""

    name: str
    axis: int
    type: TensorType

    @property
    def size(self) -> tuple[int, int]:
        _, *rest = self.type.static_shape()
        del rest[self.axis - 1]
        return rest[0], rest[1]


def recolour_input(graph: Graph, name: str, colours: Colours, layout: str | None = None) -> None:
    """The input takes colours as they come; ops behind it make those that the network was trained on.

    Args:
        graph: laid out as it shall be.
        name: of an input with three channels.
        colours: what comes and what is wanted.
        layout: of the input, where it is known; found by its shape otherwise.
    """
    if colours.is_same:
        return
    if colours.want not in WANTED or colours.have in NO_IMAGE:
        raise UsageError(
            f"the colour encoding {colours.have} cannot become {colours.want}",
            Where(tensor=name),
            do="rgb, bgr, rgba, argb32, nv12 and nv21 become rgb or bgr; time_series and other stay",
        )
    image = _read_image(graph, name, layout)
    if colours.have in PLANAR:
        _from_planes(graph, image, colours)
    else:
        _reorder_channels(graph, image, colours)
    graph.sort()


def _read_image(graph: Graph, name: str, layout: str | None) -> _Image:
    kind = graph.types[name]
    shape = kind.static_shape()
    axes = [axis for axis in (1, 3) if len(shape) == 4 and shape[axis] == 3]
    if layout is not None and "C" in layout:
        axes = [axis for axis in axes if layout.index("C") == axis]
    if not axes:
        raise UsageError(
            f"a colour encoding is given for an input of the shape {list(shape)}"
            f"{f' and the layout {layout}' if layout else ''}, expected an image with three channels",
            Where(tensor=name),
            do="leave the colour encoding of this input out, or give 'other'",
        )
    return _Image(name, axes[0], kind)


def _reorder_channels(graph: Graph, image: _Image, colours: Colours) -> None:
    """Picks channels: no arithmetic, so it holds for every datatype."""
    places = np.asarray(PACKED[colours.have], np.int32)[list(PACKED[colours.want])]
    shape = list(image.type.shape)
    shape[image.axis] = WIDTHS[colours.have]
    picks = graph.add_constant(graph.fresh_name(f"{image.name}_channels"), places.astype(np.int32))
    outer = replace(image.type, shape=tuple(shape))
    insert_after_input(graph, image.name, outer, Gather(axis=image.axis), picks)


def _from_planes(graph: Graph, image: _Image, colours: Colours) -> None:
    """Luma and chroma to colours: the planes apart, chroma doubled, a matrix for each pixel."""
    (height, width), batch = image.size, image.type.static_shape()[0]
    _check_planes(image, colours, height, width)
    luma, whole = height * width, height * width * 3 // 2
    flat = replace(image.type, shape=(batch, whole), layout=None)
    # Turned to channels last for QNN's convolution, and back where the network reads channels first.
    back = Transpose(perm=order_channel_first(4) if image.axis == 1 else (0, 1, 2, 3))
    last = insert_after_input(graph, image.name, flat, back)
    bright = _cut_plane(graph, image, (0, luma), (batch, height, width, 1))
    pairs = _cut_plane(graph, image, (luma, whole), (batch, height // 2, width // 2, 2))
    doubled = _step(graph, image, ResizeNearestNeighbor(size=(height, width)), pairs)
    pixels = _step(graph, image, Concat(axis=3), bright, doubled)
    mixed = _step(graph, image, MIX, pixels, *_add_weights(graph, image, colours))
    graph.set_input(last, 0, _step(graph, image, ReluMinMax(min_value=0.0, max_value=BRIGHTEST), mixed))


def _cut_plane(graph: Graph, image: _Image, part: tuple[int, int], shape: tuple[int, ...]) -> str:
    cut = _step(graph, image, StridedSlice(ranges=((0, shape[0], 1), (*part, 1))), image.name)
    return _step(graph, image, Reshape(shape=shape), cut)


def _step(graph: Graph, image: _Image, op: Op, *values: str) -> str:
    fresh = graph.fresh_name(image.name)
    graph.add(Node(graph.fresh_name(image.name), op, list(values), [fresh], source=image.name))
    return fresh


def _add_weights(graph: Graph, image: _Image, colours: Colours) -> list[str]:
    matrix, bias = _compute_matrix(colours)
    named = (("matrix", matrix.reshape(1, 1, 3, 3)), ("shift", bias))
    numbers = image.type.dtype.numpy
    return [graph.add_constant(graph.fresh_name(f"{image.name}_{w}"), a.astype(numbers)) for w, a in named]


def _check_planes(image: _Image, colours: Colours, height: int, width: int) -> None:
    if image.type.dtype not in {DType.FLOAT_32, DType.FLOAT_16}:
        raise UsageError(
            f"{colours.have} is given for an input of {image.type.dtype.name}, expected one of real numbers",
            Where(tensor=image.name),
            do="give rgb or bgr, and turn the frames outside of the model",
        )
    if height % 2 or width % 2:
        raise UsageError(
            f"{colours.have} is given for an image {height} high and {width} wide, expected even numbers",
            Where(tensor=image.name),
            do="each pair of chroma stands for two by two pixels: give the input another shape",
        )


def _compute_matrix(colours: Colours) -> tuple[Array, Array]:
    """What a pixel (luma, first chroma, second chroma) is multiplied by, and what is added."""
    from_yuv = np.zeros((3, 3))
    from_yuv[0, :] = LUMA
    from_yuv[1, 1:] = -2 * CHROMA * BLUE * (1 - BLUE) / GREEN, 2 * CHROMA * (1 - BLUE)
    from_yuv[2, :2] = 2 * CHROMA * (1 - RED), -2 * CHROMA * RED * (1 - RED) / GREEN
    bias = -np.asarray([16.0, 128.0, 128.0]) @ from_yuv
    order = list(PACKED[colours.want])
    rows = [0, *PLANAR[colours.have]]
    return from_yuv[rows][:, order], bias[order]
