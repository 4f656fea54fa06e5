"""Replays recorded calls on another backend; the files are not trusted, like any other input."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.backends.saver.recording import CALLS, TENSORS, VERSION
from edgewright.core.errors import BadInput, EdgewrightError, Where
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.lower.lift import lift
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind

LARGEST = 1 << 31


def replay(folder: Path | str, backend: str) -> list[dict[str, Array]]:
    """The outputs of every recorded run, computed by the backend of that name."""
    recording = _Recording(Path(folder))
    graph = lift(recording.graph)
    session = find_backend(backend).prepare(graph, RunOptions())
    return [session.run(recording.inputs(run)) for run in recording.runs]


class _Recording:
    def __init__(self, folder: Path) -> None:
        self._where = Where(file=str(folder / CALLS))
        try:
            text = read_limited(folder / CALLS, LARGEST).decode()
            self._bytes = read_limited(folder / TENSORS, LARGEST)
        except EdgewrightError as problem:
            raise type(problem)(f"the recording cannot be read: {problem.what}", self._where) from None
        except UnicodeDecodeError:
            raise BadInput("the recording is not UTF-8", self._where, do="record again") from None
        try:
            self.graph, self.runs = self._read([parse_json(line) for line in text.splitlines()])
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as problem:
            raise BadInput(
                f"the recording is damaged ({type(problem).__name__}: {problem})",
                self._where,
                do="record again",
            ) from None

    def inputs(self, run: dict[str, Any]) -> dict[str, Array]:
        """The stored values of one run by the source's names."""
        names = self.graph.source_names
        return {names.get(name, name): self._values(name, place) for name, place in run.items()}

    def _read(self, lines: list[dict[str, Any]]) -> tuple[QnnGraph, list[dict[str, Any]]]:
        head = lines[0]
        if head["call"] != "saver" or head["version"] != VERSION:
            raise ValueError(f"version {head.get('version')}, expected {VERSION}")
        by_call: dict[str, list[dict[str, Any]]] = {}
        for line in lines:
            by_call.setdefault(line["call"], []).append(line)
        tensors = [self._tensor(line) for line in by_call.get("tensorCreateGraphTensor", [])]
        nodes = [self._node(line) for line in by_call.get("graphAddNode", [])]
        (name,) = (line["name"] for line in by_call["graphCreate"])
        names = {str(key): str(value) for key, value in head["source_names"].items()}
        graph = QnnGraph(name, {tensor.name: tensor for tensor in tensors}, nodes, names)
        return graph, [line["inputs"] for line in by_call["graphExecute"]]

    def _node(self, line: dict[str, Any]) -> QnnNode:
        scalars = {
            name: QnnScalar(DType(code), value) for name, (code, value) in line["scalar_params"].items()
        }
        tensors = {name: self._tensor(item) for name, item in line["tensor_params"].items()}
        ends = tuple(line["inputs"]), tuple(line["outputs"])
        return QnnNode(line["name"], line["package"], line["type"], scalars, tensors, *ends)

    def _tensor(self, line: dict[str, Any]) -> QnnTensor:
        dims, dtype = tuple(int(dim) for dim in line["dims"]), DType(line["dtype"])
        said = line.get("encoding")
        encoding = None if said is None else _read_encoding(said)
        data = self._array(line["data"], dtype, dims) if "data" in line else None
        return QnnTensor(line["name"], TensorKind(line["kind"]), dtype, dims, encoding, data)

    def _values(self, name: str, place: list[int]) -> Array:
        if name not in self.graph.tensors:
            raise BadInput(
                f"a run has input '{name}', which the graph does not have", self._where, do="record again"
            )
        tensor = self.graph.tensors[name]
        try:
            return self._array(place, tensor.dtype, tensor.dims)
        except ValueError as problem:
            raise BadInput(f"the recording is damaged: {problem}", self._where, do="record again") from None

    def _array(self, place: list[int], dtype: DType, dims: tuple[int, ...]) -> Array:
        """The bytes at a place, which must be exactly the tensor's."""
        start, size = (int(number) for number in place)
        wanted = math.prod(dims) * dtype.numpy.itemsize
        if size != wanted or start < 0 or size > LARGEST or start + size > len(self._bytes):
            raise ValueError(f"{size} bytes at {start} of {len(self._bytes)}, expected {wanted}")
        return np.frombuffer(self._bytes, dtype.numpy, math.prod(dims), start).reshape(dims)


def _read_encoding(fields: dict[str, Any]) -> Encoding:
    encoding = Encoding(**{key: _frozen(item) for key, item in fields.items()})
    if len(encoding.scales) != len(encoding.offsets) or not all(
        math.isfinite(scale) and scale > 0 for scale in encoding.scales
    ):
        raise ValueError(f"an encoding has scales {encoding.scales} and offsets {encoding.offsets}")
    return encoding


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
