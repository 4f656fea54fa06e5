"""A converted model: its I/O contract, running it, saving it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgewright.backends.base import RunOptions, Session
from edgewright.backends.cpu import CpuBackend
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType

__all__ = ["Model", "TensorInfo"]

# Sessions of graphs that were specialised on the values or shapes of bound inputs.
SPECIALISED_KEPT = 8


@dataclass(frozen=True)
class TensorInfo:
    """One input or output as a caller sees it."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    layout: str | None = None
    is_bound: bool = False


@dataclass
class Model:
    """A graph with the source model's I/O names, or a recipe for graphs where some inputs must be known first."""

    graph: Graph | None
    inputs: list[TensorInfo]
    outputs: list[TensorInfo]
    # Builds the graph for given inputs; set where ``graph`` is None.
    specialise: Callable[[Mapping[str, Array]], Graph] | None = None
    bound: tuple[str, ...] = ()
    _session: Session | None = None
    _sessions: dict[Any, tuple[Graph, Session]] = field(default_factory=dict)

    def run(self, inputs: Mapping[str, Array], *, threads: int = 0) -> dict[str, Array]:
        """Runs on the CPU backend: numpy in, a dict of numpy out by the source's output names."""
        if self.graph is not None:
            if self._session is None:
                self._session = CpuBackend().prepare(self.graph, RunOptions(threads=threads))
            return self._session.run(inputs)
        graph, session = self._specialised(inputs, threads)
        return session.run({name: np.asarray(inputs[name]) for name in graph.inputs})

    def graph_for(self, inputs: Mapping[str, Array]) -> Graph:
        """The graph that runs for these inputs."""
        return self.graph if self.graph is not None else self._specialised(inputs, 0)[0]

    def _specialised(self, inputs: Mapping[str, Array], threads: int) -> tuple[Graph, Session]:
        assert self.specialise is not None
        key = tuple(
            (n, a.shape, a.tobytes() if n in self.bound and a.dtype != object else b"")
            for n, a in sorted(inputs.items())
        )
        if key not in self._sessions:
            graph = self.specialise(inputs)
            while len(self._sessions) >= SPECIALISED_KEPT:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[key] = (graph, CpuBackend().prepare(graph, RunOptions(threads=threads)))
        return self._sessions[key]


def info(name: str, tensor_type: TensorType, *, is_bound: bool = False) -> TensorInfo:
    """The contract of a value."""
    shape = tuple(dim if isinstance(dim, int) else str(dim) for dim in tensor_type.shape)
    return TensorInfo(name, tensor_type.dtype.name.lower(), shape, tensor_type.layout, is_bound)
