"""The matrices of a graph: which rows of a checkpoint's tensors they are, their codes in QNN's terms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.load.checkpoint import list_layer_shapes, name_layer_tensor
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.rounding.codes import Codes

HEAD_MATRIX = "lm_head"
Tensor = Codes | Array


@dataclass(frozen=True)
class Matrix:
    """A matrix of a layer in a graph, and the rows of the checkpoint's tensor that it is."""

    name: str
    source: str
    rows: slice


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
        weights[matrix.name] = decode(here[f"{matrix.source}.weight"])[matrix.rows]
        if f"{matrix.source}.bias" in here:
            weights[f"{matrix.name}.bias"] = decode(here[f"{matrix.source}.bias"])[matrix.rows]
    norms = {name.removesuffix(".weight"): decode(here[name]) for name in here if "norm" in name}
    return weights | {name.removeprefix("self_attn."): values for name, values in norms.items()}


def decode(tensor: Tensor) -> Array:
    """What a tensor stands for."""
    return tensor.decode() if isinstance(tensor, Codes) else tensor


def describe_codes(spec: ModelSpec, tensors: Mapping[str, Tensor], head: str) -> list[dict[str, Any]]:
    """Encodings of all matrices in few bits, as overrides of a quantizer."""
    entries = []
    for number in range(spec.layers):
        for matrix in list_matrices(spec):
            codes = tensors[name_layer_tensor(number, f"{matrix.source}.weight")]
            if isinstance(codes, Codes):
                entries.append(_describe(name_matrix(number, matrix.name), codes, matrix.rows))
    codes = tensors[head]
    return [*entries, _describe(HEAD_MATRIX, codes, slice(None))] if isinstance(codes, Codes) else entries


def name_matrix(layer: int, matrix: str) -> str:
    """The initializer of a graph."""
    return f"layer{layer}.{matrix}.weight"


def _describe(name: str, codes: Codes, rows: slice) -> dict[str, Any]:
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
