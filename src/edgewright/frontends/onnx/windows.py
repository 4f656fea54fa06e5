"""Geometry of ONNX's sliding windows: strides, dilations, padding (explicit or automatic)."""

from collections.abc import Sequence
from dataclasses import replace

from edgewright.core.errors import BadInput
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.dims import Dim
from edgewright.ops.windows import Geometry, Pair, Pairs, make_same_pads

MOST_AXES = 8


def read_ints(node: SourceNode, name: str, default: Sequence[int] | None = None) -> Pair:
    """An attribute that is a short list of integers."""
    value = node.attr(name, default) if default is not None else node.need(name)
    if not isinstance(value, list | tuple) or len(value) > 2 * MOST_AXES:
        raise BadInput(
            f"attribute '{name}' is {value!r}, expected a short list of integers",
            node.where,
            do="export the model again",
        )
    if not all(isinstance(item, int) for item in value):
        raise BadInput(
            f"attribute '{name}' is {value!r}, expected integers", node.where, do="export the model again"
        )
    return tuple(value)


def read_int(node: SourceNode, name: str, default: int) -> int:
    """An attribute that is one integer."""
    value = node.attr(name, default)
    if not isinstance(value, int):
        raise BadInput(
            f"attribute '{name}' is {value!r}, expected an integer", node.where, do="export the model again"
        )
    return value


def read_text(node: SourceNode, name: str, default: str, choices: Sequence[str]) -> str:
    """An attribute that is one of a few words."""
    value = node.attr(name, default)
    if value not in choices:
        raise BadInput(
            f"attribute '{name}' is '{value}', expected one of {list(choices)}",
            node.where,
            do="export the model again",
        )
    return str(value)


def make_geometry(ctx: Context, node: SourceNode, size: Sequence[int]) -> Geometry:
    """Strides, dilations and padding of windows of the given size over the first input."""
    ones = [1] * len(size)
    stride, dilation = read_ints(node, "strides", ones), read_ints(node, "dilations", ones)
    spatial = ctx.shape(node.inputs[0])[2:]
    fits = len(size) == len(stride) == len(dilation) == len(spatial)
    if not fits or min((*size, *stride, *dilation), default=0) < 1:
        raise BadInput(
            f"windows {list(size)} with strides {list(stride)} and dilations {list(dilation)} do not fit "
            f"the {len(spatial)} spatial axes of {ctx.type(node.inputs[0])}",
            node.where,
            do="give one positive number for each spatial axis",
        )
    reach = [(n - 1) * step + 1 for n, step in zip(size, dilation, strict=True)]
    return Geometry(stride, _read_pads(node, spatial, reach, stride), dilation, read_int(node, "group", 1))


def lift_geometry(geometry: Geometry) -> Geometry:
    """A 1-D geometry as a 2-D one whose height is 1."""
    if len(geometry.stride) != 1:
        return geometry
    return replace(
        geometry,
        stride=(1, *geometry.stride),
        dilation=(1, *geometry.dilation),
        pads=((0, 0), *geometry.pads),
    )


def add_height(ctx: Context, value: str) -> str:
    """[a, b, W] as [a, b, 1, W]; anything of another rank as it is."""
    if ctx.rank(value) != 3:
        return value
    shape = ctx.shape(value)
    return ctx.reshape(value, (*shape[:2], 1, shape[2]))


def drop_height(ctx: Context, value: str, rank: int) -> str:
    """[a, b, 1, W] as [a, b, W] where that rank is wanted."""
    if rank != 3:
        return value
    shape = ctx.shape(value)
    return ctx.reshape(value, (*shape[:2], shape[3]))


def _read_pads(
    node: SourceNode, spatial: Sequence[Dim], reach: Sequence[int], stride: Sequence[int]
) -> Pairs:
    mode = read_text(node, "auto_pad", "NOTSET", ("NOTSET", "", "VALID", "SAME_UPPER", "SAME_LOWER"))
    axes = len(spatial)
    if mode == "VALID":
        return ((0, 0),) * axes
    if mode in {"NOTSET", ""}:
        pads = read_ints(node, "pads", [0] * (2 * axes))
        if len(pads) != 2 * axes or min(pads) < 0:
            raise BadInput(
                f"pads {list(pads)}, expected {2 * axes} numbers of at least 0",
                node.where,
                do="export the model again",
            )
        return tuple(zip(pads[:axes], pads[axes:], strict=True))
    return make_same_pads(spatial, reach, stride, is_upper=mode == "SAME_UPPER")
