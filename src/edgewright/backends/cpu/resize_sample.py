"""Sampling, folding and region pooling for the engine."""

import numpy as np

from edgewright.backends.cpu.empties import refuse_empty
from edgewright.backends.cpu.registry import NotOnEngine, lowers
from edgewright.backends.cpu.windows import flatten_pads
from edgewright.backends.cpu.writer import ENGINE_CODES, Writer
from edgewright.core.numbers import DType
from edgewright.ir.graph import Node
from edgewright.ops.conv_patches import Col2Im
from edgewright.ops.resize_sample import CropAndResize, CropMode, GridSample, SampleMode

MICROSOFT = "com.microsoft"


@lowers(GridSample)
def grid_sample(w: Writer, op: GridSample, inputs: list[str], node: Node) -> str:
    """Channel first and back; the grid is the same."""
    rank = w.type(node.inputs[0]).rank
    result = w.node(
        "GridSample",
        w.channel_first(inputs[0], rank),
        inputs[1],
        align_corners=int(op.align_corners),
        mode="linear" if op.mode == SampleMode.BILINEAR else "nearest",
        padding_mode=op.padding_mode.name.lower(),
    )
    return w.channel_last(result, rank)


@lowers(CropAndResize)
def crop_and_resize(w: Writer, op: CropAndResize, inputs: list[str], node: Node) -> str:
    """Channel first and back."""
    if any(w.type(value).dtype != DType.FLOAT_32 for value in node.inputs[:2]):
        raise NotOnEngine
    result = w.node(
        "CropAndResize",
        w.channel_first(refuse_empty(w, inputs[0], w.type(node.inputs[0])), 4),
        inputs[1],
        w.node("Cast", inputs[2], to=ENGINE_CODES[DType.INT_32]),
        w.constant(np.asarray(op.resize_dims, np.int32)),
        domain=MICROSOFT,
        mode="bilinear" if op.interpolation_mode == CropMode.BILINEAR else "nearest",
        extrapolation_value=float(op.extrapolation_value),
    )
    return w.channel_last(result, 4)


@lowers(Col2Im)
def col2im(w: Writer, op: Col2Im, inputs: list[str], node: Node) -> str:
    """Channel first and back."""
    del node
    result = w.node(
        "Col2Im",
        inputs[0],
        w.ints(op.size),
        w.ints(op.kernel_size),
        strides=list(op.stride),
        pads=flatten_pads(op.pad_amount),
        dilations=list(op.dilation),
    )
    return w.channel_last(result, 4)
