"""The matrices of a graph: which rows of a checkpoint's tensors they are, their codes in QNN's terms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.load.checkpoint import list_layer_shapes, name_layer_tensor
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.rounding.codes import Codes, pick_rows

Tensor = Codes | Array
# Weights of the head that one matrix holds: words of a large vocabulary are cut into several.
HEAD_WEIGHTS = 1 << 26


@dataclass(frozen=True)
class Matrix:
    """A matrix of a layer in a graph, and the rows of the checkpoint's tensor that it is."""

    name: str
    source: str
    rows: slice


@dataclass(frozen=True)
class HeadPiece:
    """Some words of the vocabulary: the matrix that has their rows, and what it gives."""

    rows: slice
    matrix: str = "lm_head"
    logits: str = "logits"


def cut_head(spec: ModelSpec) -> list[HeadPiece]:
    """The head as one matrix, or as several of nearly the same size."""
    count = -(-spec.vocabulary * spec.hidden // HEAD_WEIGHTS)
    if count == 1:
        return [HeadPiece(slice(0, spec.vocabulary))]
    borders = np.linspace(0, spec.vocabulary, count + 1).round().astype(int).tolist()
    pieces = enumerate(pairwise(borders))
    return [HeadPiece(slice(*rows), f"lm_head_{number}", f"logits_{number}") for number, rows in pieces]


def list_matrices(spec: ModelSpec) -> Iterator[Matrix]:
    """Of one layer; what Phi stores in one matrix is cut, so that each part has its own range."""
    queries, keys, inner = spec.query_rows, spec.key_rows, spec.intermediate
    if spec.is_fused:
        yield from _cut("self_attn.qkv_proj", {"q_proj": queries, "k_proj": keys, "v_proj": keys})
        yield from _cut("mlp.gate_up_proj", {"gate_proj": inner, "up_proj": inner})
    else:
        for name, rows in (("q_proj", queries), ("k_proj", keys), ("v_proj", keys)):
            yield Matrix(name, f"self_attn.{name}", slice(0, rows))
        for name in ("gate_proj", "up_proj"):
            yield Matrix(name, f"mlp.{name}", slice(0, inner))
    yield Matrix("o_proj", "self_attn.o_proj", slice(0, spec.hidden))
    yield Matrix("down_proj", "mlp.down_proj", slice(0, spec.hidden))


def _cut(source: str, parts: Mapping[str, int]) -> Iterator[Matrix]:
    start = 0
    for name, rows in parts.items():
        yield Matrix(name, source, slice(start, start + rows))
        start += rows


def list_layer_weights(spec: ModelSpec, number: int, tensors: Mapping[str, Tensor]) -> dict[str, Array]:
    """The values of a layer's tensors by the names that they have in a graph."""
    here = {name: tensors[name_layer_tensor(number, name)] for name in list_layer_shapes(spec)}
    weights = {}
    for matrix in list_matrices(spec):
        weights[matrix.name] = decode_rows(here[f"{matrix.source}.weight"], matrix.rows)
        if f"{matrix.source}.bias" in here:
            weights[f"{matrix.name}.bias"] = decode(here[f"{matrix.source}.bias"])[matrix.rows]
    norms = {name.removesuffix(".weight"): decode(here[name]) for name in here if "norm" in name}
    return weights | {name.removeprefix("self_attn."): values for name, values in norms.items()}


def decode(tensor: Tensor) -> Array:
    """What a tensor stands for."""
    return tensor.decode() if isinstance(tensor, Codes) else tensor


def decode_rows(tensor: Tensor, rows: slice) -> Array:
    """What some rows stand for; the others are not made."""
    return decode(pick_rows(tensor, rows)) if isinstance(tensor, Codes) else tensor[rows]


def describe_layer(spec: ModelSpec, number: int, tensors: Mapping[str, Tensor]) -> list[dict[str, Any]]:
    """Encodings of a layer's matrices in few bits, as overrides of a quantizer."""
    entries = []
    for matrix in list_matrices(spec):
        codes = tensors[name_layer_tensor(number, f"{matrix.source}.weight")]
        if isinstance(codes, Codes):
            entries.append(describe_codes(name_matrix(number, matrix.name), codes, matrix.rows))
    return entries


def name_matrix(layer: int, matrix: str) -> str:
    """The initializer of a graph."""
    return f"layer{layer}.{matrix}.weight"


def describe_codes(name: str, codes: Codes, rows: slice = slice(None)) -> dict[str, Any]:
    """A graph holds matrices as [inputs, outputs]: channels are the last axis, blocks run along the first."""
    entry: dict[str, Any] = {"name": name, "output_dtype": f"int{codes.grid.bits}"}
    if codes.nested is None or codes.scales.shape[1] == 1:
        return entry | {"y_scale": codes.scales[rows, 0].astype(float).tolist(), "axis": 1}
    return entry | {
        "per_channel_float_scale": codes.nested.units[rows].reshape(1, -1).astype(float).tolist(),
        "per_block_int_scale": np.asarray(codes.nested.steps[rows].T, int).tolist(),
        "block_size": codes.grid.find_block(codes.codes.shape[1]),
        "axis": 0,
    }
