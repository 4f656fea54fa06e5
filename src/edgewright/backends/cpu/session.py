"""Runs a planned graph: ONNX Runtime for the engine's parts, numpy for the rest."""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from edgewright.backends.base import NodeTime, RunOptions
from edgewright.backends.cpu.dynamic import with_integer_ops
from edgewright.backends.cpu.engine import ON_PROCESSOR, Engine
from edgewright.backends.cpu.engine_model import WrittenModel
from edgewright.backends.cpu.foreign import run_source_op
from edgewright.backends.cpu.global_pools import with_global_pools
from edgewright.backends.cpu.lengths import with_lengths
from edgewright.backends.cpu.node_writer import NodeWriter
from edgewright.backends.cpu.plan import Part, Refusals, list_outputs, plan
from edgewright.backends.cpu.profile import EngineProfile
from edgewright.backends.cpu.sums import PLAIN, Rounding
from edgewright.backends.cpu.sunk_moves import with_sunk_moves
from edgewright.backends.cpu.weights import with_decoded_weights
from edgewright.config.spelling import spell_option
from edgewright.core.errors import (
    BackendCrash,
    BadInput,
    EdgewrightError,
    TypeMismatch,
    UnsupportedOp,
    UsageError,
    Where,
    locate_problem,
)
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.symbols import resolve, resolve_op, symbol_values
from edgewright.ops.reference import computed
from edgewright.ops.source import SourceOp

log = logging.getLogger(__name__)

Values = dict[str, Array]
SHAPES_KEPT = 256


