"""How long a model takes on each backend, side by side."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.artifacts.profile_log.writer import ProfileEvent, ProfileLog
from edgewright.backends.base import Backend, RunOptions
from edgewright.backends.executor import CpuExecutor
from edgewright.backends.qnn.backend import HtpNativeBackend
from edgewright.backends.qnn.options import HtpOptions, ProfilingLevel
from edgewright.backends.registry import find_backend
from edgewright.core.errors import EdgewrightError, UsageError
from edgewright.core.machine_use import measure_memory, measure_processor_time
from edgewright.core.numbers import Array
from edgewright.core.page import Block, Displayed, Table
from edgewright.core.quantities import format_bytes
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model
from edgewright.model.profile.events import read_backend_events, read_node_events
from edgewright.model.profile.summary import Measure, add_op_types, summarise
from edgewright.model.quantize import quantize_model
from edgewright.model.random_inputs import make_random_inputs
from edgewright.model.surface import Surface
from edgewright.quantize.request import QuantizationRequest

DEFAULT_BACKENDS = ("cpu", "htp-sim", "htp-native")
SLOWEST_KEPT = 10
Inputs = Mapping[str, Array]


@dataclass(frozen=True)
class Effort:
    """How long a backend is measured: a number of runs, or until the time is up, after a warm-up."""

    runs: int = 100
    seconds: float = 10.0
    warmup: int = 3
    threads: int = 0

    def __post_init__(self) -> None:
        if self.runs < 1 or self.warmup < 0 or not self.seconds > 0:
            raise UsageError(
                f"runs is {self.runs}, warmup {self.warmup}, seconds {self.seconds}, expected 1 run or more, "
                "a warmup of 0 or more and a time over 0"
            )


@dataclass(frozen=True)
class BackendProfile:
    """A backend's times in milliseconds, or why it could not run; memory is what it added, in bytes."""

    backend: str
    name: str = ""
    runs: int = 0
    init_ms: float = 0.0
    average_ms: float = 0.0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0
    per_second: float = 0.0
    # CPU time of this process over wall time: 200 where two cores were busy. Workers are not included.
    cpu_percent: float = 0.0
    memory: int = 0
    slowest: tuple[Measure, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class ModelProfile(Displayed):
    """A model on several backends."""

    model: str
    backends: tuple[BackendProfile, ...]

    @property
    def fastest(self) -> BackendProfile | None:
        """The backend with the smallest median among those that ran."""
        return min((b for b in self.backends if b.runs), key=lambda b: b.p50_ms, default=None)

    def _list_blocks(self) -> list[Block]:
        return [make_times_table(self), *(f"{b.backend}: {b.problem}" for b in self.backends if b.problem)]


def make_times_table(profile: ModelProfile) -> Table:
    """Times, processor and memory of the backends that ran."""
    headers = ("backend", "runs", "init", "average", "p50", "p95", "p99", "inf/s", "CPU", "memory")
    rows = tuple(_make_row(item) for item in profile.backends if item.runs)
    return Table(f"{profile.model}, times in ms", headers, rows, frozenset(range(1, len(headers))))


def _make_row(item: BackendProfile) -> tuple[str, ...]:
    times = (item.init_ms, item.average_ms, item.p50_ms, item.p95_ms, item.p99_ms)
    return (
        item.name,
        str(item.runs),
        *(f"{time:.3f}" if time < 10 else f"{time:.1f}" for time in times),
        f"{item.per_second:.1f}",
        f"{item.cpu_percent:.0f} %",
        format_bytes(item.memory),
    )


def profile(
    model: Model | Path | str,
    inputs: Inputs | None = None,
    *,
    backends: Sequence[str] = DEFAULT_BACKENDS,
    effort: Effort | None = None,
) -> ModelProfile:
    """Runs a model on each backend on the same inputs and measures it.

    A float model is quantized to 8 bits for backends without float32: its accuracy hardly changes the times.

    Args:
        model: a model or a model file.
        inputs: arrays by input name; random if left out.
        backends: which to measure.
        effort: how many runs.
    """
    opened = open_any_model(model)
    effort = effort or Effort()
    feed = dict(inputs) if inputs is not None else make_random_inputs(opened)
    forms = _Forms(opened, feed)
    measured = tuple(_measure_on(name, forms, effort) for name in backends)
    return ModelProfile(str(model) if not isinstance(model, Model) else opened.fixed_graph().name, measured)


def profile_log(
    model: Model | Path | str, backend: str = "cpu", inputs: Inputs | None = None, *, runs: int = 20
) -> ProfileLog:
    """The profile log of some runs on one backend, with the times of single ops where it measures them."""
    opened = open_any_model(model)
    feed = dict(inputs) if inputs is not None else make_random_inputs(opened)
    forms = _Forms(opened, feed)
    return _log(_find_measuring_backend(backend), forms.choose_graph(backend)[0], feed, Effort(runs))


def summarise_latencies(seconds: Sequence[float]) -> dict[str, float]:
    """Average, median, 95th and 99th percentile in milliseconds, and runs per second."""
    if not seconds:
        return dict.fromkeys(("average_ms", "p50_ms", "p95_ms", "p99_ms", "per_second"), math.nan)
    p50, p95, p99 = (float(value) * 1000 for value in np.percentile(seconds, (50, 95, 99)))
    average = float(np.mean(seconds))
    return {
        "average_ms": average * 1000,
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "per_second": 1 / average if average else math.nan,
    }


class _Forms:
    """A model as it is, and in fixed point for backends that need it."""

    def __init__(self, model: Model, feed: Inputs) -> None:
        self._model, self.feed = model, feed
        self._fixed: Graph | None = None

    def choose_graph(self, backend: str) -> tuple[Graph, tuple[str, ...]]:
        graph = self._model.graph_for(self.feed)
        is_fixed = any(kind.dtype.is_fixed_point for kind in graph.types.values())
        if is_fixed or not backend.lower().startswith(("htp", "libqnnhtp", "qnnhtp")):
            return graph, ()
        if self._fixed is None:
            request, samples = QuantizationRequest(act_quantizer="tf"), [dict(self.feed)]
            quantized = quantize_model(Model.of(graph.copy()), request, samples, CpuExecutor())
            self._fixed = quantized.fixed_graph()
        return self._fixed, ("quantized to 8 bits for this measurement",)


def _measure_on(name: str, forms: _Forms, effort: Effort) -> BackendProfile:
    try:
        backend = find_backend(name)
    except UsageError:
        # A name that no backend has; all else may be a backend that this machine lacks.
        raise
    except EdgewrightError as problem:
        return _note_problem(name, problem)
    try:
        graph, notes = forms.choose_graph(name)
        return _measure_graph(name, backend, graph, forms.feed, effort, notes)
    except EdgewrightError as problem:
        return _note_problem(name, problem)


def _note_problem(name: str, problem: EdgewrightError) -> BackendProfile:
    return BackendProfile(name, problem=f"{problem.what}{f'; {problem.do}' if problem.do else ''}")


def _measure_graph(
    name: str, backend: Backend, graph: Graph, inputs: Inputs, effort: Effort, notes: tuple[str, ...]
) -> BackendProfile:
    before = measure_memory()
    started = time.perf_counter()
    session = backend.prepare(graph, RunOptions(effort.threads))
    init = time.perf_counter() - started
    feed = Surface(graph).encode_inputs(inputs)
    times, share = _time_runs(lambda: session.run(feed), effort)
    latency = summarise_latencies(times)
    added = max(measure_memory() - before, 0)
    ops = summarise(
        _log(_find_measuring_backend(name), graph, inputs, Effort(min(5, len(times)), 2.0, 1, effort.threads))
    )
    return BackendProfile(
        name,
        backend.name,
        len(times),
        init * 1000,
        latency["average_ms"],
        latency["p50_ms"],
        latency["p95_ms"],
        latency["p99_ms"],
        latency["per_second"],
        cpu_percent=share * 100,
        memory=added,
        slowest=ops.ops[:SLOWEST_KEPT],
        notes=notes,
    )


def _time_runs(run: Callable[[], object], effort: Effort) -> tuple[list[float], float]:
    """Seconds of each run, and their CPU time over wall time."""
    for _ in range(effort.warmup):
        run()
    times: list[float] = []
    computed, started = measure_processor_time(), time.perf_counter()
    while len(times) < effort.runs and (not times or time.perf_counter() - started < effort.seconds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    elapsed = time.perf_counter() - started
    return times, (measure_processor_time() - computed) / elapsed if elapsed else 0.0


def _find_measuring_backend(name: str) -> Backend:
    backend = find_backend(name)
    if isinstance(backend, HtpNativeBackend):
        return HtpNativeBackend(HtpOptions(profiling=ProfilingLevel.DETAILED))
    return backend


def _log(backend: Backend, graph: Graph, inputs: Inputs, effort: Effort) -> ProfileLog:
    started = time.perf_counter_ns()

    def read_clock() -> int:
        return (time.perf_counter_ns() - started) // 1000

    session = backend.prepare(graph, RunOptions(effort.threads, is_profiled=True))
    events = [ProfileEvent("INIT", 0, read_clock(), graph.name)]
    events += read_backend_events(session, "FINALIZE", 0)
    feed = Surface(graph).encode_inputs(inputs)
    starts = []
    ready = read_clock()
    for _ in range(effort.runs):
        starts.append(read_clock())
        session.run(feed)
        events.append(ProfileEvent("EXECUTE", starts[-1], read_clock() - starts[-1], graph.name))
        events += read_backend_events(session, "EXECUTE", starts[-1])
        if read_clock() - ready > effort.seconds * 1e6:
            break
    wall = read_clock() - ready
    events += read_node_events(session, graph, starts)
    log = ProfileLog("detailed", backend.name, graph.name, events, len(starts), wall)
    return add_op_types(log, graph)
