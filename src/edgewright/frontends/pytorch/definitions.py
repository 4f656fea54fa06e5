"""Fused ops that torch only has kernels for, written out in terms of others."""

from collections.abc import Callable
from typing import Any

# Each gets torch and the op's arguments.
Definition = Callable[..., Any]
DEFINITIONS: dict[str, Definition] = {}


def define(*names: str) -> Callable[[Definition], Definition]:
    """Registers what an op means in terms of others, by the op's name with its overload."""

    def register(definition: Definition) -> Definition:
        DEFINITIONS.update(dict.fromkeys(names, definition))
        return definition

    return register


def _attend_heads(torch: Any, q: Any, k: Any, v: Any, heads: int, hidden: Any) -> tuple[Any, Any]:
    """Attention of several heads; the sums and the shares of each key."""

    def split(x: Any) -> Any:
        return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)

    size = q.shape[-1] // heads
    scores = torch.matmul(split(q) * size**-0.5, split(k).transpose(-2, -1))
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    shares = torch.softmax(scores, -1)
    sums = torch.matmul(shares, split(v)).transpose(1, 2)
    return sums.reshape(q.shape[0], q.shape[1], -1), shares


def _shape_mask(mask: Any, mask_type: int | None) -> Any:
    """A mask in the shape of the scores: 0 hides pairs, 1 keys of each sample, 2 all of it."""
    if mask is None:
        return None
    if mask_type == 1:
        return mask[:, None, None, :]
    return mask if mask.dim() == 4 else mask[None, None] if mask.dim() == 2 else mask[:, None]


@define("aten::_native_multi_head_attention")
def _define_multi_head(
    torch: Any,
    query: Any,
    key: Any,
    value: Any,
    size: int,
    heads: int,
    weight: Any,
    bias: Any,
    last_weight: Any,
    last_bias: Any,
    mask: Any = None,
    needs_shares: bool = True,
    is_average: bool = True,
    mask_type: int | None = None,
) -> tuple[Any, Any]:
    linear = torch.nn.functional.linear
    q, k, v = (
        linear(x, weight[i * size : (i + 1) * size], bias[i * size : (i + 1) * size])
        for i, x in enumerate((query, key, value))
    )
    sums, shares = _attend_heads(torch, q, k, v, heads, _shape_mask(mask, mask_type))
    seen = shares.mean(1) if is_average else shares
    return linear(sums, last_weight, last_bias), seen if needs_shares else shares.new_zeros(0)


@define("aten::_transformer_encoder_layer_fwd")
def _define_encoder_layer(
    torch: Any,
    x: Any,
    size: int,
    heads: int,
    weight: Any,
    bias: Any,
    last_weight: Any,
    last_bias: Any,
    is_gelu: bool,
    is_norm_first: bool,
    eps: float,
    scale1: Any,
    shift1: Any,
    scale2: Any,
    shift2: Any,
    wide_weight: Any,
    wide_bias: Any,
    narrow_weight: Any,
    narrow_bias: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    f = torch.nn.functional

    def attend(y: Any) -> Any:
        given = (size, heads, weight, bias, last_weight, last_bias, mask, False, True, mask_type)
        return _define_multi_head(torch, y, y, y, *given)[0]

    def feed(y: Any) -> Any:
        wide = f.linear(y, wide_weight, wide_bias)
        return f.linear(f.gelu(wide) if is_gelu else f.relu(wide), narrow_weight, narrow_bias)

    def norm(y: Any, scale: Any, shift: Any) -> Any:
        return f.layer_norm(y, (size,), scale, shift, eps)

    if is_norm_first:
        x = x + attend(norm(x, scale1, shift1))
        return x + feed(norm(x, scale2, shift2))
    x = norm(x + attend(x), scale1, shift1)
    return norm(x + feed(x), scale2, shift2)
