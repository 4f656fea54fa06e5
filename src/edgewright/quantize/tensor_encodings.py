"""Encodings by the names of tensors, as files have them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.ops.quant import Convert
from edgewright.quantize.encodings import compute_covered_range


@dataclass(frozen=True)
class TensorEncoding:
    """The encoding of one tensor of the source model.

    Integers are unsigned here, whatever a file says: real = scale * (stored + offset), offset at most 0, and
    symmetric means an offset of minus half the range. Lists are for channels, or for blocks, channel by
    channel.
    """

    name: str
    bits: int
    # Section of the file; None where the format has no sections.
    is_param: bool | None = None
    is_float: bool = False
    scales: tuple[float, ...] = ()
    offsets: tuple[int, ...] = ()
    is_symmetric: bool | None = None
    is_signed: bool = False
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    # The axis that a file names, in the layout of the source model (of blocks, where there are some).
    axis: int | None = None
    block_size: int = 0
    # Low-power blocks: whole factors for each block, and the width that weights have once expanded.
    block_scales: tuple[int, ...] = ()
    expanded_bits: int = 0
    # The shape of scales in a file that nests them.
    shape: tuple[int, ...] = ()
    # What the file says besides, given back as it is.
    extra: Mapping[str, Any] = field(default_factory=dict)
    # A tensor that the source does not have: conversion made it.
    is_added: bool = False

    @property
    def is_wish(self) -> bool:
        """Whether only a width is known."""
        return not self.is_float and not self.scales

    def convert_to_signed(self) -> tuple[tuple[int, ...], bool]:
        """Offsets of signed integers, and whether all are 0."""
        moved = tuple(offset + (1 << (self.bits - 1)) for offset in self.offsets)
        return moved, not any(moved)


@dataclass(frozen=True)
class EncodingSet:
    """All that a file says."""

    tensors: tuple[TensorEncoding, ...] = ()
    version: str = "1.0.0"
    # Widths for tensors that the file does not name; None: not said.
    act_bits: int | None = None
    weight_bits: int | None = None
    bias_bits: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def list_encodings(
    graph: Graph, source_tensors: Collection[str] = (), added: Collection[str] = ()
) -> EncodingSet:
    """The encodings of a quantized graph by the source model's names; floats are in it as floats.

    Args:
        graph: the quantized graph.
        source_tensors: those names, where they are known: what algorithms put in has none.
        added: those of them that conversion made.
    """
    entries: dict[str, TensorEncoding] = {}
    read = {value for node in graph.nodes for value in (*node.inputs, *node.outputs) if value}
    # What a quantizer put between two precisions has no name in the source.
    read -= {v for n in graph.nodes if isinstance(n.op, Convert) for v in n.outputs if v not in graph.outputs}
    for value, tensor_type in graph.types.items():
        name = graph.source_names.get(value, value)
        if name in entries or not (value in read or value in graph.inputs):
            continue
        if source_tensors and name not in source_tensors:
            continue
        if tensor_type.encoding is not None or tensor_type.dtype.is_float:
            entry = make_entry(name, tensor_type, is_param=value in graph.constants)
            entries[name] = replace(entry, is_added=name in added)
    return EncodingSet(tuple(entries.values()))


def make_entry(name: str, tensor_type: TensorType, *, is_param: bool) -> TensorEncoding:
    """The entry for a tensor of a type."""
    encoding, dtype = tensor_type.encoding, tensor_type.dtype
    if encoding is None:
        return TensorEncoding(name, dtype.bits, is_param, is_float=True)
    is_symmetric = dtype.is_signed and not any(encoding.offsets)
    shift = 1 << (encoding.bitwidth - 1) if dtype.is_signed else 0
    lows, highs = _list_bounds(encoding, dtype)
    return TensorEncoding(
        name,
        encoding.bitwidth,
        is_param,
        scales=encoding.scales,
        offsets=tuple(offset - shift for offset in encoding.offsets),
        is_symmetric=is_symmetric,
        is_signed=dtype.is_signed,
        lows=lows,
        highs=highs,
        axis=encoding.axis if encoding.block_axis is None else encoding.block_axis,
        block_size=encoding.block_size,
        block_scales=tuple(encoding.block_scales),
        expanded_bits=8 if encoding.block_scales else 0,
    )


def _list_bounds(encoding: Encoding, dtype: DType) -> tuple[tuple[float, ...], tuple[float, ...]]:
    low, high = compute_covered_range(encoding, dtype)
    return tuple(np.asarray(low).tolist()), tuple(np.asarray(high).tolist())
