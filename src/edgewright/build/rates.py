"""How fast this machine runs a model now: measured on a few samples, before anything is estimated."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from edgewright.abi.worker_process import WorkerLate, end_calls_at
from edgewright.backends.executor import CpuExecutor
from edgewright.config.backend_config import BackendConfig
from edgewright.core.errors import EdgewrightError
from edgewright.core.files import write_whole
from edgewright.core.machine_use import count_cores, read_thread_limit
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.lower.names import spell_io_names
from edgewright.model.model import Model
from edgewright.model.narrow import fall_to_half
from edgewright.passes.htp.unroll_recurrent import with_steps
from edgewright.quantize.attempts import REWRITING
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.recommended import recommend_algorithms
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.weights.layerwise import estimate_fitting
from edgewright.run.compiled_model import CompiledModel, load_context
from edgewright.run.context.compile import CompileOrder, compile_graphs
from edgewright.targets.soc import FIRST_WITH_HALF, Soc

# A float model that takes longer for one sample is not run any more than that; nor is one compiled whose
# simulation takes longer.
SLOW_SECONDS, SLOW_TO_COMPILE = 4.0, 2.0
# Of the time that all of it may take, what each part of a trial has, and how often a model runs there.
TRIED_PARTS, FEW_RUNS = 4, 4
# What compiling may take of that time before it is ended, and how many times as long it is said to need then.
COMPILED_PART, LATE_TIMES = 2.0, 2.0
# What the simulation takes of a model that was not tried, in runs of the float model; and the emulator.
USUAL_SIMULATION, USUAL_EMULATION = 4.0, 40.0
# What compiling takes of a model that was not tried: seconds, and runs of the simulation (eleven models, of
# 0.004 to 0.7 s a run).
COMPILING_SECONDS, COMPILING_RUNS = 1.0, 4.0
# Runs that compare layers; what files and the report take, and in compilations what compiling and wrapping
# take with all files.
COMPARED, WRITING_SECONDS, COMPILATIONS = 12, 1.0, 1.5
LAYERS_EMULATED = 6
# What correcting weights takes besides, for each algorithm that rewrites the graph and once more: graphs that
# are planned; and how many multiply-accumulates a second fitting makes, on
# about so many samples (eleven models, one core).
CORRECTED_GRAPHS, FITTED_MACS, FITTED_SAMPLES = 16, 1e10, 24
# Emulators that run at a time, one a core; each holds a copy of the model.
MOST_WORKERS = 4


@dataclass(frozen=True)
class Rates:
    """Seconds of one sample, and of what comes once."""

    floating: float
    simulated: float
    # Making a session of the float model, and of a quantized one.
    preparing: float
    preparing_simulation: float
    # Of the emulator; 0 where there is none.
    emulated: float = 0.0
    compiling: float = 0.0
    # Starting it with a binary.
    loading: float = 0.0
    # Plain 8 bits on a few samples, and what correcting weights takes besides runs of the float model.
    quantizing: float = 0.0
    correcting: float = 0.0

    @property
    def planning(self) -> float:
        """What it takes to plan the encodings of a graph and to get it ready, runs of it included."""
        return self.quantizing + self.preparing_simulation

    def scale_seconds(self, factor: float) -> "Rates":
        """The same on a machine that has become slower."""
        return Rates(**{field.name: factor * getattr(self, field.name) for field in fields(self)})

    def estimate_layers(self) -> float:
        """What comparing layers in the simulation takes."""
        return COMPARED * (self.floating + self.simulated) + 4 * self.preparing_simulation

    def estimate_emulated_layers(self) -> float:
        """What comparing layers on the emulator takes: compiled with all results, which it gives back."""
        return self.compiling + LAYERS_EMULATED * self.emulated

    @property
    def unstoppable(self) -> float:
        """What nothing can stop once it has begun: compiling, and writing all files."""
        return COMPILATIONS * self.compiling + WRITING_SECONDS

    def estimate_finish(self, judging: int) -> float:
        """What comes after the search but the emulator: files, the verdict, layers and the report."""
        return self.estimate_verdict(judging) + self.estimate_emulated_layers()

    def estimate_verdict(self, judging: int) -> float:
        """The same without layers on the emulator, which a better candidate comes before."""
        judged = judging * (self.floating + self.simulated)
        return judged + self.estimate_layers() + self.unstoppable


@dataclass(frozen=True)
class Trial:
    """The rates of a model, and its plain 8 bits where they were tried."""

    rates: Rates
    quantized: Graph | None = None
    # What the compiler said where it takes no plain 8 bits, and whether it takes half precision instead.
    refusal: EdgewrightError | None = None
    is_half_taken: bool = False


def try_model(
    graph: Graph, samples: Sequence[Mapping[str, Array]], chip: Soc | None, seconds: float = math.inf
) -> Trial:
    """Runs the float model, plain 8 bits, and with a chip its emulator, on a few samples.

    In about so many seconds: what is slower is not tried.
    """
    most = seconds / TRIED_PARTS
    preparing, floating = _time_model(Model.of(graph), samples, "cpu", most)
    emulated = USUAL_EMULATION * floating if chip is not None else 0.0
    usual = Rates(floating, USUAL_SIMULATION * floating, preparing, 2 * preparing, emulated)
    usual = _expect_correcting(_expect_compiling(usual, chip), graph, 2 * preparing + len(samples) * floating)
    if floating > min(SLOW_SECONDS, most / FEW_RUNS):
        return Trial(usual)
    try:
        start = time.monotonic()
        plain = quantize_graph(graph, QuantizationRequest(), list(samples), CpuExecutor())
        quantizing = time.monotonic() - start
        # As candidates are made: a recurrent layer alone cannot be in fixed point.
        made = fall_to_half(plain, graph).graph
        quantized = with_steps(made, made.outputs)
        preparing, simulated = _time_model(Model.of(quantized), samples, "htp-sim", most)
    except EdgewrightError:
        return Trial(usual)
    rates = _expect_compiling(replace(usual, simulated=simulated, preparing_simulation=preparing), chip)
    rates = _expect_correcting(rates, graph, quantizing)
    if chip is None or simulated > min(SLOW_TO_COMPILE, most / FEW_RUNS):
        return Trial(rates, quantized)
    order = CompileOrder("htp-native", chip, BackendConfig())
    order = replace(order, timeout=min(order.timeout, COMPILED_PART * seconds))
    try:
        return Trial(_add_emulator(rates, quantized, samples[0], order), quantized)
    except WorkerLate:
        # It takes longer than that, nobody knows by how much.
        return Trial(replace(rates, compiling=max(rates.compiling, LATE_TIMES * order.timeout)), quantized)
    except EdgewrightError as problem:
        return Trial(rates, quantized, problem, is_half_taken=_is_half_taken(graph, samples[0], order))


def _expect_compiling(rates: Rates, chip: Soc | None) -> Rates:
    """The rates with what compiling is expected to take, where nothing was compiled yet."""
    if chip is None:
        return rates
    return replace(rates, compiling=COMPILING_SECONDS + COMPILING_RUNS * rates.simulated)


def _expect_correcting(rates: Rates, graph: Graph, quantizing: float) -> Rates:
    """The rates with what correcting weights is expected to take, from what plain 8 bits took."""
    request = QuantizationRequest(act_quantizer="auto")
    request = replace(request, algorithms=recommend_algorithms(graph, request).algorithms)
    turns = 1 + sum(name in REWRITING for name in request.algorithms)
    rates = replace(rates, quantizing=quantizing)
    fitting = turns * estimate_fitting(graph, request, FITTED_SAMPLES) / FITTED_MACS
    return replace(rates, correcting=turns * CORRECTED_GRAPHS * rates.planning + fitting)


def count_workers() -> int:
    """How many emulators run at a time."""
    return min(MOST_WORKERS, read_thread_limit() or count_cores())


def _time_model(
    model: Model, samples: Sequence[Mapping[str, Array]], backend: str, most: float
) -> tuple[float, float]:
    """Seconds to get ready, and of one run; it takes about as long as it may at most."""
    start = time.monotonic()
    model.run(samples[0], backend=backend)
    first = time.monotonic() - start
    if first > min(2 * SLOW_SECONDS, most):
        return 0.0, first
    times = [_time_run(model, samples[0], backend)]
    for sample in (*samples[1:], *samples):
        if sum(times) < most:
            times.append(_time_run(model, sample, backend))
    usual = min(times)
    return max(0.0, first - usual), sum(times) / len(times)


def _time_run(model: Model, sample: Mapping[str, Array], backend: str) -> float:
    start = time.monotonic()
    model.run(sample, backend=backend)
    return time.monotonic() - start


def _is_half_taken(graph: Graph, sample: Mapping[str, Array], order: CompileOrder) -> bool:
    if order.target.arch < FIRST_WITH_HALF:
        return False
    made = quantize_graph(graph, QuantizationRequest(float_bw=16)).graph
    try:
        _add_emulator(Rates(0.0, 0.0, 0.0, 0.0), with_steps(made, made.outputs), sample, order)
    except WorkerLate:
        return True  # slow is not refused
    except EdgewrightError:
        return False
    return True


def _add_emulator(rates: Rates, graph: Graph, sample: Mapping[str, Array], order: CompileOrder) -> Rates:
    """The rates with those of compiler and emulator."""
    names = spell_io_names(graph.inputs, graph.outputs)
    named = {names[name]: array for name, array in sample.items()}
    with TemporaryDirectory(prefix="edgewright-", ignore_cleanup_errors=True) as folder:
        start = time.monotonic()
        path = Path(folder) / "context.bin"
        write_whole(path, compile_graphs([graph], order).chunks())
        rates = replace(rates, compiling=time.monotonic() - start)
        return _time_emulator(rates, load_context(path), named, order.timeout)


def _time_emulator(
    rates: Rates, compiled: CompiledModel, sample: Mapping[str, Array], seconds: float
) -> Rates:
    """The rates with those of the emulator, which is ended where it takes longer than so many seconds."""
    start = time.monotonic()
    try:
        with end_calls_at(start + seconds):
            compiled.run(sample)
            first = time.monotonic() - start
            if first > seconds / 2:
                return replace(rates, emulated=first)
            compiled.run(sample)
    except WorkerLate:
        return replace(rates, emulated=max(rates.emulated, LATE_TIMES * seconds))
    emulated = time.monotonic() - start - first
    return replace(rates, emulated=emulated, loading=max(0.0, first - emulated))
