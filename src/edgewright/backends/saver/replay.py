"""Replays recorded calls on another backend; the files are not trusted, like any other input."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.backends.saver.recording import CALLS, TENSORS, VERSION
from edgewright.core.errors import BadInput, EdgewrightError, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json
from edgewright.core.numbers import Array, DType
from edgewright.core.plain import from_plain
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.lower.lift import lift
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnScalar, QnnTensor, TensorKind

LARGEST = 1 << 31
MOST_AXES, LARGEST_WIDTH = 32, 32


def replay(folder: Path | str, backend: str) -> list[dict[str, Array]]:
    """The outputs of every recorded run, computed by the backend of that name."""
    graph, runs = open_recording(Path(folder))
    session = find_backend(backend).prepare(graph, RunOptions())
    return [session.run(inputs) for inputs in runs]


def open_recording(folder: Path) -> tuple[Graph, Iterator[dict[str, Array]]]:
    """The graph of a recording, and the inputs of its runs."""
    recording = _Recording(folder)
    return lift(recording.graph), (recording.inputs(run) for run in recording.runs)


@dataclass(frozen=True)
class _Tensor:
    """A tensor as a line has it; its data is at a place of the other file, of so many bytes."""

    name: str
    kind: int
    dtype: int
    dims: tuple[int, ...]
    encoding: Encoding | None = None
    data: tuple[int, int] | None = None


@dataclass(frozen=True)
class _Node:
    """A node as a line has it; scalars are pairs of a datatype and a value."""

    name: str
    package: str
    type: str
    scalar_params: dict[str, tuple[int, Any]]
    tensor_params: dict[str, _Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


_Places = dict[str, tuple[int, int]]


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
                f"the recording is damaged ({type(problem).__name__}: {shown(problem)})",
                self._where,
                do="record again",
            ) from None

    def inputs(self, run: _Places) -> dict[str, Array]:
        """The stored values of one run by the source's names."""
        names, tensors = self.graph.source_names, self.graph.tensors
        return {
            names.get(name, name): self._view(place, tensors[name].dtype, tensors[name].dims)
            for name, place in run.items()
        }

    def _read(self, lines: list[dict[str, Any]]) -> tuple[QnnGraph, list[_Places]]:
        head = lines[0]
        if head["call"] != "saver" or head["version"] != VERSION:
            raise ValueError(f"version {head.get('version')}, expected {VERSION}")
        by_call: dict[str, list[dict[str, Any]]] = {}
        for line in lines:
            by_call.setdefault(from_plain(str, line.pop("call")), []).append(line)
        tensors = self._read_tensors(by_call.get("tensorCreateGraphTensor", []))
        nodes = [self._read_node(from_plain(_Node, line)) for line in by_call.get("graphAddNode", [])]
        (name,) = (from_plain(str, line["name"]) for line in by_call["graphCreate"])
        names = from_plain(dict[str, str], head["source_names"])
        graph = QnnGraph(name, tensors, nodes, names)
        return graph, [self._read_run(graph, line["inputs"]) for line in by_call["graphExecute"]]

    def _read_tensors(self, lines: list[dict[str, Any]]) -> dict[str, QnnTensor]:
        tensors = [self._read_tensor(from_plain(_Tensor, line)) for line in lines]
        by_name = {tensor.name: tensor for tensor in tensors}
        if len(by_name) != len(tensors):
            raise ValueError("two tensors have the same name")
        return by_name

    def _read_run(self, graph: QnnGraph, content: Any) -> _Places:
        """Where each input of a run is; the bytes are there, and they are the tensor's."""
        run = from_plain(dict[str, tuple[int, int]], content)
        expected = {tensor.name: tensor for tensor in graph.of_kind(TensorKind.APP_WRITE)}
        if run.keys() != expected.keys():
            raise ValueError(f"a run has inputs {sorted(run)}, the graph {sorted(expected)}")
        for name, place in run.items():
            self._view(place, expected[name].dtype, expected[name].dims)
        return run

    def _read_node(self, said: _Node) -> QnnNode:
        scalars = {name: _read_scalar(*pair) for name, pair in said.scalar_params.items()}
        tensors = {name: self._read_tensor(item) for name, item in said.tensor_params.items()}
        return QnnNode(said.name, said.package, said.type, scalars, tensors, said.inputs, said.outputs)

    def _read_tensor(self, said: _Tensor) -> QnnTensor:
        dtype, kind = DType(said.dtype), TensorKind(said.kind)
        if not said.name or any(dim < 0 for dim in said.dims) or len(said.dims) > MOST_AXES:
            raise ValueError(f"tensor '{said.name}' has dims {list(said.dims)}")
        if (said.data is None) == (kind == TensorKind.STATIC):
            raise ValueError(f"tensor '{said.name}' of kind {kind.name} has data, or lacks it")
        if said.encoding is not None:
            _check_encoding(said.encoding, said.dims)
        data = None if said.data is None else self._view(said.data, dtype, said.dims)
        return QnnTensor(said.name, kind, dtype, said.dims, said.encoding, data)

    def _view(self, place: tuple[int, int], dtype: DType, dims: tuple[int, ...]) -> Array:
        """The bytes at a place, which must be exactly the tensor's."""
        start, size = place
        wanted = math.prod(dims) * dtype.numpy.itemsize
        if size != wanted or start < 0 or start + size > len(self._bytes):
            raise ValueError(f"{size} bytes at {start} of {len(self._bytes)}, expected {wanted}")
        if dtype == DType.BOOL_8:
            # A byte of a stranger may be neither 0 nor 1, which numpy must never see inside a bool.
            flags = np.frombuffer(self._bytes, np.uint8, size, start) != 0
            return np.asarray(flags).reshape(dims)
        return np.frombuffer(self._bytes, dtype.numpy, math.prod(dims), start).reshape(dims)


def _read_scalar(code: int, value: Any) -> QnnScalar:
    dtype = DType(code)
    if not _is_of_type(value, dtype):
        raise ValueError(f"{value!r:.60} is no scalar of {dtype.name}")
    return QnnScalar(dtype, value)


def _is_of_type(value: Any, dtype: DType) -> bool:
    if dtype == DType.STRING:
        return isinstance(value, str)
    if dtype == DType.BOOL_8:
        return value in (0, 1)
    if dtype.is_float:
        return type(value) in {int, float}
    limits = np.iinfo(dtype.numpy)
    return type(value) is int and int(limits.min) <= value <= int(limits.max)


def _check_encoding(encoding: Encoding, dims: tuple[int, ...]) -> None:
    pairs, axis = len(encoding.scales), encoding.axis
    is_counted = pairs == len(encoding.offsets) and pairs > 0
    fits = axis is None or (0 <= axis < len(dims) and pairs % max(dims[axis], 1) == 0)
    fits &= encoding.block_axis is None or 0 <= encoding.block_axis < len(dims)
    are_scales = all(math.isfinite(scale) and scale > 0 for scale in encoding.scales)
    if not (is_counted and fits and are_scales and 0 < encoding.bitwidth <= LARGEST_WIDTH):
        raise ValueError(f"an encoding of dims {list(dims)} does not fit: {encoding!r:.200}")
