"""Lets timm and torchvision be imported beside a torch of another build, such as one without CUDA."""

import sys

import torch

__all__ = ["declare_vision_ops"]

# Declarations live as long as this does.
VISION_OPS = torch.library.Library("torchvision", "FRAGMENT")


def declare_vision_ops() -> None:
    """Declares the ops that torchvision misses where its own are not loaded; none of its kernels is used."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for name in ("nms", "qnms"):
            VISION_OPS.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
