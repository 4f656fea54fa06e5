"""Opens an ONNX model: the graph, its opsets and its weights, without copying what can stay on disk."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from edgewright.core.errors import BadInput, LimitExceeded, UnsupportedFeature, Where
from edgewright.core.numbers import Array
from edgewright.frontends._common.mapping import map_file
from edgewright.frontends._common.stored import LARGEST_FILLED, check_dims
from edgewright.frontends.onnx.external import ExternalData
from edgewright.frontends.onnx.order import Captures
from edgewright.frontends.onnx.tensors import (
    check_stored_once,
    find_dtype,
    from_bytes,
    read_array,
    read_dims,
)
from edgewright.frontends.onnx.wire import Slim, extract_payloads


class OnnxFile:
    """A parsed model and where its weights lie."""

    def __init__(
        self,
        model: onnx.ModelProto,
        name: str = "model",
        folder: Path | None = None,
        weights: Slim | None = None,
    ) -> None:
        self.name = name
        self.graph = model.graph
        self.value_info = {i.name: i for i in (*model.graph.value_info, *model.graph.output)}
        self.metadata = {item.key: item.value for item in model.metadata_props}
        self.functions = _read_functions(model, name)
        self.captures = Captures()
        self._external = ExternalData(folder)
        self._weights = weights or Slim()
        self._data = memoryview(b"")
        self._opsets = _read_opsets(model.opset_import, name)

    @classmethod
    def open(cls, path: Path) -> "OnnxFile":
        """Maps a file; its external data must lie in the same folder or below."""
        where = Where(file=str(path))
        data = map_file(path, where)
        return cls._parse_model(data, str(path), path.absolute().parent)

    @classmethod
    def from_bytes(cls, data: bytes, folder: Path | None = None) -> "OnnxFile":
        """A serialized model in memory, with the folder of its external data where it has some."""
        return cls._parse_model(memoryview(data), "model", folder)

    @classmethod
    def _parse_model(cls, data: memoryview, name: str, folder: Path | None) -> "OnnxFile":
        where = Where(file=name)
        try:
            weights = extract_payloads(data)
            model = onnx.ModelProto.FromString(weights.data())
        except (BadInput, LimitExceeded) as problem:
            raise type(problem)(problem.what, where, problem.do) from None
        except DecodeError as problem:
            raise BadInput(
                f"not an ONNX model ({problem})",
                where,
                do="check that the file is complete and is an ONNX model",
            ) from None
        weights.chunks = []
        file = cls(model, name, folder, weights)
        file._data = data
        return file

    def opset(self, domain: str) -> int:
        """The version of a domain that the model was written for; ONNX's own must be given."""
        found = self._opsets.get(_name_domain(domain), 0 if _name_domain(domain) == "" else 1)
        if not found:
            raise BadInput(
                "the model does not say which opset it was written for",
                Where(file=self.name),
                do="export the model again",
            )
        return found

    @contextmanager
    def opsets_of(self, body: onnx.FunctionProto) -> Iterator[None]:
        """Inside, the opsets are those that a function was written for."""
        before = self._opsets
        self._opsets = {**before, **_read_opsets(body.opset_import, self.name)}
        try:
            yield
        finally:
            self._opsets = before

    def array(self, tensor: onnx.TensorProto, where: Where) -> Array:
        """A tensor as an array: a view of the file wherever its layout allows."""
        check_stored_once(tensor, where)
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            return read_array(tensor, where)
        dtype, dims = find_dtype(tensor.data_type, where), read_dims(tensor, where)
        entries = tensor.external_data
        if entries and entries[-1].key == self._weights.key:
            payload = self._weights.payloads[int(entries[-1].value)]
            data = self._data[payload.offset : payload.offset + payload.length]
            return from_bytes(data, dtype, dims, where, payload.field)
        expected = (prod(dims) * dtype.bits + 7) // 8
        return from_bytes(self._external.data(tensor, expected, where), dtype, dims, where)

    def dense(self, sparse: onnx.SparseTensorProto, where: Where) -> Array:
        """A sparse tensor with its zeros written out."""
        dims = tuple(sparse.dims)
        check_dims(dims, where)
        if prod(dims) > LARGEST_FILLED:
            raise LimitExceeded(
                f"a sparse tensor of shape {list(dims)} has {prod(dims)} elements, at most {LARGEST_FILLED} "
                "are written out",
                where,
                do="store it as a dense tensor",
            )
        values = self.array(sparse.values, where)
        places = _find_places(self.array(sparse.indices, where), dims, values.size, where)
        result: Array = np.zeros(prod(dims), values.dtype)
        result[places] = values.reshape(-1)
        return result.reshape(dims)


def _find_places(indices: Array, dims: tuple[int, ...], count: int, where: Where) -> Array:
    """Positions in row-major order: stored so, or as one row of coordinates for each value."""
    expected = (count,) if indices.ndim == 1 else (count, len(dims))
    if indices.shape != expected or indices.dtype != np.int64:
        raise BadInput(
            f"sparse indices are {indices.dtype} {list(indices.shape)}, expected int64 {list(expected)}",
            where,
            do="export the model again",
        )
    limits = np.asarray([prod(dims)] if indices.ndim == 1 else dims, np.int64)
    if count and bool(np.any((indices < 0) | (indices >= limits))):
        raise BadInput(
            f"sparse indices are {indices.min()} to {indices.max()}, outside of shape {list(dims)}",
            where,
            do="export the model again",
        )
    is_flat = indices.ndim == 1 or not count
    places: Array = indices.reshape(-1)[:count] if is_flat else np.ravel_multi_index(tuple(indices.T), dims)
    if len(np.unique(places)) != count:
        raise BadInput(
            f"{count} sparse values have {len(np.unique(places))} places, expected one for each",
            where,
            do="export the model again",
        )
    return places


def _read_functions(model: onnx.ModelProto, name: str) -> dict[tuple[str, str, str], onnx.FunctionProto]:
    functions = {(_name_domain(f.domain), f.name, f.overload): f for f in model.functions}
    if len(functions) < len(model.functions):
        counts = Counter(f"{f.domain}.{f.name}" for f in model.functions)
        raise BadInput(
            f"functions are defined twice: {', '.join(sorted(n for n, c in counts.items() if c > 1)):.500}",
            Where(file=name),
            do="export the model again",
        )
    return functions


def _read_opsets(imports: Iterable[onnx.OperatorSetIdProto], name: str) -> dict[str, int]:
    opsets = {_name_domain(item.domain): item.version for item in imports}
    newest = onnx.defs.onnx_opset_version()
    found = opsets.get("", newest)
    if found < 1:
        raise BadInput(f"opset {found} does not exist", Where(file=name), do="export the model again")
    if found > newest:
        raise UnsupportedFeature(
            f"the model is written for opset {found}, the newest known one is {newest}",
            Where(file=name),
            do=f"export it for opset {newest}, or install a newer onnx package",
        )
    return opsets


def _name_domain(name: str) -> str:
    return "" if name == "ai.onnx" else name
