"""A graph of a client that is ready to run on the memory which the library shares with us."""

import math
import time
from dataclasses import dataclass

import numpy as np

from edgewright.backends.base import Backend, RunOptions, Session, TimesNodes
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph
from edgewright.lower.lift import lift
from edgewright.lower.qnn_graph import QnnGraph, QnnTensor, TensorKind

# The library places tensors at multiples of this: all inputs, then all outputs.
ALIGNMENT = 64


@dataclass(frozen=True)
class Buffers:
    """Views of shared memory: arrays to read, bytes of booleans to read, arrays to fill."""

    inputs: dict[str, Array]
    flags: dict[str, Array]
    outputs: dict[str, Array]


class ServedGraph:
    """The records of a graph and its session."""

    def __init__(self, records: QnnGraph, backend: Backend) -> None:
        self.records = records
        self._graph: Graph = lift(records)
        self._backend = backend
        self._session: Session = backend.prepare(self._graph, RunOptions())

    @property
    def inputs(self) -> list[QnnTensor]:
        """What a client writes."""
        return self.records.of_kind(TensorKind.APP_WRITE)

    @property
    def outputs(self) -> list[QnnTensor]:
        """What a client reads."""
        return self.records.of_kind(TensorKind.APP_READ)

    def map_buffers(self, memory: memoryview) -> Buffers:
        """The views of its tensors; the memory must be large enough."""
        arrays, at = {}, 0
        for tensor in (*self.inputs, *self.outputs):
            kind = np.dtype(np.uint8) if tensor.dtype == DType.BOOL_8 else tensor.dtype.numpy
            count = math.prod(tensor.dims)
            arrays[self._name(tensor)] = np.frombuffer(memory, kind, count, at).reshape(tensor.dims)
            at += count * kind.itemsize
            at += -at % ALIGNMENT
        flags = {self._name(item) for item in self.inputs if item.dtype == DType.BOOL_8}
        given = [self._name(item) for item in self.inputs]
        return Buffers(
            {name: arrays[name] for name in given if name not in flags},
            {name: arrays[name] for name in given if name in flags},
            {self._name(item): arrays[self._name(item)] for item in self.outputs},
        )

    def execute(self, buffers: Buffers) -> int:
        """Fills the outputs; returns the microseconds that it took."""
        return self._run(buffers, self._session)

    def profile(self, buffers: Buffers) -> tuple[int, str]:
        """The same with the times of single nodes: lines of a name, a tab and microseconds."""
        # Of its own: an engine that measures stops doing so once it is asked for the times.
        session = self._backend.prepare(self._graph, RunOptions(is_profiled=True))
        spent = self._run(buffers, session)
        times = session.node_times() if isinstance(session, TimesNodes) else []
        return spent, "".join(f"{_write_name(item.node or item.kernel)}\t{item.time}\n" for item in times)

    def _run(self, buffers: Buffers, session: Session) -> int:
        # An untrusted byte may be neither 0 nor 1, which numpy must never see inside a bool.
        feed = {**buffers.inputs, **{name: array != 0 for name, array in buffers.flags.items()}}
        start = time.perf_counter_ns()
        results = session.run(feed)
        spent = (time.perf_counter_ns() - start) // 1000
        for name, array in buffers.outputs.items():
            np.copyto(array, results[name].reshape(array.shape), casting="unsafe")
        return spent

    def _name(self, tensor: QnnTensor) -> str:
        return self.records.source_names.get(tensor.name, tensor.name)


def _write_name(name: str) -> str:
    return name.translate({ord("\t"): " ", ord("\n"): " "})
