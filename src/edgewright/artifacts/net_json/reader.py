"""The JSON description of a model and its weights back to records; no field is trusted."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.artifacts.cpp.bin import WeightFile, open_weights
from edgewright.artifacts.net_json.fields import Fields, as_integer, as_name, parse
from edgewright.artifacts.net_json.tensors import convert_scalar, find_dtype, read_tensor
from edgewright.artifacts.wiring import check_order
from edgewright.core.errors import BadInput, Where, advise_otherwise, shown
from edgewright.core.files import read_limited, resolve_inside
from edgewright.core.numbers import Array, DType
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind

# A thousand bytes for each of 250,000 nodes and tensors.
_LARGEST_FILE = 1 << 28
_LARGEST_CODE = 2**32 - 1
_NO_FILE = "N/A"


@advise_otherwise("convert the model again")
def read(path: Path | str, weights: Path | str | None = None, *, is_empty: bool = False) -> QnnGraph:
    """The graph of a net.json.

    Args:
        path: the JSON file.
        weights: its model.bin; if not given, the file that the JSON names, in the same folder.
        is_empty: read no weights: zeros that take no memory stand for them.
    """
    path = Path(path)
    where = Where(file=str(path))
    document = parse(read_limited(path, _LARGEST_FILE), where)
    graph = document.fields("graph")
    lookup = _Weights(path, document, None if weights is None else Path(weights))
    tensors = {
        name: read_tensor(name, value, where, _make_zeros if is_empty else lookup.array)
        for name, value in graph.fields("tensors").items()
    }
    ours = document.fields("edgewright") if "edgewright" in document else Fields({}, where, "'edgewright'")
    for name in ours.names("absent_inputs") if "absent_inputs" in ours else ():
        tensors.setdefault(name, QnnTensor(name, TensorKind.NULL, DType.FLOAT_32, (1,)))
    nodes = [_read_node(name, value, where) for name, value in graph.fields("nodes").items()]
    check_order(tensors, nodes, where)
    maps = (_read_texts(ours, key) for key in ("source_names", "forms", "gone"))
    return QnnGraph(_read_graph_name(ours, path), tensors, nodes, *maps)


def _make_zeros(_name: str, dtype: DType, dims: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.zeros((), dtype.numpy), dims)


class _Weights:
    """Opens the model.bin when the first static tensor needs it; a model without weights has none."""

    def __init__(self, path: Path, document: Fields, given: Path | None) -> None:
        self._path = path
        self._document = document
        self._given = given
        self._file: WeightFile | None = None

    def array(self, name: str, dtype: DType, dims: tuple[int, ...]) -> Array:
        if self._file is None:
            self._file = open_weights(self._given or self._named())
        return self._file.array(name, dtype, dims)

    def _named(self) -> Path:
        name = self._document.text("model.bin")
        if name in {"", _NO_FILE}:
            raise BadInput(
                f"the model has static tensors, but 'model.bin' is '{name}'",
                self._document.where,
                do="give the weights file too",
            )
        # Only the last part counts: converters write the path that the file had when it was made.
        return resolve_inside(self._path.parent, re.split(r"[/\\]", name)[-1], str(self._path))


def _read_node(name: str, value: Any, file: Where) -> QnnNode:
    where = replace(file, node=name)
    fields = Fields(value, where, f"node '{shown(name)}'")
    scalars = fields.fields("scalar_params").items() if "scalar_params" in fields else ()
    tensors = fields.fields("tensor_params").items() if "tensor_params" in fields else ()
    return QnnNode(
        name=name,
        package=as_name(fields.first_of("package"), "'package'", where),
        type=as_name(fields.first_of("type"), "'type'", where),
        # Converters keep the package among the parameters as well; it is not one.
        scalar_params={key: _read_scalar(key, item, where) for key, item in scalars if key != "packageName"},
        tensor_params={key: _read_tensor_param(key, item, where) for key, item in tensors},
        inputs=fields.names("input_names"),
        outputs=fields.names("output_names"),
        macs=_read_macs(fields),
    )


def _read_scalar(name: str, value: Any, where: Where) -> QnnScalar:
    code, item = _take_only_item(name, value, where)
    if not re.fullmatch(r"[0-9]{1,10}", code):
        raise BadInput(f"parameter '{shown(name)}' has data type '{shown(code)}', expected a number", where)
    dtype = find_dtype(as_integer(int(code), "data type", where, 0, _LARGEST_CODE), where)
    return QnnScalar(dtype, convert_scalar(item, dtype, f"parameter '{shown(name)}'", where))


def _read_tensor_param(name: str, value: Any, where: Where) -> QnnTensor:
    tensor_name, item = _take_only_item(name, value, where)
    tensor = read_tensor(tensor_name, item, where, _refuse_lookup(where))
    if tensor.kind != TensorKind.STATIC:
        found, expected = int(tensor.kind), int(TensorKind.STATIC)
        raise BadInput(f"parameter '{shown(name)}' has tensor type {found}, expected {expected}", where)
    return tensor


def _refuse_lookup(where: Where) -> Any:
    def lookup(name: str, *_: object) -> Array:
        raise BadInput(f"parameter tensor '{shown(name)}' has no 'data'", where)

    return lookup


def _take_only_item(name: str, value: Any, where: Where) -> tuple[str, Any]:
    items = list(Fields(value, where, f"parameter '{shown(name)}'").items())
    if len(items) != 1:
        raise BadInput(f"parameter '{shown(name)}' has {len(items)} values, expected 1", where)
    return items[0]


def _read_macs(fields: Fields) -> int:
    # '13824 (100%)', or '' where an op has none
    text = fields.text("macs_per_inference") if "macs_per_inference" in fields else ""
    digits = re.match(r"[0-9]{1,30}", text)
    return int(digits.group()) if digits else 0


def _read_graph_name(ours: Fields, path: Path) -> str:
    if "graph_name" in ours:
        return as_name(ours.first_of("graph_name"), "'graph_name'", ours.where)
    return path.stem.removesuffix("_net") or "model"


def _read_texts(ours: Fields, key: str) -> dict[str, str]:
    if key not in ours:
        return {}
    names = {}
    for name, source in ours.fields(key).items():
        if not isinstance(source, str):
            raise BadInput(f"'{key}' has no text for '{shown(name)}'", ours.where)
        names[name] = source
    return names
