"""Ops that programs seldom call by name, called directly: torch's own definitions end in them."""

import torch
from torch import nn

from tests.unit.frontends.pytorch.op_cases import Case

__all__ = ["DIRECT"]

aten = torch.ops.aten
_random = torch.Generator().manual_seed(3)
_image = torch.randn(2, 6, 9, 10, generator=_random)
_volume = torch.randn(1, 3, 5, 6, 7, generator=_random)
_rows = torch.randn(3, 4, 5, generator=_random)
_matrix = torch.randn(4, 5, generator=_random)
_wave = torch.randn(2, 3, 11, generator=_random)
_places = torch.tensor([[0, 1, 2, 1, 0], [2, 0, 1, 0, 2]])
_weight = torch.rand(6, generator=_random) + 0.5


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(5, 3, nonlinearity="relu")

    def forward(self, a):
        return self.cell(a)


def _normed(a):
    return aten.native_batch_norm(a, _weight, _weight, _weight, _weight, False, 0.1, 1e-5)[0]


def _trained(a):
    return aten.native_batch_norm(a, _weight, _weight, None, None, True, 0.1, 1e-5)


def _attended(a):
    heads = a.reshape(1, 3, 4, 5)
    return aten._scaled_dot_product_flash_attention_for_cpu(heads, heads, heads)[0]


_CALLS = {
    "_adaptive_avg_pool2d": (lambda a: aten._adaptive_avg_pool2d(a, [3, 5]), _image),
    "adaptive_max_pool3d": (lambda a: aten.adaptive_max_pool3d(a, [2, 3, 7])[0], _volume),
    "_prelu_kernel": (lambda a: aten._prelu_kernel(a, _weight.reshape(1, 6, 1, 1)), _image),
    "_pad_circular": (lambda a: aten._pad_circular(a, [1, 2]), _wave),
    "_unsafe_index": (lambda a: aten._unsafe_index(a, [_places[0]]), _rows),
    "_unsafe_index_put": (lambda a: aten._unsafe_index_put(a, [torch.tensor([0, 2])], a[:2] * 2), _rows),
    "_upsample_nearest_exact3d": (lambda a: aten._upsample_nearest_exact3d(a, [7, 6, 9]), _volume),
    "_weight_norm": (lambda a: aten._weight_norm(a, a.norm(dim=(1, 2), keepdim=True)), _rows),
    "_weight_norm_interface": (
        lambda a: aten._weight_norm_interface(a, a.norm(dim=(1, 2), keepdim=True))[0],
        _rows,
    ),
    "_fused_rms_norm": (lambda a: aten._fused_rms_norm(a, [5], None, 1e-5)[0], _rows),
    "flash_attention": (_attended, _rows),
    "alias": (lambda a: aten.alias(a) * 2, _rows),
    "any.dims": (lambda a: aten.any.dims(a > 0.5, [0, 2]), _rows),
    "argsort.stable": (lambda a: aten.argsort.stable(a, stable=True, dim=1), _rows),
    "count_nonzero": (lambda a: aten.count_nonzero.dim_IntList(a.relu(), [1, 2]), _rows),
    "detach": (lambda a: aten.detach(a) + 1, _rows),
    "full": (lambda a: a + aten.full([4, 5], 2.5), _rows),
    "lift_fresh": (lambda a: a + aten.lift_fresh(torch.ones(5)), _rows),
    "log_sigmoid_forward": (lambda a: aten.log_sigmoid_forward(a)[0], _rows),
    "min.other": (lambda a: aten.min.other(a, a * 0.5), _rows),
    "movedim": (lambda a: aten.movedim.intlist(a, [0, 1], [2, 0]), _rows),
    "native_batch_norm": (_normed, _image),
    "native_batch_norm_training": (lambda a: _trained(a)[:3], _image),
    "native_group_norm": (lambda a: aten.native_group_norm(a, None, None, 2, 6, 90, 3, 1e-5), _image),
    "_fused_rms_norm_spread": (lambda a: aten._fused_rms_norm(a, [4, 5], None, 1e-5), _rows),
    "native_channel_shuffle": (lambda a: aten.native_channel_shuffle(a, 3), _image),
    "norm": (lambda a: aten.norm.Scalar(a, 2), _rows),
    "norm_dtype": (lambda a: aten.norm.ScalarOpt_dtype(a, 2, dtype=torch.float32), _rows),
    "norm_dim_dtype": (
        lambda a: aten.norm.ScalarOpt_dim_dtype(a, 2, [1], True, dtype=torch.float32),
        _rows,
    ),
    "reflection_pad1d": (lambda a: aten.reflection_pad1d(a, [2, 3]), _wave),
    "reflection_pad2d": (lambda a: aten.reflection_pad2d(a, [2, 3, 1, 0]), _image),
    "reflection_pad3d": (lambda a: aten.reflection_pad3d(a, [1, 2, 0, 1, 2, 1]), _volume),
    "replication_pad1d": (lambda a: aten.replication_pad1d(a, [2, 3]), _wave),
    "replication_pad2d": (lambda a: aten.replication_pad2d(a, [2, 3, 1, 0]), _image),
    "replication_pad3d": (lambda a: aten.replication_pad3d(a, [1, 2, 0, 1, 2, 1]), _volume),
    "relu6": (lambda a: aten.relu6(a * 4), _rows),
    "resolve_conj": (lambda a: aten.resolve_conj(a) * 2, _rows),
    "resolve_neg": (lambda a: aten.resolve_neg(a) * 2, _rows),
    "rnn_relu_cell": (_Recurrent(), _matrix),
    "scalar_tensor": (lambda a: a * aten.scalar_tensor(1.5), _rows),
    "scatter.reduce": (lambda a: aten.scatter.reduce(a, 0, _places, a[:2], reduce="add"), _matrix),
    "scatter.value_reduce": (
        lambda a: aten.scatter.value_reduce(a, 0, _places, 2.0, reduce="multiply"),
        _matrix,
    ),
    "std_mean": (lambda a: aten.std_mean(a, True), _rows),
    "std_mean.dim": (lambda a: aten.std_mean.dim(a, [1], True, True), _rows),
    "var_mean": (lambda a: aten.var_mean(a, True), _rows),
    "t": (lambda a: aten.t(a) * 2, _matrix),
    "view_as": (lambda a: aten.view_as(a, torch.empty(5, 4)) * 2, _matrix),
}
DIRECT = [Case(name, function, (given,)) for name, (function, given) in _CALLS.items()]
