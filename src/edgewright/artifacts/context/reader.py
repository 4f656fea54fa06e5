"""The bytes of a context binary back to records; no field is trusted."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgewright.artifacts import raw_data
from edgewright.artifacts.context.frame import open_frame
from edgewright.artifacts.context.records import BACKENDS, SETTINGS, Context, ContextHead
from edgewright.artifacts.net_json.fields import Fields, as_float, as_integer, as_name, parse
from edgewright.artifacts.net_json.tensors import convert_scalar, find_dtype
from edgewright.artifacts.wiring import check_order
from edgewright.core.errors import BadInput, LimitExceeded, Where, advise_otherwise, shown
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind

_UINT32 = 2**32 - 1
_INT32 = 2**31
_LARGEST_RANK = 32
_LARGEST_NUMBER = 2**62
_MOST_GRAPHS = 1000


@advise_otherwise("copy it again, or make it again with qnn-context-binary-generator")
def read(path: Path | str) -> Context:
    """The context of a file; the weights stay in it until they are needed."""
    path = Path(path)
    where = Where(file=str(path))
    frame = open_frame(path)
    document = parse(frame.description, where)
    listed = document.array("graphs")
    if not 1 <= len(listed) <= _MOST_GRAPHS:
        raise BadInput(f"there are {len(listed)} graphs, expected 1 to {_MOST_GRAPHS}", where)
    reader = _Reader(frame.data, where)
    graphs = tuple(reader.read_graph(Fields(item, where, "a graph")) for item in listed)
    names = {graph.name for graph in graphs}
    if len(names) != len(graphs):
        raise BadInput("two graphs have the same name, expected unique names", where)
    return Context(_read_head(document.fields("head")), graphs)


def read_graph(description: bytes, data: memoryview, where: Where) -> QnnGraph:
    """One graph that is described as in a context binary, with its data beside it."""
    return _Reader(data, where).read_graph(parse(description, where))


def _read_head(fields: Fields) -> ContextHead:
    backend = fields.text("backend")
    if backend not in BACKENDS:
        raise BadInput(
            f"the context is for backend '{shown(backend)}', expected one of: {', '.join(BACKENDS)}",
            fields.where,
        )
    settings = fields.fields("settings").items()
    return ContextHead(
        backend=backend,
        producer=fields.text("producer"),
        soc=fields.text("soc"),
        soc_model=fields.integer("soc_model", 0, _UINT32),
        dsp_arch=fields.integer("dsp_arch", 0, 1000),
        vtcm_mb=fields.integer("vtcm_mb", 0, _UINT32),
        priority=fields.text("priority"),
        is_weight_sharing=fields.first_of("is_weight_sharing") is True,
        settings={name: _read_settings(Fields(item, fields.where, "'settings'")) for name, item in settings},
    )


def _read_settings(fields: Fields) -> dict[str, int]:
    return {key: fields.integer(key, 0, _UINT32) for key, _ in fields.items() if key in SETTINGS}


class _Reader:
    """Makes records; limits what is copied, because many tensors may name the same bytes."""

    def __init__(self, data: memoryview, where: Where) -> None:
        self._data = data
        self._where = where
        self._copied = 0

    def read_graph(self, fields: Fields) -> QnnGraph:
        listed = [self._read_tensor(item, self._where) for item in fields.array("tensors")]
        tensors = {tensor.name: tensor for tensor in listed}
        if len(tensors) != len(listed):
            raise BadInput("two tensors have the same name, expected unique names", self._where)
        nodes = [self._read_node(item) for item in fields.array("nodes")]
        check_order(tensors, nodes, self._where)
        name = as_name(fields.first_of("name"), "the graph's name", self._where)
        maps = (_read_texts(fields, key) for key in ("source_names", "forms", "gone"))
        return QnnGraph(name, tensors, nodes, *maps)

    def _read_node(self, value: Any) -> QnnNode:
        fields = Fields(value, self._where, "a node")
        where = replace(self._where, node=as_name(fields.first_of("name"), "the name", self._where))
        fields = replace(fields, where=where)
        return QnnNode(
            name=str(where.node),
            package=as_name(fields.first_of("package"), "'package'", where),
            type=as_name(fields.first_of("type"), "'type'", where),
            scalar_params={
                key: _read_scalar(key, item, where) for key, item in fields.fields("scalars").items()
            },
            tensor_params={
                key: self._read_param(key, item, where) for key, item in fields.fields("params").items()
            },
            inputs=fields.names("inputs"),
            outputs=fields.names("outputs"),
            macs=fields.integer("macs", 0, _LARGEST_NUMBER),
        )

    def _read_param(self, name: str, value: Any, where: Where) -> QnnTensor:
        tensor = self._read_tensor(value, where)
        if tensor.kind != TensorKind.STATIC:
            raise BadInput(f"parameter '{shown(name)}' has tensor type {int(tensor.kind)}, expected 4", where)
        return tensor

    def _read_tensor(self, value: Any, where: Where) -> QnnTensor:
        fields = Fields(value, where, "a tensor")
        name = as_name(fields.first_of("name"), "the tensor's name", where)
        fields = replace(fields, where=replace(where, tensor=name))
        kind = TensorKind(fields.integer("kind", 0, int(TensorKind.NULL)))
        dtype = find_dtype(fields.integer("dtype", 0, _UINT32), fields.where)
        dims = _read_dims(fields, dtype)
        return QnnTensor(
            name,
            kind,
            dtype,
            dims,
            _read_encoding(fields.fields("encoding"), dtype, dims) if "encoding" in fields else None,
            self._read_array(fields, dtype, dims) if kind == TensorKind.STATIC else None,
            fields.text("axis_format") if "axis_format" in fields else "ANY",
            _order(fields, len(dims)),
        )

    def _read_array(self, fields: Fields, dtype: DType, dims: tuple[int, ...]) -> Array:
        if dtype == DType.STRING:
            raise BadInput("the tensor holds strings, a static tensor of QNN holds numbers", fields.where)
        size = raw_data.measure_stored(dtype, dims)
        place = fields.integer("data", 0, _LARGEST_NUMBER)
        if place + size > len(self._data):
            raise BadInput(
                f"its data is at bytes {place} to {place + size}, the file has {len(self._data)}",
                fields.where,
            )
        if dtype == DType.BOOL_8 or dtype.bits == 4:
            self._spend(math.prod(dims), fields.where)
        return raw_data.view_array(self._data, place, dtype, dims)

    def _spend(self, size: int, where: Where) -> None:
        """Counts bytes that are about to be copied; values of 4 bits take half a byte in the file."""
        self._copied += size
        if self._copied > 2 * len(self._data):
            raise LimitExceeded(
                f"its tensors need {self._copied} bytes of memory, {len(self._data)} are stored", where
            )


def _read_texts(fields: Fields, key: str) -> dict[str, str]:
    return {name: str(item) for name, item in fields.fields(key).items()} if key in fields else {}


def _read_scalar(name: str, value: Any, where: Where) -> QnnScalar:
    if not isinstance(value, list) or len(value) != 2:
        raise BadInput(f"parameter '{shown(name)}' is not a pair of data type and value", where)
    dtype = find_dtype(as_integer(value[0], "data type", where, 0, _UINT32), where)
    return QnnScalar(dtype, convert_scalar(value[1], dtype, f"parameter '{shown(name)}'", where))


def _read_dims(fields: Fields, dtype: DType) -> tuple[int, ...]:
    dims = fields.integers(0, _UINT32, "dims")
    raw_data.check_dims(dims, dtype, fields.where)
    return dims


def _order(fields: Fields, rank: int) -> tuple[int, ...]:
    order = fields.integers(0, _LARGEST_RANK, "order") if "order" in fields else ()
    if order and sorted(order) != list(range(rank)):
        raise BadInput(f"'order' is {list(order)}, expected an order of the {rank} axes", fields.where)
    return order


def _read_encoding(fields: Fields, dtype: DType, dims: tuple[int, ...]) -> Encoding:
    scales = tuple(as_float(item, "a scale", fields.where) for item in fields.array("scales"))
    if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
        raise BadInput("a scale is not a finite number of at least 0", fields.where)
    axis = fields.integer("axis", 0, max(len(dims) - 1, 0)) if "axis" in fields else None
    found = Encoding(
        scales,
        fields.integers(-_INT32, _INT32 - 1, "offsets"),
        axis,
        fields.integer("bitwidth", 1, max(dtype.bits, 8)),
        **(_read_blocks(fields.fields("blocks"), len(dims)) if "blocks" in fields else {}),
    )
    _check_counts(found, dims, fields.where)
    return found


def _read_blocks(fields: Fields, rank: int) -> dict[str, Any]:
    return {
        "block_axis": fields.integer("axis", 0, max(rank - 1, 0)),
        "block_size": fields.integer("size", 1, _UINT32),
        "block_scales": bytes(fields.integers(0, 255, "scales")),
    }


def _check_counts(found: Encoding, dims: tuple[int, ...], where: Where) -> None:
    """One pair for the tensor, for each slice of the axis, or for each block of each slice."""
    slices = 1 if found.axis is None else dims[found.axis] if dims else -1
    blocks = slices
    if found.block_axis is not None:
        if found.axis is None or found.axis == found.block_axis:
            raise BadInput("blocks need an axis besides their own", where)
        blocks = slices * -(-dims[found.block_axis] // found.block_size)
    pairs = slices if found.block_scales else blocks
    counts = (len(found.scales), len(found.offsets), len(found.block_scales) or blocks)
    if counts != (pairs, pairs, blocks):
        raise BadInput(
            f"there are {counts[0]} scales, {counts[1]} offsets and {len(found.block_scales)} block scales, "
            f"expected {pairs} pairs for {blocks} blocks",
            where,
        )
