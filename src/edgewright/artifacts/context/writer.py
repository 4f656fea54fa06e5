"""Records to the bytes of a context binary."""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from edgewright.artifacts import raw_data
from edgewright.artifacts.context.frame import ALIGNMENT, frame_file
from edgewright.artifacts.context.records import Context
from edgewright.artifacts.description import check_tensor_type, check_unique
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnTensor, TensorKind

Json = dict[str, Any]


def to_chunks(context: Context) -> Iterator[bytes | memoryview]:
    """The file; with weight sharing, tensors of the same bytes are stored once."""
    check_unique("graph", [graph.name for graph in context.graphs])
    store = _Store(is_shared=context.head.is_weight_sharing)
    description = {
        "head": asdict(context.head),
        "graphs": [_describe_graph(graph, store) for graph in context.graphs],
    }
    text = json.dumps(description, separators=(",", ":"), allow_nan=False)
    yield from frame_file(text.encode(), store.chunks(), store.size)


class _Store:
    """Places of tensors in the data, and the tensors in that order."""

    def __init__(self, *, is_shared: bool) -> None:
        self.size = 0
        self._is_shared = is_shared
        self._tensors: list[QnnTensor] = []
        self._places: dict[bytes, int] = {}

    def place(self, tensor: QnnTensor) -> int:
        """The offset at which the tensor's bytes will be stored."""
        key = self._hash_tensor(tensor)
        if key is not None and key in self._places:
            return self._places[key]
        place = self.size
        if key is not None:
            self._places[key] = place
        self._tensors.append(tensor)
        self.size += _pad_size(raw_data.pack_data(tensor).nbytes)
        return place

    def chunks(self) -> Iterator[bytes | memoryview]:
        """The data of all tensors."""
        for tensor in self._tensors:
            data = raw_data.pack_data(tensor)
            yield from raw_data.to_chunks(data)
            yield bytes(_pad_size(data.nbytes) - data.nbytes)

    def _hash_tensor(self, tensor: QnnTensor) -> bytes | None:
        if not self._is_shared:
            return None
        digest = hashlib.sha256()
        for chunk in raw_data.to_chunks(raw_data.pack_data(tensor)):
            digest.update(chunk)
        return digest.digest()


def _pad_size(size: int) -> int:
    return size + -size % ALIGNMENT


def _describe_graph(graph: QnnGraph, store: _Store) -> Json:
    return {
        "name": graph.name,
        "tensors": [_describe_tensor(tensor, store) for tensor in graph.tensors.values()],
        "nodes": [_describe_node(node, store) for node in graph.nodes],
        "source_names": graph.source_names,
        "forms": graph.forms,
        **({"gone": graph.gone} if graph.gone else {}),
    }


def _describe_node(node: QnnNode, store: _Store) -> Json:
    return {
        "name": node.name,
        "package": node.package,
        "type": node.type,
        "scalars": {name: [int(s.dtype), _spell_number(s.value)] for name, s in node.scalar_params.items()},
        "params": {name: _describe_tensor(tensor, store) for name, tensor in node.tensor_params.items()},
        "inputs": list(node.inputs),
        "outputs": list(node.outputs),
        "macs": node.macs,
    }


def _describe_tensor(tensor: QnnTensor, store: _Store) -> Json:
    check_tensor_type(tensor)
    entry: Json = {
        "name": tensor.name,
        "kind": int(tensor.kind),
        "dtype": int(tensor.dtype),
        "dims": list(tensor.dims),
    }
    if tensor.encoding is not None:
        entry["encoding"] = _describe_encoding(tensor.encoding)
    if tensor.axis_format != "ANY":
        entry["axis_format"] = tensor.axis_format
    if tensor.permute_order_to_src:
        entry["order"] = list(tensor.permute_order_to_src)
    if tensor.kind == TensorKind.STATIC:
        entry["data"] = store.place(tensor)
    return entry


def _describe_encoding(encoding: Encoding) -> Json:
    entry: Json = {
        "bitwidth": encoding.bitwidth,
        "scales": [_spell_number(float(scale)) for scale in encoding.scales],
        "offsets": [int(offset) for offset in encoding.offsets],
    }
    if encoding.axis is not None:
        entry["axis"] = encoding.axis
    if encoding.block_axis is not None:
        blocks = {"axis": encoding.block_axis, "size": encoding.block_size}
        entry["blocks"] = blocks | {"scales": [int(scale) for scale in encoding.block_scales]}
    return entry


def _spell_number(value: float | bool | str) -> float | bool | str:
    """Infinities and not-a-number as strings, because JSON has none."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
