"""TensorFlow's resizing of images."""

from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to, read_number
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ops.resize import Resize, ResizeBilinear, ResizeNearestNeighbor
from edgewright.ops.resize_axis import Interpolation, Transformation
from edgewright.ops.resize_sample import (
    CropAndResize,
    CropMode,
    ExtractGlimpse,
    GlimpseNoise,
    ImageProjectionTransform,
)

# TensorFlow's cubic filter where the centres of pixels are halves.
KEYS = -0.5


@tf_op("ResizeBilinear")
def bilinear(ctx: Context, node: SourceNode) -> str:
    """The result is real, whatever the image."""
    x = cast_to(ctx, node.need(0)[0], DType.FLOAT_32)
    op = ResizeBilinear(
        size=_read_size(ctx, node),
        align_corners=node.attributes.flag("align_corners"),
        half_pixel_centers=node.attributes.flag("half_pixel_centers"),
    )
    return ctx.emit(op, x)


@tf_op("ResizeNearestNeighbor")
def nearest(ctx: Context, node: SourceNode) -> str:
    """Pixels as they are."""
    op = ResizeNearestNeighbor(
        size=_read_size(ctx, node),
        align_corners=node.attributes.flag("align_corners"),
        half_pixel_centers=node.attributes.flag("half_pixel_centers"),
    )
    return ctx.emit(op, node.inputs[0])


@tf_op("ResizeBicubic")
def cubic(ctx: Context, node: SourceNode) -> str:
    """Only with half-pixel centres is it QNN's."""
    if not node.attributes.flag("half_pixel_centers") or node.attributes.flag("align_corners"):
        raise ctx.refuse(node, "centres of pixels are not halves", do="export it with half_pixel_centers")
    op = Resize(
        size=_read_size(ctx, node),
        transformation_mode=Transformation.HALF_PIXEL,
        interpolation_mode=Interpolation.CUBIC,
        cubic_coeff=KEYS,
        exclude_outside=True,
    )
    return ctx.emit(op, cast_to(ctx, node.need(0)[0], DType.FLOAT_32))


@tf_op("CropAndResize")
def crop_and_resize(ctx: Context, node: SourceNode) -> str:
    """Boxes of images, all in one size."""
    x, boxes, images, size = node.need(0, 1, 2, 3)
    modes = {"bilinear": CropMode.BILINEAR, "nearest": CropMode.NEAREST_NEIGHBOR}
    op = CropAndResize(
        resize_dims=_pair(ctx, node, size),
        interpolation_mode=modes[node.choice("method", "bilinear", tuple(modes))],
        extrapolation_value=node.attributes.real("extrapolation_value"),
    )
    return ctx.emit(op, cast_to(ctx, x, DType.FLOAT_32), boxes, images)


@tf_op("ImageProjectiveTransformV2", "ImageProjectiveTransformV3")
def projection(ctx: Context, node: SourceNode) -> str:
    """Zeros where a place lies outside; the result has the size of the image."""
    x, matrix, size = node.need(0, 1, 2)
    modes = {"BILINEAR": CropMode.BILINEAR, "NEAREST": CropMode.NEAREST_NEIGHBOR}
    if ctx.read_dims(size) != ctx.shape(x)[1:3]:
        raise ctx.refuse(node, "the result has another size than the image")
    if node.attributes.text("fill_mode", "CONSTANT") != "CONSTANT" or _read_filling(ctx, node):
        raise ctx.refuse(node, "what lies outside is not filled with zeros")
    mode = modes[node.choice("interpolation", "BILINEAR", tuple(modes))]
    return ctx.emit(ImageProjectionTransform(interpolation_mode=mode), x, matrix)


@tf_op("ExtractGlimpse", "ExtractGlimpseV2")
def glimpse(ctx: Context, node: SourceNode) -> str:
    """A window of each image around an offset."""
    x, size, offsets = node.need(0, 1, 2)
    kinds = {kind.name.lower(): kind for kind in GlimpseNoise}
    op = ExtractGlimpse(
        size=_pair(ctx, node, size),
        centered=node.attributes.flag("centered", default=True),
        normalized=node.attributes.flag("normalized", default=True),
        noise=kinds[node.choice("noise", "uniform", tuple(kinds))],
    )
    return ctx.emit(op, x, offsets)


def _read_filling(ctx: Context, node: SourceNode) -> float:
    return float(read_number(ctx, node.inputs[3])) if len(node.inputs) > 3 else 0.0


def _read_size(ctx: Context, node: SourceNode) -> tuple[int, ...]:
    x, size = node.need(0, 1)
    if ctx.rank(x) != 4:
        raise BadInput(f"{ctx.type(x)} is given, expected images of rank 4", node.where, do="reshape it")
    return _pair(ctx, node, size)


def _pair(ctx: Context, node: SourceNode, size: str) -> tuple[int, int]:
    found = ctx.read_dims(size)
    if len(found) != 2:
        raise BadInput(f"size has {len(found)} numbers, expected 2", node.where, do="export the model again")
    return found[0], found[1]  # type: ignore[return-value]
