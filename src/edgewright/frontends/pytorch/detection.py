"""Ops of torchvision: declared where torchvision itself is not at hand, so that programs with them load."""

import importlib
from contextlib import suppress
from typing import Any

from edgewright.config.spelling import spell_option
from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import torch_op, whole_op
from edgewright.frontends.pytorch.values import Tensor

# As torchvision declares them.
NMS = "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
ROI_ALIGN = (
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor"
)
# What torch forgets with the object that declared it.
_declared: list[Any] = []


def declare_torchvision(torch: Any) -> None:
    """Makes torchvision's ops known to torch; nothing of them can run unless torchvision is installed."""
    if _declared or _has_nms(torch):
        return
    # A wheel for another build of torch fails in many ways.
    with suppress(Exception):
        importlib.import_module("torchvision")
    if _has_nms(torch):
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in (NMS, ROI_ALIGN):
        with suppress(RuntimeError):
            library.define(schema)
    with suppress(RuntimeError):
        library.impl("roi_align", _shape_of_regions, "Meta")
    _declared.append(library)


def _has_nms(torch: Any) -> bool:
    return hasattr(torch.ops.torchvision, "nms") and hasattr(torch.ops.torchvision, "roi_align")


def _shape_of_regions(x: Any, rois: Any, _scale: float, height: int, width: int, *_: Any) -> Any:
    return x.new_empty((rois.shape[0], x.shape[1], height, width))


@whole_op("torchvision::nms")
def _nms(tracer: Any, *_: Any) -> Tensor:
    raise tracer.ctx.refused(
        "how many boxes it keeps depends on the input's data",
        do=f"cut the graph before it with {spell_option('outputs')} for the boxes and for the scores, and "
        "suppress boxes after the run",
    )


@torch_op("torchvision::roi_align")
def _roi_align(ctx: Context, x: Tensor, rois: Tensor, *settings: Any) -> str:
    """Regions are rows of an image's number and two corners."""
    scale, height, width, ratio, is_aligned = settings
    rows = rois.shape[0]
    images = ctx.reshape(ctx.cast(ctx.slice(rois, 1, 0, 1), ctx.torch.int64), [rows])
    return ctx.add(
        "RoiAlign",
        x,
        ctx.slice(rois, 1, 1, 5),
        images,
        mode="avg",
        output_height=int(height),
        output_width=int(width),
        # torchvision: 0 and below ask for as many as fit.
        sampling_ratio=max(int(ratio), 0),
        spatial_scale=float(scale),
        coordinate_transformation_mode="half_pixel" if is_aligned else "output_half_pixel",
    )
