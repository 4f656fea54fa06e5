"""ATen ops that resample images."""

from collections.abc import Sequence
from typing import Any

from edgewright.frontends.pytorch.context import Context
from edgewright.frontends.pytorch.registry import aten
from edgewright.frontends.pytorch.values import Tensor


def _choose_scales(ctx: Context, x: Tensor, given: Sequence[float | None]) -> tuple[list[float], bool]:
    """The scale of each axis, and whether torch computes with it rather than with the sizes."""
    sizes = tuple(ctx.out[0].shape)[2:]
    real = [new / old for new, old in zip(sizes, x.shape[2:], strict=True)]
    chosen = [r if g is None else float(g) for g, r in zip(given, real, strict=True)]
    return chosen, any(abs(a - b) > 1e-9 for a, b in zip(chosen, real, strict=True))


def _emit_resize(
    ctx: Context, x: Tensor, mode: str, where: str, given: Sequence[float | None], **more: Any
) -> str:
    scales, is_by_scale = _choose_scales(ctx, x, given)
    attributes = {"mode": mode, "coordinate_transformation_mode": where, **more}
    if is_by_scale:
        import numpy as np

        factors = np.array([1.0, 1.0, *scales], np.float32)
        return ctx.add("Resize", x, None, factors, **attributes)
    return ctx.add("Resize", x, None, None, ctx.ints(ctx.out[0].shape), **attributes)


def _read_scales(x: Tensor, rest: Sequence[Any]) -> list[float | None]:
    """Scale factors as they come: one list in the vec overloads, one argument an axis in the others."""
    rank = x.rank - 2
    if rest and isinstance(rest[-1], list | tuple):
        return list(rest[-1])
    numbers = [item for item in rest if item is None or isinstance(item, float)]
    return [*numbers, *[None] * rank][:rank]


def _choose_given(x: Tensor, is_aligned: bool, rest: Sequence[Any]) -> list[float | None]:
    """Scale factors as far as torch computes with them: corners that are aligned are aligned by sizes."""
    return [None] * (x.rank - 2) if is_aligned else _read_scales(x, rest)


@aten("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def _nearest(ctx: Context, x: Tensor, size: Any, *rest: Any) -> str:
    given = _read_scales(x, rest)
    return _emit_resize(ctx, x, "nearest", "asymmetric", given, nearest_mode="floor")


@aten("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
def _nearest_exact(ctx: Context, x: Tensor, size: Any, *rest: Any) -> str:
    given = _read_scales(x, rest)
    return _emit_resize(ctx, x, "nearest", "half_pixel", given, nearest_mode="round_prefer_ceil")


@aten("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def _linear(ctx: Context, x: Tensor, size: Any, is_aligned: bool, *rest: Any) -> str:
    return _emit_resize(ctx, x, "linear", _name_coordinates(is_aligned), _choose_given(x, is_aligned, rest))


@aten("upsample_bicubic2d")
def _cubic(ctx: Context, x: Tensor, size: Any, is_aligned: bool, *rest: Any) -> str:
    given = _choose_given(x, is_aligned, rest)
    return _emit_resize(ctx, x, "cubic", _name_coordinates(is_aligned), given, cubic_coeff_a=-0.75)


@aten("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
def _smooth(ctx: Context, x: Tensor, size: Any, is_aligned: bool, *rest: Any) -> str:
    """Each axis is a product with a matrix: what torch makes of the unit vectors."""
    kernel = getattr(ctx.torch.ops.aten, ctx.op.removeprefix("aten::").split(".")[0]).default
    given = _read_scales(x, rest)
    (rows, columns), (high, wide) = x.shape[2:], tuple(ctx.out[0].shape)[2:]
    down = kernel(ctx.torch.eye(rows)[None, None], [high, rows], is_aligned, given[0], None)[0, 0]
    across = kernel(ctx.torch.eye(columns)[None, None], [columns, wide], is_aligned, None, given[1])[0, 0]
    parts = [ctx.constant(matrix.to(x.dtype), f"{ctx.writer.label}/rows") for matrix in (down, across)]
    return ctx.add("MatMul", ctx.add("MatMul", parts[0], x), parts[1])


def _name_coordinates(is_aligned: bool) -> str:
    return "align_corners" if is_aligned else "pytorch_half_pixel"


@aten("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sample(ctx: Context, x: Tensor, grid: Tensor, mode: int, padding: int, is_aligned: bool) -> str:
    return ctx.add(
        "GridSample",
        x,
        grid,
        mode=("linear", "nearest", "cubic")[mode],
        padding_mode=("zeros", "border", "reflection")[padding],
        align_corners=int(is_aligned),
    )


@aten("affine_grid_generator")
def _affine_grid(ctx: Context, theta: Tensor, size: Sequence[int], is_aligned: bool) -> str:
    return ctx.add("AffineGrid", theta, ctx.ints(size), align_corners=int(is_aligned))
