"""Records a run as the calls that it would make: JSON lines, a program in C, and the bytes of all tensors."""

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.backends.base import RunOptions
from edgewright.backends.saver.c_program import CLOSING, write_execution, write_program
from edgewright.core.errors import UnsupportedFeature, UsageError
from edgewright.core.files import write_whole
from edgewright.core.numbers import Array
from edgewright.core.plain import to_plain
from edgewright.ir.graph import Graph
from edgewright.lower.lower import lower
from edgewright.lower.qnn_graph import QnnGraph, QnnNode, QnnTensor, TensorKind
from edgewright.passes.pipeline import HTP, run_passes

CALLS, PROGRAM, TENSORS = "saver_output.jsonl", "saver_output.c", "params.bin"
VERSION = 1

log = logging.getLogger(__name__)


class SaverSession:
    """Records the building of a graph at once, and each run as it comes."""

    def __init__(self, graph: Graph, options: RunOptions, folder: Path) -> None:
        self._outputs = list(dict.fromkeys((*graph.outputs, *options.extra_outputs)))
        self._graph = graph.copy()
        self._graph.outputs = self._outputs
        # In the form that HTP needs, as the libraries' own clients bring it: the program is to run there.
        run_passes(self._graph, HTP)
        self._record = lower(self._graph)
        self._names = {self._record.source_names.get(name, name): name for name in self._record.tensors}
        self._types = dict(graph.types)
        self._folder, self._written = folder, 0
        # Where the bytes of static tensors are; those of parameters by node and parameter.
        self._places: dict[str, tuple[int, int]] = {}
        self._begin()

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Records the run; nothing is computed, so every output is zero."""
        missing = [name for name in self._graph.inputs if name not in inputs]
        if missing:
            raise UsageError(f"inputs {missing} are missing", do=f"give all of {self._graph.inputs}")
        data: list[Array] = []
        kinds = {name: self._graph.types[name].dtype.numpy for name in self._graph.inputs}
        # Integers of 64 bits are narrow in the graph.
        stored = {name: np.asarray(inputs[name]).astype(kind, copy=False) for name, kind in kinds.items()}
        given = {self._names[name]: self._kept(array, data) for name, array in stored.items()}
        self._append([{"call": "graphExecute", "graph": self._record.name, "inputs": given}], data)
        self._append_to_program([given[tensor.name] for tensor in self._record.of_kind(TensorKind.APP_WRITE)])
        types = {name: self._types[name] for name in self._outputs}
        return {name: np.zeros(t.static_shape(), t.dtype.numpy) for name, t in types.items()}

    def placement(self) -> Mapping[str, str]:
        """No node runs."""
        return {node.name: "recorded" for node in self._graph.nodes}

    def _begin(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        data: list[Array] = []
        lines = [*_opening(self._record), *self._tensors(data), *self._nodes(data)]
        lines.append({"call": "graphFinalize", "graph": self._record.name})
        write_whole(self._folder / CALLS, [_text(lines)])
        write_whole(self._folder / TENSORS, (np.ascontiguousarray(array).tobytes() for array in data))
        self._begin_program()

    def _begin_program(self) -> None:
        """Writes the program, unless it has no form for something in the graph."""
        try:
            program = write_program(self._record, self._places)
        except UnsupportedFeature as problem:
            (self._folder / PROGRAM).unlink(missing_ok=True)
            log.warning("%s is not written: %s; %s", PROGRAM, problem.what, problem.do)
            return
        write_whole(self._folder / PROGRAM, [program.encode()])

    def _append_to_program(self, inputs: list[list[int]]) -> None:
        """Puts an execution before the end of the program."""
        path = self._folder / PROGRAM
        if not path.exists():
            return
        text = write_execution([(offset, size) for offset, size in inputs]) + CLOSING
        with path.open("r+b") as file:
            file.seek(-len(CLOSING), os.SEEK_END)
            file.write(text.encode())

    def _tensors(self, data: list[Array]) -> list[dict[str, Any]]:
        tensors = self._record.tensors.values()
        return [{"call": "tensorCreateGraphTensor", **self._tensor(item, data)} for item in tensors]

    def _nodes(self, data: list[Array]) -> list[dict[str, Any]]:
        return [{"call": "graphAddNode", **self._node(node, data)} for node in self._record.nodes]

    def _node(self, node: QnnNode, data: list[Array]) -> dict[str, Any]:
        scalars = {name: [int(item.dtype), item.value] for name, item in node.scalar_params.items()}
        tensors = {
            name: self._tensor(item, data, f"{node.name}/{name}") for name, item in node.tensor_params.items()
        }
        return {
            "name": node.name,
            "package": node.package,
            "type": node.type,
            "scalar_params": scalars,
            "tensor_params": tensors,
            "inputs": node.inputs,
            "outputs": node.outputs,
        }

    def _tensor(self, tensor: QnnTensor, data: list[Array], key: str = "") -> dict[str, Any]:
        said: dict[str, Any] = {
            "name": tensor.name,
            "kind": int(tensor.kind),
            "dtype": int(tensor.dtype),
            "dims": tensor.dims,
        }
        if tensor.encoding is not None:
            said["encoding"] = to_plain(tensor.encoding)
        if tensor.data is not None:
            offset, size = said["data"] = self._kept(tensor.data, data)
            self._places[key or tensor.name] = offset, size
        return said

    def _kept(self, array: Array, data: list[Array]) -> list[int]:
        """The place of the bytes: offset and length."""
        place = [self._written, int(array.nbytes)]
        data.append(array)
        self._written += int(array.nbytes)
        return place

    def _append(self, lines: list[dict[str, Any]], data: list[Array]) -> None:
        # Tensors first: a line never refers to bytes that do not exist yet.
        with (self._folder / TENSORS).open("ab") as file:
            for array in data:
                file.write(np.ascontiguousarray(array).tobytes())
        with (self._folder / CALLS).open("ab") as file:
            file.write(_text(lines))


def _opening(record: QnnGraph) -> list[dict[str, Any]]:
    return [
        {"call": "saver", "version": VERSION, "source_names": record.source_names},
        {"call": "backendCreate"},
        {"call": "contextCreate"},
        {"call": "graphCreate", "name": record.name},
    ]


def _text(lines: list[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()
