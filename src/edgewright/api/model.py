"""A converted model: its I/O contract, running it, saving it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from edgewright.api.artifacts import SavedDlc, SavedFiles, SaveOptions, load_graph, save_dlc, save_graph
from edgewright.backends.base import RunOptions, Session
from edgewright.backends.cpu import CpuBackend
from edgewright.core.errors import UnsupportedFeature, UsageError
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType

__all__ = ["Model", "TensorInfo", "load"]

# Sessions of graphs that were specialised on the values or shapes of bound inputs.
SPECIALISED_KEPT = 8


@dataclass(frozen=True)
class TensorInfo:
    """One input or output as a caller sees it."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    layout: str | None = None
    # Its value shapes the graph: a graph is made for each value it takes.
    is_bound: bool = False


@dataclass
class Model:
    """A graph with the source model's I/O names, or a recipe for graphs where inputs must be known first."""

    graph: Graph | None
    inputs: list[TensorInfo]
    outputs: list[TensorInfo]
    # Builds the graph for given inputs; set where ``graph`` is None.
    specialise: Callable[[Mapping[str, Array]], Graph] | None = None
    _session: Session | None = None
    _options: RunOptions | None = None
    _sessions: dict[object, tuple[Graph, Session]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> "Model":
        """A model of a finished graph."""
        inputs = [info(name, graph.types[name]) for name in graph.inputs]
        return cls(graph, inputs, [info(name, graph.types[name]) for name in graph.outputs])

    def run(self, inputs: Mapping[str, Array], *, threads: int = 0) -> dict[str, Array]:
        """Runs on the CPU backend: numpy in, a dict of numpy out by the source's output names.

        ``threads``: 0 leaves the number to the engine.
        """
        if self.graph is None:
            graph, session = self._specialised(inputs, threads)
            return session.run({name: np.asarray(inputs[name]) for name in graph.inputs})
        if self._session is None or self._options is None or self._options.threads != threads:
            self._options = RunOptions(threads=threads)
            self._session = CpuBackend().prepare(self.graph, self._options)
        return self._session.run(inputs)

    def save(self, path: Path | str, options: SaveOptions | None = None) -> SavedFiles | SavedDlc:
        """Writes ``path``: a .dlc, or a model.cpp with its .bin and _net.json beside it."""
        if self.graph is None:
            bound = [item.name for item in self.inputs if item.is_bound]
            if not bound:
                raise UnsupportedFeature(
                    "the graph depends on the numbers of its symbolic dimensions",
                    do="fix them with input_shapes or symbols (-d or -s on the command line)",
                )
            raise UnsupportedFeature(
                f"inputs {bound} shape the graph: their values must be known to write it",
                do="make them constants (initializers) in the source model",
            )
        if Path(path).suffix == ".dlc":
            return save_dlc(self.graph, path, options)
        return save_graph(self.graph, path, options)

    def graph_for(self, inputs: Mapping[str, Array]) -> Graph:
        """The graph that runs for these inputs."""
        return self.graph if self.graph is not None else self._specialised(inputs, 0)[0]

    def _specialised(self, inputs: Mapping[str, Array], threads: int) -> tuple[Graph, Session]:
        assert self.specialise is not None
        missing = [item.name for item in self.inputs if item.name not in inputs]
        if missing:
            names = [item.name for item in self.inputs]
            raise UsageError(f"inputs {missing} are missing", do=f"give all of {names}")
        key = self._key(inputs, threads)
        if key not in self._sessions:
            graph = self.specialise(inputs)
            self._learn_bound(graph)
            while len(self._sessions) >= SPECIALISED_KEPT:
                del self._sessions[next(iter(self._sessions))]
            key = self._key(inputs, threads)
            self._sessions[key] = (graph, CpuBackend().prepare(graph, RunOptions(threads=threads)))
        return self._sessions[key]

    def _learn_bound(self, graph: Graph) -> None:
        """Notes the inputs that became constants of a graph: an import stops at the first it needs."""
        kept = set(graph.inputs)
        fresh = {item.name for item in self.inputs if not item.is_bound and item.name not in kept}
        if fresh:
            self.inputs = [replace(i, is_bound=i.is_bound or i.name in fresh) for i in self.inputs]
            # Made before it was known that these values matter.
            self._sessions.clear()

    def _key(self, inputs: Mapping[str, Array], threads: int) -> tuple[object, ...]:
        return (threads, *(self._part(item, np.asarray(inputs[item.name])) for item in self.inputs))

    @staticmethod
    def _part(item: TensorInfo, array: Array) -> tuple[object, ...]:
        value = (repr(array.tolist()) if array.dtype == object else array.tobytes()) if item.is_bound else b""
        return item.name, array.shape, str(array.dtype), value


def load(path: Path | str, weight_file: Path | str | None = None) -> Model:
    """A model from its net.json, with the weights beside it unless another file is named, or from a DLC."""
    return Model.of(load_graph(path, weight_file))


def info(name: str, tensor_type: TensorType, *, is_bound: bool = False) -> TensorInfo:
    """The contract of a value."""
    shape = tuple(dim if isinstance(dim, int) else str(dim) for dim in tensor_type.shape)
    return TensorInfo(name, tensor_type.dtype.name.lower(), shape, tensor_type.layout, is_bound)
