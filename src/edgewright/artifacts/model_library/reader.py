"""Model libraries back to records: composed in another process, their weights used in place."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgewright.artifacts import raw_data
from edgewright.artifacts.blockwise import FACTOR_BITS, add_blocks
from edgewright.artifacts.description import check_unique
from edgewright.artifacts.model_library.composer import Composed, check_library, compose, say_that_it_is_code
from edgewright.artifacts.wiring import check_order
from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.files import map_file
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind


def read(path: Path | str, prefix: str = "QnnModel") -> tuple[QnnGraph, ...]:
    """The graphs of a model library, in the order in which it makes them.

    Args:
        path: the library, which is code and is run.
        prefix: what comes before '_composeGraphs' in the name of its function.
    """
    path = Path(path)
    check_library(path)
    say_that_it_is_code(path)
    composed = compose(path, prefix)
    if not composed.graphs:
        raise BadInput("the library composed no graph, expected at least 1", Where(file=str(path)))
    content = _Content(path, map_file(Path(os.path.realpath(path))), composed)
    return tuple(_read_graph(graph, content) for graph in composed.graphs)


@dataclass(frozen=True)
class _Content:
    """The bytes that tensors point to: pages of the library's file, or what was sent."""

    path: Path
    file: memoryview
    composed: Composed

    def array(self, name: str, place: Any, dtype: DType, dims: tuple[int, ...]) -> Array:
        kind, offset, size = place
        source = self.file if kind == "file" else self.composed.sent
        where = Where(file=str(self.path), tensor=name)
        if dtype == DType.STRING:
            raise BadInput("the tensor holds strings, a static tensor of QNN holds numbers", where)
        expected = raw_data.measure_stored(dtype, dims)
        if size != expected or offset + size > len(source):
            raise BadInput(
                f"the tensor has {size} bytes, {dtype.name} {list(dims)} needs {expected}",
                where,
                do="build the library again from the files that one conversion wrote",
            )
        return raw_data.view_array(source, offset, dtype, dims)


def _read_graph(found: Mapping[str, Any], content: _Content) -> QnnGraph:
    where = Where(file=str(content.path))
    params = {item[0] for node in found["nodes"] for item in node["tensors"].values()}
    # Parameters of a node are created like other tensors, but belong to it alone.
    listed = [item for item in found["tensors"] if item[0] not in params]
    check_unique("tensor", [item[0] for item in listed])
    tensors = {item[0]: _read_tensor(item, content) for item in listed}
    nodes = [_read_node(node, content) for node in found["nodes"]]
    check_unique("node", [node.name for node in nodes])
    check_order(tensors, nodes, where)
    return QnnGraph(found["name"], tensors, nodes)


def _read_node(found: Mapping[str, Any], content: _Content) -> QnnNode:
    where = Where(file=str(content.path), node=found["name"])
    scalars = {name: _read_scalar(name, item, where) for name, item in found["scalars"].items()}
    return QnnNode(
        found["name"],
        found["package"],
        found["type"],
        {name: scalar for name, scalar in scalars.items() if name != "packageName"},
        {name: _read_tensor(item, content) for name, item in found["tensors"].items()},
        tuple(found["inputs"]),
        tuple(found["outputs"]),
    )


def _read_scalar(name: str, found: Any, where: Where) -> QnnScalar:
    dtype = _read_dtype(found[0], where)
    if found[1] is None:
        raise UnsupportedFeature(f"parameter '{shown(name)}' is a scalar of {dtype.name}", where)
    return QnnScalar(dtype, bool(found[1]) if dtype == DType.BOOL_8 else found[1])


def _read_tensor(found: Any, content: _Content) -> QnnTensor:
    name, kind, code, dims, encoding, place = found
    where = Where(file=str(content.path), tensor=name)
    dtype, shape = _read_dtype(code, where), tuple(dims)
    if kind not in {int(known) for known in TensorKind}:
        raise UnsupportedFeature(f"tensor type {kind} is not known here, expected 0 to 5", where)
    data = None if place is None else content.array(name, place, dtype, shape)
    return QnnTensor(
        name, TensorKind(kind), dtype, shape, _read_encoding(encoding, dtype, shape, where), data
    )


def _read_encoding(found: Any, dtype: DType, dims: tuple[int, ...], where: Where) -> Encoding | None:
    if found is None or not dtype.is_fixed_point:
        return None
    bits, axis, scales, offsets, *blocks = found
    if bits < 0:
        raise UnsupportedFeature(f"the tensor's encoding is of kind {axis}, expected 0 to 3 or 5", where)
    if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
        raise BadInput(f"a scale is {min(scales)}, expected finite numbers of at least 0", where)
    if bits > dtype.bits:
        raise BadInput(f"the encoding has {bits} bits, {dtype.name} at most {dtype.bits}", where)
    expected = 1 if axis is None else dims[axis] if 0 <= axis < len(dims) else 0
    if len(scales) != expected or len(offsets) != expected:
        raise BadInput(f"there are {len(scales)} scales along axis {axis} of {list(dims)}", where)
    channels = Encoding(tuple(scales), tuple(offsets), axis, bits or dtype.bits)
    return _read_blocks(channels, blocks, dims, where) if blocks else channels


def _read_blocks(channels: Encoding, blocks: list[Any], dims: tuple[int, ...], where: Where) -> Encoding:
    count, width, factors = blocks
    if width != FACTOR_BITS:
        raise UnsupportedFeature(f"scales of blocks have {width} bits, expected {FACTOR_BITS}", where)
    return add_blocks(replace(channels, bitwidth=FACTOR_BITS), dims, count, factors, where)


def _read_dtype(code: int, where: Where) -> DType:
    try:
        return DType(code)
    except ValueError:
        raise UnsupportedFeature(f"datatype {code:#x} is not known here", where) from None
