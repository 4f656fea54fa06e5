"""A converted model: its I/O contract, running it, saving it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.artifacts.encodings import MOVED, describe_encodings
from edgewright.backends.base import RealEnds, RunOptions, SeenRuns, Session
from edgewright.backends.registry import find_backend
from edgewright.config.spelling import spell_option
from edgewright.core.errors import UnsupportedFeature, UsageError, shown
from edgewright.core.numbers import Array
from edgewright.core.page import Block, Displayed, Table
from edgewright.core.quantities import format_bytes, format_shape
from edgewright.data.sample_format import RunInputs, name_arrays
from edgewright.frontends._common.imported import State
from edgewright.ir.contract import dtype_word, shape_of
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.model.saving import SavedFiles, SaveOptions, choose_format, load_graph, save_dlc, save_graph
from edgewright.model.source_map import SourceTensor, map_source_tensors
from edgewright.model.surface import Surface
from edgewright.passes.target.float_io import with_float_io
from edgewright.quantize.tensor_encodings import list_encodings

log = logging.getLogger(__name__)

# Sessions of graphs that were specialised on the values or shapes of bound inputs.
SPECIALISED_KEPT = 8
# Inputs that a model shows of itself, and outputs.
TENSORS_SHOWN = 5
# Suffixes of framework files, which are converted, not loaded.
SOURCES = frozenset({".onnx", ".tflite", ".pb", ".meta", ".pt", ".pt2"})


@dataclass(frozen=True)
class TensorInfo:
    """One input or output as a caller sees it."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    layout: str | None = None
    # Its value shapes the graph: a graph is made for each value it takes.
    is_bound: bool = False