class CpuSession:
    """A graph that is ready to run on this machine's processor."""

    def __init__(
        self,
        graph: Graph,
        options: RunOptions,
        rounding: Rounding = PLAIN,
        engine: Engine = ON_PROCESSOR,
    ) -> None:
        self._rounding, self._engine = rounding, engine
        self._outputs = list(dict.fromkeys((*graph.outputs, *options.extra_outputs)))
        self._graph = with_decoded_weights(_write_for(engine, graph, rounding, options), keep=self._outputs)
        self._options = options
        self._steps = self._prepare()
        self._say_what_is_slow()
        self._expected = [(name, graph.types[name].dtype.numpy) for name in graph.inputs]
        # Shapes of the inputs that were seen -> the numbers they give to the symbols.
        self._symbols: dict[tuple[tuple[int, ...], ...], dict[str, int]] = {}
        self._whole = self._find_whole_step()
        # The same shapes -> what the only step is fed besides the inputs.
        self._known: dict[tuple[tuple[int, ...], ...], Values] = {}

    def run(self, inputs: Mapping[str, Array]) -> Values:
        """Values of the outputs for the inputs, which must have the declared types."""
        outputs = self.run_seen(inputs)
        if outputs is not None:
            return outputs
        symbols = self._check(inputs)
        if self._whole is not None:
            self._learn_shapes(inputs, symbols, self._whole)
            return self._whole.run(inputs, symbols)
        values: Values = dict(inputs)
        began = time.perf_counter_ns()
        for step in self._steps:
            if self._options.is_profiled:
                step.starts.append((time.perf_counter_ns() - began) // 1000)
            values.update(step.run(values, symbols))
        return {
            name: values[name] if name in values else self._graph.constants[name] for name in self._outputs
        }

    def _find_whole_step(self) -> "_EngineStep | None":
        """The step that does everything, where there is one and nothing is measured."""
        step = self._steps[0] if len(self._steps) == 1 and not self._options.is_profiled else None
        return step if isinstance(step, _EngineStep) and not step.is_partial else None

    def run_seen(self, inputs: object) -> Values | None:
        """The same for arrays of shapes that were seen; None where they must be looked at first."""
        if self._whole is None or type(inputs) is not dict or len(inputs) != len(self._expected):
            return None
        shapes = []
        for name, dtype in self._expected:
            array = inputs.get(name)
            if type(array) is not np.ndarray or array.dtype is not dtype:
                return None
            shapes.append(array.shape)
        known = self._known.get(tuple(shapes))
        return None if known is None else self._whole.run_known(inputs, known)

    def _learn_shapes(
        self, inputs: Mapping[str, Array], symbols: Mapping[str, int], step: "_EngineStep"
    ) -> None:
        names = [name for name, _ in self._expected]
        if len(inputs) != len(names) or not step.is_reading(names):
            return
        if not any(inputs[name].size == 0 for name in names) and len(self._known) < SHAPES_KEPT:
            self._known[tuple(inputs[name].shape for name in names)] = step.compute_dims(symbols)

    def placement(self) -> Mapping[str, str]:
        """Node name -> "engine" or "reference"."""
        return {node.name: step.how for step in self._steps for node in step.nodes}

    def node_times(self) -> list[NodeTime]:
        """Times of the nodes in all runs so far, where they were asked for; the measuring ends."""
        return [found for step in self._steps for found in step.node_times()]

    def traces(self) -> list[bytes]:
        """What the engine wrote of itself, one file for each of its parts, after `node_times`."""
        return [step.trace for step in self._steps if step.trace]

    def _check(self, inputs: Mapping[str, Array]) -> dict[str, int]:
        """The numbers of the symbols in this run; inputs that do not fit are an error."""
        try:
            shapes = tuple(inputs[name].shape for name, _ in self._expected)
        except KeyError as missing:
            names = [name for name, _ in self._expected]
            raise UsageError(f"input {missing} is missing", do=f"give all of {names}") from None
        for name, dtype in self._expected:
            if inputs[name].dtype != dtype:
                raise TypeMismatch(
                    f"input is {inputs[name].dtype}, expected {dtype}",
                    Where(tensor=name),
                    do=f"convert it with .astype('{dtype}')",
                )
        symbols = self._symbols.get(shapes)
        if symbols is None:
            if len(self._symbols) >= SHAPES_KEPT:
                self._symbols.clear()
            symbols = symbol_values(self._graph, dict(zip(self._graph.inputs, shapes, strict=True)))
            self._symbols[shapes] = symbols
        return symbols

    def _say_what_is_slow(self) -> None:
        slow = sorted(
            {type(n.op).__name__ for step in self._steps if step.how == "reference" for n in step.nodes}
        )
        if slow:
            log.info("the engine lacks %s: their numpy reference runs instead", ", ".join(slow))

    def _prepare(self) -> list["_EngineStep | _ReferenceStep"]:
        refusals = Refusals()
        while True:
            try:
                return self._steps_for(
                    plan(self._graph, refusals, is_standard=self._engine.is_standard), refusals
                )
            except _EngineRefused as problem:
                if not refusals.add(self._graph, problem.node):
                    raise BackendCrash(
                        f"the engine rejects the graph: {problem}", Where(node=problem.node)
                    ) from problem

    def _steps_for(self, parts: Sequence[Part], refusals: Refusals) -> list["_EngineStep | _ReferenceStep"]:
        _check_meanings(node for part in parts if not part.opset for node in part.nodes)
        steps: list[_EngineStep | _ReferenceStep] = []
        order = {name: place for place, name in enumerate(self._outputs)}
        for index, part in enumerate(parts):
            wanted = list_outputs(parts, index, self._outputs)
            # In the caller's order, so that what a single step returns is the answer.
            wanted.sort(key=lambda name: order.get(name, len(order)))
            if not part.opset:
                steps.append(_ReferenceStep(self._graph, part, wanted))
            elif wanted:
                way = _Way(self._options, refusals, self._rounding, self._engine)
                steps.append(_EngineStep(self._graph, part, wanted, way))
        if len(steps) == 1 and isinstance(steps[0], _EngineStep):
            steps[0].is_partial = steps[0].outputs != self._outputs
        return steps


def _write_for(engine: Engine, graph: Graph, rounding: Rounding, options: RunOptions) -> Graph:
    """The graph with the ops that an engine is fastest with."""
    if engine is ON_PROCESSOR:
        graph = with_lengths(graph)
        # What a move has made is gone behind a function: nobody may ask for it.
        graph = graph if options.extra_outputs else with_sunk_moves(graph)
    changed = with_integer_ops(graph)
    # Where results are rounded later on, means are added up as they were: the last bit counts.
    is_real = changed is graph and rounding is PLAIN and engine is ON_PROCESSOR
    return with_global_pools(graph) if is_real else changed


def _check_meanings(nodes: Iterable[Node]) -> None:
    """Refuses, all at once, ops that are known by their signature only."""
    lost = [node for node in nodes if not isinstance(node.op, SourceOp) and _is_signature(node.op)]
    if lost:
        names = ", ".join(f"{node.op.qnn_name()} '{node.source or node.name}'" for node in lost)
        raise UnsupportedOp(
            f"{len(lost)} ops cannot be computed on this machine: {names}",
            Where(node=lost[0].source or lost[0].name),
            do=f"cut the graph before them with {spell_option('outputs')}, or run the compiled model on a "
            "device",
        )


def _is_signature(op: Op) -> bool:
    return (type(op).compute, type(op).values_for) == (Op.compute, Op.values_for)


class _EngineRefused(Exception):
    """The engine cannot run a node."""

    def __init__(self, node: str, text: str) -> None:
        super().__init__(text)
        self.node = node


@dataclass(frozen=True)
class _Way:
    """How parts of a graph are written and run."""

    options: RunOptions
    refusals: Refusals
    rounding: Rounding
    engine: Engine


class _EngineStep:
    how = "engine"
    trace = b""

    def __init__(
        self,
        graph: Graph,
        part: Part,
        outputs: list[str],
        way: "_Way",
        *,
        is_plain: bool = False,
    ) -> None:
        self.nodes, self.outputs, self.is_partial = part.nodes, outputs, False
        self._plain: Callable[[], _EngineStep] | None = None
        if not is_plain:
            self._plain = cache(lambda: _EngineStep(graph, part, outputs, way, is_plain=True))
        writer = NodeWriter(graph, part.opset, way.refusals.through_float, way.rounding)
        writer.is_standard = way.engine.is_standard
        self._inputs = [writer.add_input(value) for value in part.reads() if value not in graph.constants]
        for node in part.nodes:
            writer.write(node)
        model, self._names = writer.model(outputs)
        self._computed = writer.computed
        self._known: dict[tuple[int, ...], Values] = {}
        self.starts: list[int] = []
        self._profile: EngineProfile | None = None
        if way.options.is_profiled and not is_plain:
            self._profile = EngineProfile(graph, model)
        shapes = writer.list_shapes()
        written = WrittenModel(
            model, writer.external, writer.has_fixed_point, is_plain, self._profile, shapes
        )
        try:
            self._session = way.engine.open(written, way.options)
        except EdgewrightError:
            raise
        except Exception as problem:
            raise _EngineRefused(_find_culprit(str(problem), part), str(problem)) from None

    def run(self, values: Mapping[str, Array], symbols: Mapping[str, int]) -> Values:
        feed: dict[str, Any] = {name: values[name] for name in self._inputs}
        if self._plain is not None and any(array.size == 0 for array in feed.values()):
            return self._without_fusions(self._plain).run(values, symbols)
        return self.run_known(feed, self.compute_dims(symbols))

    def run_known(self, values: Mapping[str, Array], dims: Values) -> Values:
        """The same for inputs of shapes that were seen, and nothing but them."""
        feed = {**values, **dims} if dims or type(values) is not dict else values
        try:
            results = self._session.run(self._names, feed)
        except Exception as problem:
            raise _make_engine_error(problem, self.nodes) from problem
        return dict(zip(self.outputs, results, strict=True))

    def is_reading(self, names: Sequence[str]) -> bool:
        """Whether it reads each of the values, and no other."""
        return set(self._inputs) == set(names)

    def node_times(self) -> list[NodeTime]:
        profile, self._profile = self._profile, None
        if profile is None:
            return []
        found = profile.read(self._session, self.starts)
        self.trace = profile.trace
        return found

    def _without_fusions(self, step: Callable[[], "_EngineStep"]) -> "_EngineStep":
        """Fused kernels of the engine divide by sizes: an empty tensor would end the whole process."""
        try:
            return step()
        except _EngineRefused as problem:
            raise _make_engine_error(problem, self.nodes) from problem

    def compute_dims(self, symbols: Mapping[str, int]) -> Values:
        """Dimensions the engine asks for; most runs have shapes that were seen before."""
        if not self._computed:
            return {}
        key = tuple(symbols.values())
        if key not in self._known:
            if len(self._known) >= SHAPES_KEPT:
                self._known.clear()
            self._known[key] = {
                n: np.asarray(resolve(d, symbols), np.int64) for d, n in self._computed.items()
            }
        return self._known[key]


class _ReferenceStep:
    how = "reference"
    trace = b""

    def __init__(self, graph: Graph, part: Part, outputs: list[str]) -> None:
        self._graph, self.nodes, self.outputs = graph, part.nodes, outputs
        self._ops = {node.name: node.op.begin_session() for node in part.nodes}
        self.starts: list[int] = []
        self._times: list[NodeTime] = []

    def run(self, values: Mapping[str, Array], symbols: Mapping[str, int]) -> Values:
        local: Values = {}
        began = time.perf_counter_ns()
        with np.errstate(all="ignore"):
            for node in self.nodes:
                start = time.perf_counter_ns()
                arrays = [self._read(value, local, values) for value in node.inputs]
                local.update(zip(node.outputs, self._compute_node(node, arrays, symbols), strict=False))
                self._note(node, start - began, time.perf_counter_ns() - start)
        return {name: local[name] for name in self.outputs}

    def node_times(self) -> list[NodeTime]:
        found, self._times = self._times, []
        return found

    def _note(self, node: Node, start: int, span: int) -> None:
        # Runs are counted where they are measured.
        if self.starts:
            run = len(self.starts) - 1
            start_in_run = self.starts[run] + start // 1000
            self._times.append(NodeTime(node.name, "reference", (), run, start_in_run, span // 1000))

    def _compute_node(self, node: Node, arrays: list[Any], symbols: Mapping[str, int]) -> Sequence[Array]:
        if isinstance(node.op, SourceOp):
            return run_source_op(node.op, arrays)
        types = self._graph.input_types(node), self._graph.output_types(node)
        try:
            return computed(resolve_op(self._ops[node.name], symbols), arrays, *types)
        except EdgewrightError as problem:
            raise locate_problem(problem, Where(node=node.source or node.name)) from problem.__cause__

    def _read(self, value: str, local: Values, values: Mapping[str, Array]) -> Any:
        if not value:
            return None
        if value in local:
            return local[value]
        return values[value] if value in values else self._graph.constants[value]


def _make_engine_error(problem: Exception, nodes: Sequence[Node]) -> BadInput:
    """The engine met values it cannot compute with (an index out of range) or has no memory for."""
    text = str(problem).splitlines()[0]
    found = re.search(r"Name:'([^']+?)#\d+'", text)
    name = found.group(1) if found else nodes[-1].name
    node = next((n for n in nodes if n.name == name), nodes[-1])
    return BadInput(
        f"the engine stopped: {text.split('Status Message:')[-1].strip()}",
        Where(op=type(node.op).__name__, node=node.source or node.name),
        do="check the values and shapes of the inputs",
    )


def _find_culprit(text: str, part: Part) -> str:
    """The node an engine's message is about; the part's last node where it does not say."""
    named = [node.name for node in part.nodes if f"{node.name}#" in text]
    return max(named, key=len, default=part.nodes[-1].name)
