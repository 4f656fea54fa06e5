"""One small program for each way that an ATen op is called: a function of tensors and its inputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it
from torch import nn

__all__ = ["CASES", "CORE", "Case"]


@dataclass(frozen=True)
class Case:
    """A function of tensors; a module where it has weights."""

    name: str
    function: Any
    inputs: Sequence[torch.Tensor]


def _x(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _ints(low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(1))


CASES: list[Case] = []


def _case(name: str, function: Callable[..., Any] | nn.Module, *inputs: torch.Tensor) -> None:
    CASES.append(Case(name, function, inputs))


_image = _x(2, 6, 9, 10)
_rows = _x(3, 4, 5)
_pos = _rows.abs() + 0.5
_small = _rows.clamp(-0.9, 0.9)

for _name in (
    *(
        "exp",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "atan",
        "erf",
        "erfc",
        "abs",
        "neg",
        "sign",
    ),
    *(
        "sigmoid",
        "relu",
        "floor",
        "ceil",
        "round",
        "trunc",
        "frac",
        "expm1",
        "exp2",
        "square",
        "isnan",
        "isinf",
    ),
    *("isfinite", "logical_not", "positive", "sgn", "signbit"),
):
    _case(_name, getattr(torch, _name), _rows)
for _name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"):
    _case(_name, getattr(torch, _name), _pos)
for _name in ("asin", "acos", "atanh", "logit"):
    _case(_name, getattr(torch, _name), _small / 2 + 0.3 if _name == "logit" else _small)
_case("acosh", torch.acosh, _pos + 1)
_case("exp_of_ints", torch.exp, _ints(0, 4, 3, 4))
for _name in (
    *("add", "sub", "mul", "div", "maximum", "minimum", "fmax", "fmin", "atan2", "fmod", "remainder"),
    *(
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "logical_and",
        "logical_or",
        "logical_xor",
        "floor_divide",
        "hypot",
    ),
):
    _case(f"{_name}_broadcast", getattr(torch, _name), _rows, _x(5, seed=1).abs() + 0.3)
for _name in (
    "add",
    "sub",
    "mul",
    "floor_divide",
    "remainder",
    "fmod",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
):
    _case(f"{_name}_ints", getattr(torch, _name), _ints(-20, 20, 3, 4), _ints(1, 7, 3, 4))
_case("add_alpha", lambda a, b: torch.add(a, b, alpha=0.5), _rows, _rows)
_case("add_int_and_float", lambda a, b: a + b, _ints(0, 9, 3, 4), _x(3, 4))
_case("rsub", lambda a: 2.5 - a, _rows)
_case("rdiv", lambda a: 2.5 / a, _pos)
_case("div_ints", lambda a, b: a / b, _ints(0, 9, 3, 4), _ints(1, 9, 3, 4))
_case("div_floor", lambda a, b: torch.div(a, b, rounding_mode="floor"), _rows, _pos)
_case("div_trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc"), _rows, _pos)
_case("pow_scalar", lambda a: a**3, _rows)
_case("pow_half", lambda a: a**0.5, _pos)
_case("pow_tensor", torch.pow, _pos, _rows)
_case("scalar_pow", lambda a: 2.0**a, _rows)
_case("clamp", lambda a: a.clamp(-0.5, 0.7), _rows)
_case("clamp_min", lambda a: a.clamp(min=0.1), _rows)
_case("clamp_tensor", lambda a, b: torch.clamp(a, min=b), _rows, _x(5, seed=3))
_case("where", torch.where, _rows > 0, _rows, -_rows)
_case("where_scalar", lambda a: torch.where(a > 0, a, 0.5), _rows)
_case("masked_fill", lambda a: a.masked_fill(a > 0.3, -7.0), _rows)
_case("lerp", lambda a, b: torch.lerp(a, b, 0.3), _rows, -_rows)
_case("addcmul", lambda a, b: torch.addcmul(a, b, b, value=0.2), _rows, _pos)
_case("addcdiv", lambda a, b: torch.addcdiv(a, a, b, value=0.2), _rows, _pos)
_case("bool_ops", lambda a: ((a > 0) & (a < 1)) | ~(a > -1), _rows)
_case("cast", lambda a: (a * 3).to(torch.int32).float() + a.double().float(), _rows)
_case("nan_to_num", lambda a: torch.nan_to_num(a / a.round()), _rows)
_case("reshaped_in_place", lambda a: (a * 2).transpose_(0, 1).unsqueeze_(0).squeeze_(0) + 1, _rows)
_case("in_place", lambda a: (a * 2).add_(1).mul_(3).relu_(), _rows)

for _name, _module in {
    "relu6": nn.ReLU6(),
    "hardtanh": nn.Hardtanh(-0.4, 0.6),
    "leaky_relu": nn.LeakyReLU(0.2),
    "elu": nn.ELU(0.7),
    "celu": nn.CELU(0.7),
    "selu": nn.SELU(),
    "gelu": nn.GELU(),
    "gelu_tanh": nn.GELU("tanh"),
    "silu": nn.SiLU(),
    "mish": nn.Mish(),
    "softplus": nn.Softplus(),
    "softplus_beta": nn.Softplus(2.0, 10),
    "hardsigmoid": nn.Hardsigmoid(),
    "hardswish": nn.Hardswish(),
    "threshold": nn.Threshold(0.1, -3.0),
    "softshrink": nn.Softshrink(0.3),
    "hardshrink": nn.Hardshrink(0.3),
    "logsigmoid": nn.LogSigmoid(),
    "softsign": nn.Softsign(),
    "tanhshrink": nn.Tanhshrink(),
    "softmax": nn.Softmax(1),
    "log_softmax": nn.LogSoftmax(-1),
    "softmin": nn.Softmin(1),
    "rrelu": nn.RReLU().eval(),
}.items():
    _case(_name, _module, _rows)
_case("prelu", nn.PReLU(6), _image)
_case("glu", nn.GLU(1), _rows)

for _name in ("sum", "mean", "amax", "amin", "logsumexp", "argmax", "argmin", "any", "all", "count_nonzero"):
    if _name != "logsumexp":
        _case(
            f"{_name}_all", lambda a, n=_name: getattr(torch, n)(a > 0 if n in {"any", "all"} else a), _rows
        )
    _case(f"{_name}_dim", lambda a, n=_name: getattr(torch, n)(a > 0 if n in {"any", "all"} else a, 1), _rows)
_case("sum_dims_keep", lambda a: a.sum((0, 2), keepdim=True), _rows)
_case("sum_of_bools", lambda a: (a > 0).sum(1), _rows)
_case("mean_dims", lambda a: a.mean((2, 3)), _image)
_case("max_dim", lambda a: a.max(1), _rows)
_case("min_dim_keep", lambda a: a.min(2, keepdim=True), _rows)
_case("max_all", torch.max, _rows)
_case("min_all", torch.min, _rows)
_case("prod", lambda a: a.prod(1), _rows)
_case("var", lambda a: a.var(1), _rows)
_case("std_unbiased_off", lambda a: a.std((1, 2), unbiased=False, keepdim=True), _rows)
_case("var_mean", lambda a: torch.var_mean(a, 2), _rows)
_case("std_all", lambda a: a.std(), _rows)
_case("norm_2", lambda a: a.norm(dim=1), _rows)
_case("norm_1", lambda a: torch.linalg.vector_norm(a, 1, dim=(0, 1)), _rows)
_case("norm_3", lambda a: torch.linalg.vector_norm(a, 3, dim=1, keepdim=True), _rows)
_case("norm_inf", lambda a: torch.linalg.vector_norm(a, float("inf"), dim=1), _rows)
_case("norm_all", lambda a: a.norm(), _rows)
_case("normalize", lambda a: F.normalize(a, dim=1), _rows)
_case("cumsum", lambda a: a.cumsum(1), _rows)
_case("cumprod", lambda a: a.cumprod(2), _rows)
_case("topk", lambda a: a.topk(3, dim=1), _rows)
_case("topk_smallest", lambda a: a.topk(2, dim=2, largest=False), _rows)
_case("sort", lambda a: a.sort(1), _rows)
_case("argsort", lambda a: a.argsort(2, descending=True), _rows)
_case("median_dim", lambda a: a.median(1), _rows)
_case("kthvalue", lambda a: a.kthvalue(2, 2), _rows)
_case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, dim=1), _rows, _pos)
_case("pairwise_distance", F.pairwise_distance, _x(4, 6), _x(4, 6, seed=2))
_case("diff", lambda a: a.diff(dim=1), _rows)
_case("cummax", lambda a: a.cumsum(1).amax(1), _rows)

_case("view", lambda a: a.view(3, -1), _rows)
_case("reshape", lambda a: a.transpose(0, 1).reshape(-1, 3), _rows)
_case("flatten", lambda a: a.flatten(1), _image)
_case("unflatten", lambda a: a.unflatten(1, (2, 3)), _image)
_case("squeeze", lambda a: a[:, :1].squeeze(1) + a[:1, :1].squeeze(), _rows)
_case("unsqueeze", lambda a: a.unsqueeze(-1).unsqueeze(0), _rows)
_case("permute", lambda a: a.permute(2, 0, 1), _rows)
_case("movedim", lambda a: a.movedim(0, 2), _rows)
_case("expand", lambda a: a[:1].expand(6, -1, -1), _rows)
_case("repeat", lambda a: a.repeat(2, 1, 3), _rows)
_case("repeat_more_dims", lambda a: a.repeat(2, 1, 1, 2), _rows)
_case("tile", lambda a: a.tile(2), _rows)
_case("repeat_interleave", lambda a: a.repeat_interleave(2, dim=1), _rows)
_case("cat", lambda a, b: torch.cat([a, b, a], 1), _rows, _pos)
_case("stack", lambda a, b: torch.stack([a, b], -1), _rows, _pos)
_case("split", lambda a: a.split(2, dim=2), _rows)
_case("split_sizes", lambda a: a.split([1, 3], dim=1), _rows)
_case("chunk", lambda a: a.chunk(3, dim=2), _rows)
_case("tensor_split", lambda a: a.tensor_split(2, dim=2), _rows)
_case("unbind", lambda a: a.unbind(1), _rows)
_case("slice", lambda a: a[:, 1:-1, ::2], _rows)
_case("select", lambda a: a[1, -1], _rows)
_case("narrow", lambda a: a.narrow(1, 1, 2), _rows)
_case("flip", lambda a: a.flip((0, 2)), _rows)
_case("roll", lambda a: a.roll((1, -2), (0, 2)), _rows)
_case("roll_flat", lambda a: a.roll(3), _rows)
_case("rot90", lambda a: a.rot90(1, (1, 2)), _rows)
_case("pad_constant", lambda a: F.pad(a, (1, 2, 0, 3), value=0.5), _image)
_case("pad_reflect", lambda a: F.pad(a, (1, 2, 3, 1), mode="reflect"), _image)
_case("pad_replicate", lambda a: F.pad(a, (1, 2, 3, 1), mode="replicate"), _image)
_case("pad_circular", lambda a: F.pad(a, (1, 2, 3, 1), mode="circular"), _image)
_case("pad_negative", lambda a: F.pad(a, (-1, 2)), _image)
_case("pixel_shuffle", nn.PixelShuffle(2), _x(1, 8, 3, 4))
_case("pixel_unshuffle", nn.PixelUnshuffle(2), _x(1, 2, 4, 6))
_case("channel_shuffle", nn.ChannelShuffle(3), _image)
_case("tril", lambda a: a.tril(), _rows)
_case("triu", lambda a: a.triu(1), _rows)
_case("diagonal", lambda a: a.diagonal(dim1=1, dim2=2), _rows)
_case("unfold_axis", lambda a: a.unfold(2, 3, 1), _rows)
_case("unfold", nn.Unfold(3, padding=1, stride=2), _image)
_case("unfold_first_axis", lambda a: a.unfold(0, 1, 1).unfold(1, 2, 2), _rows)
_case("unfold_wide", nn.Unfold((2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)), _image)
_case("fold", nn.Fold((6, 6), 2, stride=2), _x(1, 12, 9))
_case("meshgrid", lambda a, b: torch.stack(torch.meshgrid(a, b, indexing="ij")), _x(3), _x(4))


def _filled(a: torch.Tensor) -> torch.Tensor:
    b = a * 1
    b[:, 1] = 5
    b[0] += a[1]
    b[:, :, ::2] *= 2
    return b


def _composed(a: torch.Tensor) -> torch.Tensor:
    b = torch.zeros(3, 8, 5)
    b[:, ::2] = a
    b[:, 1::2] = -a
    return b


_case("view_written_into", _filled, _rows)
_case("zeros_written_into", _composed, _rows)


_case("embedding", nn.Embedding(10, 4), _ints(0, 10, 2, 3))
_case("embedding_bag_free", lambda i, w: F.embedding(i, w).mean(1), _ints(0, 10, 2, 3), _x(10, 4))
_case("index_select", lambda a: a.index_select(1, torch.tensor([2, 0])), _rows)
_case("index_one", lambda a: a[:, [0, 2, 2]], _rows)
_case("index_two", lambda a: a[[0, 1], [2, 3]], _rows)
_case("index_apart", lambda a: a[[0, 1], :, [2, 3]], _rows)
_case("index_inner", lambda a: a[:, [0, 1], [2, 3]], _rows)
_case("index_by_input", lambda a, i: a[:, i], _rows, _ints(0, 4, 3))
_case("index_mask_constant", lambda a: a[:, torch.tensor([True, False, True, True])], _rows)
_case("gather", lambda a, i: a.gather(1, i), _rows, _ints(0, 4, 3, 2, 5))
_case("take_along_dim", lambda a, i: torch.take_along_dim(a, i, 1), _rows, _ints(0, 4, 3, 2, 5))
_case("scatter", lambda a, i: torch.zeros(3, 4, 5).scatter(1, i, a[:, :1]), _rows, _ints(0, 4, 3, 1, 5))
_case("scatter_value", lambda a, i: a.scatter(1, i, 2.5), _rows, _ints(0, 4, 3, 1, 5))
_case("scatter_add", lambda a, i: a.scatter_add(1, i, a), _rows, _ints(0, 4, 3, 4, 5))
_case("index_add", lambda a: a.index_add(1, torch.tensor([0, 2]), a[:, :2], alpha=2), _rows)
_case("index_copy", lambda a: a.index_copy(1, torch.tensor([0, 2]), -a[:, :2]), _rows)
_case("index_fill", lambda a: a.index_fill(1, torch.tensor([0, 2]), 9.0), _rows)
_case("index_put", lambda a, b: a.index_put((torch.tensor([0, 2]), torch.tensor([1, 3])), b), _rows, _x(2, 5))
_case("one_hot", lambda i: F.one_hot(i, 6), _ints(0, 6, 2, 3))
_case("slice_scatter", lambda a, b: torch.slice_scatter(a, b, 1, 0, 4, 2), _rows, _x(3, 2, 5))
_case("select_scatter", lambda a, b: torch.select_scatter(a, b, 1, 2), _rows, _x(3, 5))


def _masked(a: torch.Tensor) -> torch.Tensor:
    b = a.clone()
    b[a < 0] = 0.25
    return b


_case("masked_assign", _masked, _rows)


def _by_channel(a: torch.Tensor) -> torch.Tensor:
    scale, zero = torch.tensor([0.1, 0.05, 0.2, 0.03]), torch.zeros(4, dtype=torch.int32)
    return torch.fake_quantize_per_channel_affine(a, scale, zero, 1, -127, 127)


_case("mm", torch.mm, _x(3, 4), _x(4, 5))
_case("bmm", torch.bmm, _rows, _x(3, 5, 2))
_case("matmul", torch.matmul, _x(2, 1, 3, 4), _x(5, 4, 6))
_case("matmul_vector", torch.matmul, _rows, _x(5))
_case("mv", torch.mv, _x(3, 4), _x(4))
_case("dot", torch.dot, _x(4), _x(4, seed=2))
_case("outer", torch.outer, _x(3), _x(4))
_case("linear", nn.Linear(5, 7), _rows)
_case("linear_2d", nn.Linear(5, 7), _x(3, 5))
_case("linear_no_bias", nn.Linear(5, 7, bias=False), _x(5))
_case("addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), _x(3, 5), _x(3, 4), _x(4, 5))
_case("baddbmm", torch.baddbmm, _x(3, 4, 2), _rows, _x(3, 5, 2))
_case("einsum", lambda a, b: torch.einsum("bij,bkj->bik", a, b), _rows, _pos)
_case("einsum_attention", lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), _x(2, 3, 4, 5), _x(2, 3, 6, 5))
_case("bilinear", nn.Bilinear(4, 5, 3), _x(6, 4), _x(6, 5))
_case("cdist", torch.cdist, _x(2, 4, 3), _x(2, 5, 3))
_case("tensordot", lambda a, b: torch.tensordot(a, b, 1), _rows, _x(5, 2))
_case("det", torch.linalg.det, _x(2, 3, 3))
_case(
    "baddbmm_scaled",
    lambda c, a, b: torch.baddbmm(c, a, b, beta=0.0, alpha=0.3),
    _x(3, 4, 2),
    _rows,
    _x(3, 5, 2),
)

for _name, _module in {
    "conv": nn.Conv2d(6, 8, 3),
    "conv_same": nn.Conv2d(6, 8, 4, padding="same"),
    "conv_stride": nn.Conv2d(6, 8, (3, 2), stride=(2, 1), padding=(1, 0), bias=False),
    "conv_dilated": nn.Conv2d(6, 8, 3, dilation=2, padding=2),
    "conv_groups": nn.Conv2d(6, 12, 3, groups=3),
    "conv_depthwise": nn.Conv2d(6, 6, 3, groups=6, padding=1),
    "conv_reflect": nn.Conv2d(6, 8, 3, padding=1, padding_mode="reflect"),
    "conv_transpose": nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1),
    "conv_transpose_groups": nn.ConvTranspose2d(6, 4, 3, groups=2, dilation=2),
    "max_pool": nn.MaxPool2d(3, 2, 1),
    "max_pool_ceil": nn.MaxPool2d(2, ceil_mode=True),
    "max_pool_dilated": nn.MaxPool2d(2, 1, dilation=2),
    "max_pool_indices": nn.MaxPool2d(2, return_indices=True),
    "avg_pool": nn.AvgPool2d(3, 2, 1),
    "avg_pool_valid": nn.AvgPool2d(3, 2, 1, count_include_pad=False),
    "avg_pool_ceil": nn.AvgPool2d(2, ceil_mode=True),
    "avg_pool_divisor": nn.AvgPool2d(2, divisor_override=3),
    "adaptive_avg": nn.AdaptiveAvgPool2d(1),
    "adaptive_avg_even": nn.AdaptiveAvgPool2d((3, 5)),
    "adaptive_avg_uneven": nn.AdaptiveAvgPool2d((4, 7)),
    "adaptive_max": nn.AdaptiveMaxPool2d((3, 2)),
    "lp_pool": nn.LPPool2d(2, 3, 2),
    "batch_norm": nn.BatchNorm2d(6).eval(),
    "group_norm": nn.GroupNorm(3, 6),
    "instance_norm": nn.InstanceNorm2d(6),
    "instance_norm_affine": nn.InstanceNorm2d(6, affine=True),
    "layer_norm": nn.LayerNorm([9, 10]),
    "layer_norm_plain": nn.LayerNorm(10, elementwise_affine=False),
    "rms_norm": nn.RMSNorm(10),
    "local_response_norm": nn.LocalResponseNorm(3),
    "dropout": nn.Dropout(),
    "upsample_nearest": nn.Upsample(scale_factor=2),
    "upsample_nearest_size": nn.Upsample(size=(13, 17)),
    "upsample_bilinear": nn.Upsample(scale_factor=2, mode="bilinear"),
    "upsample_bilinear_aligned": nn.Upsample(size=(15, 7), mode="bilinear", align_corners=True),
    "upsample_bicubic": nn.Upsample(scale_factor=1.5, mode="bicubic"),
    "upsample_down": nn.Upsample(scale_factor=0.5, mode="bilinear"),
    "upsample_by_scale": nn.Upsample(scale_factor=1.7, mode="bilinear"),
    "weight_norm": nn.utils.parametrizations.weight_norm(nn.Conv2d(6, 4, 3)),
    "reflection_pad": nn.ReflectionPad2d(2),
    "zero_pad": nn.ZeroPad2d((1, 0, 2, 1)),
}.items():
    _case(_name, _module, _image)
_case("upsample_exact", lambda a: F.interpolate(a, size=(5, 13), mode="nearest-exact"), _image)
_case("upsample_smooth", lambda a: F.interpolate(a, size=(5, 6), mode="bilinear", antialias=True), _image)
_case("conv_1d", nn.Conv1d(4, 6, 3, padding=1), _rows)
_case("conv_3d", nn.Conv3d(2, 3, 2, stride=(1, 2, 2)), _x(1, 2, 4, 6, 6))
_case("conv_unbatched", nn.Conv2d(6, 4, 3), _x(6, 9, 10))
_case("conv_transpose_1d", nn.ConvTranspose1d(4, 6, 4, stride=2, padding=1), _rows)
_case("conv_transpose_3d", nn.ConvTranspose3d(2, 3, 2, stride=2), _x(1, 2, 3, 3, 4))
_case("max_pool_1d", nn.MaxPool1d(2), _rows)
_case("avg_pool_1d", nn.AvgPool1d(2, 1), _rows)
_case("max_pool_3d", nn.MaxPool3d(2), _x(1, 2, 4, 6, 6))
_case("avg_pool_3d", nn.AvgPool3d(2), _x(1, 2, 4, 6, 6))
_case("adaptive_avg_1d", nn.AdaptiveAvgPool1d(3), _rows)
_case("upsample_linear", lambda a: F.interpolate(a, scale_factor=2, mode="linear"), _rows)
_case("upsample_trilinear", lambda a: F.interpolate(a, scale_factor=2, mode="trilinear"), _x(1, 2, 3, 4, 5))
_case("batch_norm_1d", nn.BatchNorm1d(4).eval(), _rows)
_case("batch_norm_3d", nn.BatchNorm3d(2).eval(), _x(1, 2, 4, 6, 6))
_case("grid_sample", lambda a, g: F.grid_sample(a, g, align_corners=False), _image, _x(2, 4, 5, 2) / 2)
_case(
    "grid_sample_border",
    lambda a, g: F.grid_sample(a, g, mode="nearest", padding_mode="border", align_corners=True),
    _image,
    _x(2, 4, 5, 2) / 2,
)
_case("affine_grid", lambda t: F.affine_grid(t, [2, 3, 4, 5], align_corners=False), _x(2, 2, 3))
_case("lstm", nn.LSTM(5, 6), _rows)
_case("lstm_deep", nn.LSTM(5, 6, num_layers=2, bidirectional=True, batch_first=True), _rows)
_case("lstm_no_bias", nn.LSTM(5, 6, bias=False), _rows)
_case("lstm_projected", nn.LSTM(5, 6, proj_size=3), _rows)
_projected = nn.LSTM(5, 6, proj_size=3, bias=False, bidirectional=True).requires_grad_(False)
_case(
    "lstm_projected_states",
    lambda a, h, c: _projected(a, (h, c)),
    _rows,
    _x(2, 4, 3),
    _x(2, 4, 6),
)
_case("gru", nn.GRU(5, 6, bidirectional=True), _rows)
_case("gru_batch_first", nn.GRU(5, 6, num_layers=2, batch_first=True), _rows)
_case("rnn", nn.RNN(5, 6), _rows)
_case("rnn_relu", nn.RNN(5, 6, nonlinearity="relu"), _rows)
_case("lstm_cell", nn.LSTMCell(5, 6), _x(3, 5))
_case("gru_cell", nn.GRUCell(5, 6), _x(3, 5))
_case("rnn_cell", nn.RNNCell(5, 6), _x(3, 5))
_heads = _x(2, 4, 6, 8)
_case("attention", F.scaled_dot_product_attention, _heads, _heads, _heads)
_case("attention_causal", lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), _heads)
_case("attention_mask", lambda q, m: F.scaled_dot_product_attention(q, q, q, m), _heads, _x(6, 6) > 0.7)
_case("attention_bias", lambda q, m: F.scaled_dot_product_attention(q, q, q, m, scale=0.2), _heads, _x(6, 6))
_case("fake_quantize", lambda a: torch.fake_quantize_per_tensor_affine(a, 0.05, 3, -128, 127), _rows)
_aten = torch.ops.aten
_case("fake_quantize_channels", _by_channel, _rows)
_case("adaptive_max_1d", nn.AdaptiveMaxPool1d(2), _x(1, 3, 6))
_case("adaptive_avg_3d", nn.AdaptiveAvgPool3d((1, 2, 2)), _x(1, 2, 4, 6, 6))
_case("addbmm", torch.addbmm, _x(4, 2), _x(3, 4, 5), _x(3, 5, 2))
_case("addmv", torch.addmv, _x(3), _x(3, 4), _x(4))
_case("addr", torch.addr, _x(3, 4), _x(3), _x(4))
_case("clamp_max", lambda a: a.clamp_max(0.2), _rows)
_case("diag", torch.diag, _x(4, 4))
_case("diag_of_vector", torch.diag, _x(4))
_case("as_strided", lambda a: a.as_strided((2, 3), (5, 2), 1), _rows)
_case("upsample_nearest_1d", lambda a: F.interpolate(a, scale_factor=2), _rows)
_case("upsample_nearest_3d", lambda a: F.interpolate(a, scale_factor=2), _x(1, 2, 3, 4, 5))
_case("upsample_exact_1d", lambda a: F.interpolate(a, size=7, mode="nearest-exact"), _rows)
_case("upsample_smooth_cubic", lambda a: F.interpolate(a, (5, 6), mode="bicubic", antialias=True), _image)
_case("grid_sample_3d", F.grid_sample, _x(1, 2, 3, 4, 5), _x(1, 2, 3, 4, 3) / 2)
_case("median_all", torch.median, _rows)
_case("prod_all", torch.prod, _rows)
_case("std_mean", lambda a: torch.std_mean(a, (0, 1), correction=0), _rows)
_case("var_all", torch.var, _rows)
_case("all_dims", lambda a: _aten.all.dims(a > -1, [1, 2]), _rows)
_case("new_full", lambda a: a.new_full((5,), 2.0) + a.new_ones(5) - a.new_zeros(5), _rows)
_case("numpy_t", lambda a: a.T, _x(3, 4))
_case("pad_reflect_1d", lambda a: F.pad(a, (1, 2), mode="reflect"), _rows)
_case("pad_replicate_3d", lambda a: F.pad(a, (1, 2, 0, 1, 1, 0), mode="replicate"), _x(1, 2, 3, 4, 5))
_case("scatter_reduce", lambda a, i: a.scatter_reduce(1, i, a, "amax"), _rows, _ints(0, 4, 3, 4, 5))
_case("take", lambda a, i: a.take(i), _rows, _ints(0, 60, 3, 4))
_case("sort_stable", lambda a: a.sort(stable=True, dim=1)[0], _rows)
_case("xor_bools", lambda a: (a > 0) ^ (a > 1), _rows)
_case("type_as", lambda a, b: a.type_as(b), _rows, _ints(0, 4, 2))
_case("prelu_one", nn.PReLU(), _rows)
_case(
    "masked_scores", lambda a: a.masked_fill(torch.ones(4, 5).tril() == 0, float("-inf")).softmax(-1), _rows
)
_case("expand_as", lambda a, b: a.expand_as(b), _x(1, 4, 1), _rows)
_case("concat_alias", lambda a: torch.concat([a, a]).swapaxes(0, 1).ravel().clip(-1, 1), _rows)
_case("softmax_float64", lambda a: a.double().softmax(1).float(), _rows)
_case("searchless_max", lambda a: torch.max(a, a.mean()), _rows)
_case("conj_free", lambda a: a.positive().conj(), _rows)
_case("zeros_like", lambda a: a + torch.zeros_like(a) + torch.ones_like(a) * torch.full_like(a, 2), _rows)
_case("arange", lambda a: a + torch.arange(a.shape[-1]), _rows)
_case("eye", lambda a: a @ torch.eye(5), _rows)
_case("linspace", lambda a: a * torch.linspace(0, 1, 5), _rows)
_case("size_arithmetic", lambda a: a.reshape(a.shape[0] * a.shape[1], a.shape[2]) / a.shape[1], _rows)
_window = torch.hann_window(16)
_wave = _x(2, 100)
_rates = torch.polar(torch.ones(5, 2), _x(5, 2))


def _spectrum(a: torch.Tensor) -> torch.Tensor:
    return torch.stft(a, 16, 4, window=_window, return_complex=True)


def _turned(a: torch.Tensor) -> torch.Tensor:
    pairs = torch.view_as_complex(a.reshape(3, 5, 2, 2))
    return torch.view_as_real(pairs * _rates).flatten(2)


_case("stft_size", lambda a: _spectrum(a).abs(), _wave)
_case("stft_power", lambda a: torch.view_as_real(_spectrum(a)).pow(2).sum(-1), _wave)
_case("stft_parts", lambda a: (_spectrum(a).real, _spectrum(a).imag.transpose(1, 2)), _wave)
_case("fft_real", lambda a: torch.fft.rfft(a).abs(), _wave)
_case("fft_back", lambda a: torch.fft.irfft(torch.fft.rfft(a) * 0.5, 100), _wave)
_case("fft_2d", lambda a: torch.view_as_real(torch.fft.rfft2(a, norm="ortho")), _rows)
_case("fft_complex", lambda a: torch.fft.ifft(torch.fft.fft(a)).real, _wave)
_case("rotary_complex", _turned, _x(3, 5, 4))
_case("complex_sum", lambda a: (torch.complex(a, -a) + torch.polar(a.abs(), a)).abs(), _rows)
_case("complex_angle", lambda a: (torch.fft.rfft(a) * torch.fft.rfft(a).conj()).real, _wave)
_case("fft_full", lambda a: torch.view_as_real(torch.fft.fftn(a)), _rows)
_case("fft_mirrored", lambda a: torch.fft.hfft(a, 9), _rows)
_case("complex_broadcast", lambda a: torch.view_as_real(torch.complex(a, a[:1])), _rows)
_case("angle", torch.angle, _rows)
_case("softplus_threshold", nn.Softplus(1.5, 0.5), _rows)
_case(
    "upsample_aligned_scale",
    lambda a: F.interpolate(a, scale_factor=1.6, mode="bilinear", align_corners=True),
    _image,
)
_case(
    "upsample_cubic_aligned_scale",
    lambda a: F.interpolate(a, scale_factor=1.6, mode="bicubic", align_corners=True),
    _image,
)
_case("adaptive_max_uneven", lambda a: F.adaptive_max_pool2d(a, (4, 7), return_indices=True), _image)
_case("adaptive_max_none", lambda a: F.adaptive_max_pool2d(a, (None, 3), return_indices=True), _image)
_case("norm_of_a_number", lambda a: torch.linalg.vector_norm(a[0, 0, 0] - 9), _rows)
_case("topk_of_a_number", lambda a: torch.topk(a.sum(), 1)[0], _rows)
_case("cdist_zero", lambda a: torch.cdist(a, a.round(), p=0.0), _rows)
_case("dict_output", lambda a: {"one": a + 1, "two": a * 2}, _rows)
# Cases whose core ops, those that torch's own decompositions end in, differ from what programs call.
CORE = (
    *("adaptive_avg", "adaptive_avg_3d", "attention", "batch_norm", "bilinear", "cast", "cdist"),
    *("channel_shuffle", "conv", "conv_transpose", "det", "fake_quantize", "fake_quantize_channels"),
    *("grid_sample", "grid_sample_3d", "group_norm", "index_put", "index_two", "layer_norm", "linear_2d"),
    *("log_softmax", "logsigmoid", "max_pool_3d", "new_full", "pad_constant", "pad_reflect_1d"),
    *("pad_reflect", "pad_replicate", "pad_replicate_3d", "prelu", "relu6", "rms_norm", "rrelu", "softmax"),
    *("std_all", "upsample_nearest", "var_mean", "weight_norm", "where_scalar"),
)