@dataclass(repr=False)
class Model(Displayed):
    """A graph with the source model's I/O names, or a recipe for graphs where inputs must be known first."""

    graph: Graph | None
    inputs: list[TensorInfo]
    outputs: list[TensorInfo]
    # Builds the graph for given inputs; set where ``graph`` is None.
    specialise: Callable[[Mapping[str, Array]], Graph] | None = None
    # Names of the source model's tensors, including removed ones, if the source was available.
    source_tensors: frozenset[str] = frozenset()
    # Those of them that conversion made: the source has no such tensor.
    added_tensors: frozenset[str] = frozenset()
    # Weights that were scaled before they were rounded: their encodings are not of the source's numbers.
    moved_weights: tuple[str, ...] = ()
    # What one run leaves for the next: outputs that become inputs, and their initial values.
    states: tuple[State, ...] = ()
    _sessions: dict[object, "_Ready"] = field(default_factory=dict)
    # The backend chosen for auto.
    _backend: str = ""

    @classmethod
    def of(cls, graph: Graph, source_tensors: frozenset[str] = frozenset()) -> "Model":
        """A model of a finished graph."""
        inputs = [describe_tensor(name, graph.types[name]) for name in graph.inputs]
        outputs = [describe_tensor(name, graph.types[name]) for name in graph.outputs]
        return cls(graph, inputs, outputs, source_tensors=source_tensors)

    def run(self, inputs: RunInputs, *, backend: str = "cpu", threads: int = 0) -> dict[str, Array]:
        """Runs the model: arrays in, a dict of numpy out by the source's output names.

        ``inputs``: arrays of numpy or torch by input name, in the order of the inputs, or the array of the
        only input.

        Inputs and outputs that the graph stores in fixed point are real numbers here; stored integers are
        accepted as they are. ``threads``: 0 leaves the number to the engine. The backend ``auto`` is the one
        that `select_backend` chooses at the first run.
        """
        ready = self._sessions.get((backend, threads))
        if ready is not None:
            outputs = ready.run_seen(inputs)
            if outputs is not None:
                return outputs
            if ready.is_fed_by(inputs):
                return ready.run(inputs)  # type: ignore[arg-type]
        arrays = name_arrays(inputs, [item.name for item in self.inputs])
        if backend == "auto":
            backend = self._choose_backend(arrays)
        if self.graph is None:
            ready = self._specialise_graph(arrays, backend, threads)
            return ready.run({name: arrays[name] for name in ready.graph.inputs})
        key = (backend, threads)
        if key not in self._sessions:
            self._sessions[key] = _Ready(self.graph, backend, threads)
        return self._sessions[key].run(arrays)

    def _list_blocks(self) -> list[Block]:
        rows = [
            (role, item.name, item.dtype, format_shape(item.shape), item.layout or "-")
            for role, items in (("input", self.inputs), ("output", self.outputs))
            for item in items[:TENSORS_SHOWN]
        ]
        rest = sum(max(len(items) - TENSORS_SHOWN, 0) for items in (self.inputs, self.outputs))
        more = [f"and {rest} more inputs and outputs"] if rest else []
        return [Table(self._summarise(), ("", "name", "type", "shape", "layout"), tuple(rows)), *more]

    def _summarise(self) -> str:
        kind = type(self).__name__
        if self.graph is None:
            return f"{kind} whose graph is made for the inputs of a run"
        size = sum(array.nbytes for array in self.graph.constants.values())
        return f"{kind} '{self.graph.name}' of {len(self.graph.nodes)} nodes, {format_bytes(size)} of weights"

    def _choose_backend(self, inputs: Mapping[str, Array]) -> str:
        if not self._backend:
            from edgewright.model.select_backend import select_backend  # it measures models

            choice = select_backend(self, inputs=inputs)
            log.info("backend auto is %s: %s", choice.backend, "; ".join(choice.reasons))
            self._backend = choice.backend
        return self._backend

    def placement(self) -> dict[str, str]:
        """Node name -> how it ran last ("engine", "reference"); empty before the first run."""
        ready = list(self._sessions.values())[-1:]
        return ready[0].placement() if ready else {}

    def save(
        self,
        path: Path | str,
        options: SaveOptions | None = None,
        *,
        format: str | None = None,  # noqa: A002 - what numpy and matplotlib call it
    ) -> SavedFiles:
        """Writes ``path``: a .dlc, an .onnx, or a model.cpp with its .bin and _net.json beside it.

        ``format`` says which where the suffix does not: dlc, onnx (quantized ops in QDQ form) or cpp. A file
        of another kind that is there already, such as a context binary or the source model, is kept.
        """
        if self.graph is None:
            bound = [item.name for item in self.inputs if item.is_bound]
            if not bound:
                raise UnsupportedFeature(
                    "the graph depends on the sizes of its symbolic dimensions",
                    do=f"fix them with {spell_option('input_shapes')} or {spell_option('symbols')}",
                )
            raise UnsupportedFeature(
                f"inputs {bound} shape the graph: their values must be known to write it",
                do=f"convert with {spell_option('input_values')}, or make them constants in the source model",
            )
        chosen, target = choose_format(Path(path), format)
        if chosen == "dlc":
            return save_dlc(self.graph, target, options)
        if chosen == "onnx":
            from edgewright.model.onnx_export import save_onnx

            return save_onnx(self.graph, target, options)
        return save_graph(self.graph, target, options)

    def encodings(self, version: str = "1.0.0") -> dict[str, Any]:
        """The encodings of a quantized model by the source's names, in the format of AIMET's files.

        ``version``: 0.5.0, 0.6.1, 1.0.0 or 2.0.0 of those files. Tensors that the source does not have are
        apart, in ``added_encodings``, which other readers skip. ``overrides`` of a quantizer accepts them
        and gives the same model from the same source, unless weights or biases were changed before they were
        rounded (``cle``, ``bc``, ``auto``; a note of the report says so): those are only in saved files, and
        scaled ones are named in ``moved_weights``.
        """
        entries = list_encodings(self.fixed_graph(), self.source_tensors, self.added_tensors)
        moved = {MOVED: list(self.moved_weights)} if self.moved_weights else {}
        return describe_encodings(entries, version) | moved

    def source_map(self) -> tuple[SourceTensor, ...]:
        """Every tensor of the source model: its name in QNN artifacts, or why there is none."""
        return map_source_tensors(self.fixed_graph())

    def fixed_graph(self) -> Graph:
        """The graph, where it does not depend on the inputs of a run."""
        if self.graph is None:
            raise UnsupportedFeature(
                "the graph depends on values that are known only in a run, but is needed before",
                do=f"fix open dimensions with {spell_option('input_shapes')} or {spell_option('symbols')}, "
                f"and make such inputs constants with {spell_option('input_values')}",
            )
        return self.graph

    def graph_for(self, inputs: Mapping[str, Array]) -> Graph:
        """The graph that runs for these inputs."""
        return self.graph if self.graph is not None else self._specialise_graph(inputs, "cpu", 0).graph

    def _specialise_graph(self, inputs: Mapping[str, Array], backend: str, threads: int) -> "_Ready":
        assert self.specialise is not None
        missing = [item.name for item in self.inputs if item.name not in inputs]
        if missing:
            names = [item.name for item in self.inputs]
            raise UsageError(f"inputs {missing} are missing", do=f"give all of {names}")
        key = (backend, threads, *self._make_session_key(inputs))
        ready = self._sessions.get(key)
        if ready is None:
            graph = self.specialise(inputs)
            self._learn_bound(graph)
            while len(self._sessions) >= SPECIALISED_KEPT:
                del self._sessions[next(iter(self._sessions))]
            key = (backend, threads, *self._make_session_key(inputs))
            ready = self._sessions[key] = _Ready(graph, backend, threads)
        return ready

    def _learn_bound(self, graph: Graph) -> None:
        """Records the inputs that became constants of a graph: an import stops at the first it needs."""
        kept = set(graph.inputs)
        fresh = {item.name for item in self.inputs if not item.is_bound and item.name not in kept}
        if fresh:
            self.inputs = [replace(i, is_bound=i.is_bound or i.name in fresh) for i in self.inputs]
            # These were made before it was known that the values matter.
            self._sessions.clear()

    def _make_session_key(self, inputs: Mapping[str, Array]) -> tuple[object, ...]:
        return tuple(self._make_key_part(item, np.asarray(inputs[item.name])) for item in self.inputs)

    @staticmethod
    def _make_key_part(item: TensorInfo, array: Array) -> tuple[object, ...]:
        value = (repr(array.tolist()) if array.dtype == object else array.tobytes()) if item.is_bound else b""
        return item.name, array.shape, array.dtype, value


