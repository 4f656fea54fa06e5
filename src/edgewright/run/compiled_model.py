"""A compiled model: a context binary that is ready to run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgewright.backends.base import RunOptions, Session
from edgewright.core.errors import BadInput, UsageError, Where
from edgewright.core.numbers import Array
from edgewright.core.page import Block, Displayed, Table
from edgewright.core.quantities import format_bytes, format_shape
from edgewright.core.words import did_you_mean
from edgewright.data.sample_format import RunInputs, name_arrays
from edgewright.ir.contract import dtype_word
from edgewright.ir.graph import Graph
from edgewright.lower.names import sanitize_name
from edgewright.model.surface import Surface
from edgewright.run.context.check import ContextVerdict, judge_context
from edgewright.run.context.info import ContextInfo, read_context_info
from edgewright.run.runnable import Loading, RunSource, open_context_source
from edgewright.targets.soc import find_htp_soc


def load_context(path: Path | str) -> "CompiledModel":
    """A context binary of any backend, checked and ready to run."""
    return CompiledModel(Path(path), read_context_info(path))


def load_context_copies(path: Path, count: int) -> "list[CompiledModel]":
    """The same context binary so many times, each in a worker process of its own."""
    info = read_context_info(path)
    return [CompiledModel(path, info, _loading=Loading(worker=number)) for number in range(count)]


@dataclass(repr=False)
class CompiledModel(Displayed):
    """A context binary and the sessions of its graphs."""

    path: Path
    info: ContextInfo
    _source: RunSource | None = None
    _sessions: dict[str, Session] = field(default_factory=dict)
    _loading: Loading = field(default_factory=Loading)

    @property
    def graphs(self) -> Sequence[str]:
        """The names of its graphs."""
        return [graph.name for graph in self.info.binary.graphs]

    def run(self, inputs: RunInputs, *, graph: str | None = None) -> dict[str, Array]:
        """Runs a graph, by its name where there are several: arrays in, a dict of numpy out.

        ``inputs``: arrays by input name, arrays in the order of the inputs, or the array of the only input.

        Fixed-point inputs and outputs are real numbers here; stored integers are accepted as they are. Inputs
        may have their names from the source, too: a binary spells them as C identifiers.
        """
        chosen = self._find_graph(graph)
        surface = Surface(chosen)
        named = {
            known: _narrow_integers(known, _with_axis(known, array, chosen), chosen)
            for name, array in name_arrays(inputs, chosen.inputs).items()
            for known in [name if name in chosen.inputs else sanitize_name(name)]
        }
        return surface.decode_outputs(self._open_session(chosen).run(surface.encode_inputs(named)))

    def fits(self, target: str) -> ContextVerdict:
        """Whether the binary suits a chip, and why."""
        return judge_context(self.info, find_htp_soc(target))

    def _list_blocks(self) -> list[Block]:
        rows = [
            (graph.name, role, tensor.name, dtype_word(tensor.dtype), format_shape(tensor.dims))
            for graph in self.info.binary.graphs
            for role, tensors in (("input", graph.inputs), ("output", graph.outputs))
            for tensor in tensors
        ]
        title = f"CompiledModel '{self.path}' of {format_bytes(self.info.bytes)} for {self.info.backend}"
        return [Table(title, ("graph", "", "name", "type", "shape"), tuple(rows))]

    def _find_graph(self, name: str | None) -> Graph:
        if self._source is None:
            self._source = open_context_source(self.path, loading=self._loading)
        graphs = {graph.name: graph for graph in self._source.graphs}
        if name is None and len(graphs) == 1:
            return next(iter(graphs.values()))
        if name not in graphs:
            what = "no graph was named" if name is None else f"there is no graph '{name}'"
            raise UsageError(
                f"{what}, there are: {', '.join(graphs)}",
                do=did_you_mean(name or "", graphs, "give graph=NAME"),
            )
        return graphs[name]

    def _open_session(self, graph: Graph) -> Session:
        assert self._source is not None
        if graph.name not in self._sessions:
            self._sessions[graph.name] = self._source.prepare(graph, RunOptions())
        return self._sessions[graph.name]


def _with_axis(name: str, array: Array, graph: Graph) -> Array:
    """A scalar of the source with the one axis that it has in a binary: QNN has no rank 0."""
    input_type = graph.types.get(name)
    return (
        array.reshape(1) if array.ndim == 0 and input_type is not None and input_type.shape == (1,) else array
    )


def _narrow_integers(name: str, array: Array, graph: Graph) -> Array:
    """64-bit integers in 32 bits, as the binary stores them."""
    if name not in graph.types or array.dtype.kind not in "iu":
        return array
    input_type = graph.types[name]
    if input_type.encoding is not None or input_type.dtype.numpy.kind not in "iu":
        return array
    narrow = array.astype(input_type.dtype.numpy, copy=False)
    if not np.array_equal(narrow, array):
        raise BadInput(
            f"input holds {array.min()}..{array.max()}, expected values of {input_type.dtype.numpy}",
            Where(tensor=name),
            do="clamp it",
        )
    return narrow
