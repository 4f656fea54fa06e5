"""Writes encodings in a given version."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from edgewright.core.errors import UnsupportedFeature, UsageError, Where
from edgewright.quantize.tensor_encodings import EncodingSet, TensorEncoding

# A whole document in the document: what conversion made of the source.
ADDED = "added_encodings"
# Names of weights that are not the source's any more: their encodings fit the written model alone.
MOVED = "moved_weights"
VERSIONS = ("0.5.0", "0.6.1", "1.0.0", "2.0.0")
COURSE_WIDTHS = {
    "activation_bitwidth": "act_bits",
    "param_bitwidth": "weight_bits",
    "bias_bitwidth": "bias_bits",
}


def write_encodings(encodings: EncodingSet, version: str = "1.0.0") -> str:
    """The file as text; names are sorted, so that the same encodings give the same file."""
    return json.dumps(describe_encodings(encodings, version), indent=1, sort_keys=True) + "\n"


def describe_encodings(encodings: EncodingSet, version: str = "1.0.0") -> dict[str, Any]:
    """The file as objects and lists."""
    if version not in VERSIONS:
        raise UsageError(
            f"there is no version '{version}' of encodings, expected one of {', '.join(VERSIONS)}"
        )
    added = tuple(tensor for tensor in encodings.tensors if tensor.is_added)
    if added:
        # Apart: tools that read these files refuse names that the source does not have.
        own = tuple(tensor for tensor in encodings.tensors if not tensor.is_added)
        apart = EncodingSet(tuple(replace(tensor, is_added=False) for tensor in added))
        return describe_encodings(replace(encodings, tensors=own), version) | {
            ADDED: describe_encodings(apart, version)
        }
    document: dict[str, Any] = {"version": version}
    if version == "2.0.0":
        document["encodings"] = [{"name": t.name, **_describe_typed(t)} for t in encodings.tensors]
        return document | {
            k: v for k, v in encodings.extra.items() if k not in {"quantizer_args", "excluded_layers"}
        }
    document["activation_encodings"] = _describe_section(encodings, version, is_param=False)
    document["param_encodings"] = _describe_section(encodings, version, is_param=True)
    widths = {key: getattr(encodings, field) for key, field in COURSE_WIDTHS.items()}
    document |= {key: bits for key, bits in widths.items() if bits is not None}
    # quantizer_args came with 0.6.1.
    left_out = {"quantizer_args"} if version == "0.5.0" else set()
    return document | {key: value for key, value in encodings.extra.items() if key not in left_out}


def _describe_section(encodings: EncodingSet, version: str, *, is_param: bool) -> Any:
    # In a format without sections, what has channels or blocks counts as a parameter.
    tensors = [t for t in encodings.tensors if _is_param(t) == is_param]
    if version == "1.0.0":
        return [{"name": tensor.name, **_describe_listed(tensor)} for tensor in tensors]
    return {tensor.name: _describe_legacy(tensor) for tensor in tensors}


def _is_param(tensor: TensorEncoding) -> bool:
    if tensor.is_param is not None:
        return tensor.is_param
    return len(tensor.scales) > 1 or bool(tensor.block_size) or tensor.axis is not None


def _describe_legacy(tensor: TensorEncoding) -> list[dict[str, Any]]:
    if tensor.block_size:
        raise UnsupportedFeature(
            "blocks do not exist before version 1.0.0 of encodings",
            Where(tensor=tensor.name),
            do="write 1.0.0",
        )
    kind = {"bitwidth": tensor.bits, "dtype": "float" if tensor.is_float else "int"}
    if tensor.is_float or tensor.is_wish:
        return [{**kind, **tensor.extra}]
    most = (1 << tensor.bits) - 1
    lows = tensor.lows or tuple(s * o for s, o in zip(tensor.scales, tensor.offsets, strict=True))
    highs = tensor.highs or tuple(s * (o + most) for s, o in zip(tensor.scales, tensor.offsets, strict=True))
    return [
        {**kind, "is_symmetric": str(_is_symmetric(tensor)), "min": low, "max": high, "offset": offset}
        | {"scale": scale, **tensor.extra}
        for scale, offset, low, high in zip(tensor.scales, tensor.offsets, lows, highs, strict=True)
    ]


def _describe_listed(tensor: TensorEncoding) -> dict[str, Any]:
    if tensor.is_float:
        return {"dtype": "FLOAT", "bw": tensor.bits, "enc_type": "PER_TENSOR", **tensor.extra}
    if tensor.is_wish:
        raise UnsupportedFeature(
            "an entry with only a width does not exist since version 1.0.0 of encodings",
            Where(tensor=tensor.name),
            do="write 0.6.1",
        )
    common = {
        "dtype": "INT",
        "bw": tensor.bits,
        "is_sym": _is_symmetric(tensor),
        "scale": list(tensor.scales),
    }
    if tensor.block_scales:
        expanded = tensor.expanded_bits or 2 * tensor.bits
        return {
            **common,
            "enc_type": "LPBQ",
            "bw": expanded,
            "compressed_bw": tensor.bits,
            "block_size": tensor.block_size,
            "per_block_int_scale": list(tensor.block_scales),
            "offset": [-(1 << (expanded - 1))] * len(tensor.scales),
            **tensor.extra,
        }
    blocks = {"block_size": tensor.block_size} if tensor.block_size else {}
    kind = "PER_BLOCK" if blocks else "PER_CHANNEL" if len(tensor.scales) > 1 else "PER_TENSOR"
    return {**common, "enc_type": kind, "offset": list(tensor.offsets), **blocks, **tensor.extra}


def _describe_typed(tensor: TensorEncoding) -> dict[str, Any]:
    if tensor.is_float:
        return {"output_dtype": f"float{tensor.bits}", **tensor.extra}
    if tensor.is_wish:
        _describe_listed(tensor)
    is_signed = tensor.is_signed or (_is_symmetric(tensor) and bool(_is_param(tensor)))
    half = 1 << (tensor.bits - 1) if is_signed else 0
    zeros = [-offset - half for offset in tensor.offsets]
    entry: dict[str, Any] = {"output_dtype": f"{'' if is_signed else 'u'}int{tensor.bits}", **tensor.extra}
    if tensor.block_scales:
        entry["per_channel_float_scale"] = _nest_by_shape(tensor, list(tensor.scales), is_channel=True)
        entry["per_block_int_scale"] = _nest_by_shape(tensor, list(tensor.block_scales), is_channel=False)
    else:
        spread: Callable[[list[Any]], Any] = lambda items: _nest_by_shape(tensor, items, is_channel=False)  # noqa: E731
        entry["y_scale"] = spread(list(tensor.scales))
        if any(zeros):
            entry["y_zero_point"] = spread(zeros)
    if len(tensor.scales) > 1 or tensor.axis is not None:
        entry["axis"] = tensor.axis if tensor.axis is not None else 1 if tensor.block_size else 0
    return entry | ({"block_size": tensor.block_size} if tensor.block_size else {})


def _nest_by_shape(tensor: TensorEncoding, items: list[Any], *, is_channel: bool) -> Any:
    """Numbers channel by channel in the nesting that the file had, or that blocks need."""
    if not tensor.block_size:
        return items[0] if len(items) == 1 and tensor.shape in {(), (1,)} and tensor.axis is None else items
    axis = 1 if tensor.axis is None else tensor.axis
    channels = len(tensor.scales) if tensor.block_scales else None
    shape = tensor.shape or _find_block_shape(tensor, axis, channels)
    axis %= len(shape)
    moved = [size for place, size in enumerate(shape) if place != axis]
    last = 1 if is_channel else shape[axis]
    return np.moveaxis(np.array(items).reshape(*moved, last), -1, axis).tolist()


def _find_block_shape(tensor: TensorEncoding, axis: int, channels: int | None) -> tuple[int, int]:
    count = len(tensor.block_scales) if tensor.block_scales else len(tensor.scales)
    rows = channels or 1
    return (rows, count // rows) if axis else (count // rows, rows)


def _is_symmetric(tensor: TensorEncoding) -> bool:
    if tensor.is_symmetric is not None:
        return tensor.is_symmetric
    return tensor.convert_to_signed()[1]