class _Ready:
    """A graph on a backend: a session for stored integers, and one for real numbers if supported."""

    def __init__(self, graph: Graph, backend: str, threads: int) -> None:
        self.graph = graph
        self._surface = Surface(graph)
        self._options, self._backend = RunOptions(threads=threads), find_backend(backend)
        self._has_real_ends = isinstance(self._backend, RealEnds) and self._backend.has_exact_ends
        # Whether inputs and outputs are real numbers -> the session for that.
        self._prepared: dict[bool, tuple[Session, Surface]] = {}
        self._last: Session | None = None
        # The session, where inputs and outputs go through it as they are.
        self._plain: Session | None = None
        self._names = frozenset(graph.inputs)
        # A network of some microseconds pays for every look at its inputs: one is enough after the first run.
        self.run_seen: Callable[[object], dict[str, Array] | None] = lambda _inputs: None

    def is_fed_by(self, inputs: object) -> bool:
        """Whether these are arrays of numpy for all inputs, by the graph's names."""
        return (
            type(inputs) is dict
            and inputs.keys() == self._names
            and all(type(array) is np.ndarray for array in inputs.values())
        )

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if self._plain is not None:
            return self._plain.run(inputs)
        is_real = self._has_real_ends and self._surface.is_real(inputs)
        if is_real not in self._prepared:
            self._prepared[is_real] = self._prepare(is_real)
        session, surface = self._prepared[is_real]
        self._last = session
        if self._surface.is_idle:
            self._plain = session
            if isinstance(session, SeenRuns):
                self.run_seen = session.run_seen
        return surface.decode_outputs(session.run(surface.encode_inputs(inputs)))

    def placement(self) -> dict[str, str]:
        names = {node.name for node in self.graph.nodes}
        placement = self._last.placement() if self._last is not None else {}
        return {name: how for name, how in placement.items() if name in names}

    def _prepare(self, is_real: bool) -> tuple[Session, Surface]:
        graph = with_float_io(self.graph) if is_real else self.graph
        return self._backend.prepare(graph, self._options), Surface(graph)


def load(path: Path | str, weight_file: Path | str | None = None) -> Model:
    """A model from its net.json, with the weights beside it unless another file is named, or from a DLC."""
    if Path(path).suffix.lower() in SOURCES:
        raise UsageError(
            f"'{shown(str(path))}' is a model of a framework, expected a converted one (net.json, DLC)",
            do="convert it: edgewright.convert(path), or edgewright convert FILE",
        )
    return Model.of(load_graph(path, weight_file))


def describe_tensor(name: str, tensor_type: TensorType, *, is_bound: bool = False) -> TensorInfo:
    """A value as an input or output of a model."""
    return TensorInfo(
        name, dtype_word(tensor_type.dtype), shape_of(tensor_type), tensor_type.layout, is_bound
    )
