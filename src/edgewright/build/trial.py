"""Tries a model on a few samples before anything is estimated: how fast it runs, and what 8 bits lose."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from edgewright.abi.worker_process import WorkerLate, end_calls_at
from edgewright.backends.cpu.compiled import find_kernels
from edgewright.backends.executor import CpuExecutor
from edgewright.build.rates import Rates
from edgewright.config.backend_config import BackendConfig
from edgewright.core.errors import EdgewrightError
from edgewright.core.files import write_whole
from edgewright.core.numbers import Array
from edgewright.data.samples import SampleSelection
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
# What correcting weights takes besides, for each algorithm that rewrites the graph and once more: graphs that
# are planned; and how many multiply-accumulates a second fitting makes, on
# about so many samples (eleven models, one core).
CORRECTED_GRAPHS, FITTED_MACS, FITTED_SAMPLES = 16, 1e10, 24
# Samples that plain 8 bits are calibrated by at least.
FEWEST_CALIBRATING = 4
# Of the time of the compiler: in this part of it the emulator is timed, for samples differ, and so does what
# else the machine does; what takes longer than the other part for its first one is not run again.
EMULATED_PART, SLOW_PART = 0.05, 0.2

Samples = Sequence[Mapping[str, Array]]
# Makes the first candidate of a build from samples that calibrate.
MakeCandidate = Callable[[Samples], Graph]


@dataclass(frozen=True)
class Trial:
    """The rates of a model, and its plain 8 bits where they were tried."""

    rates: Rates
    quantized: Graph | None = None
    # What the compiler said where it takes no plain 8 bits, and whether it takes half precision instead.
    refusal: EdgewrightError | None = None
    is_half_taken: bool = False
    # Whether the emulator ran it.
    is_emulated: bool = False


def try_model(
    graph: Graph,
    samples: Samples,
    chip: Soc | None,
    seconds: float = math.inf,
    make_candidate: MakeCandidate | None = None,
    calibrating: SampleSelection | None = None,
) -> Trial:
    """Runs the float model, the first candidate, and with a chip its emulator, on a few samples.

    In about so many seconds: what is slower is not tried.

    Args:
        graph: the float model.
        samples: those that are timed.
        chip: None where there is no emulator.
        seconds: what all of it may take.
        make_candidate: what the build begins with; plain 8 bits where nothing is said.
        calibrating: what that is calibrated by, as many as there is time for; those that are timed otherwise.
    """
    # Compiled once on a machine, and not for this model.
    find_kernels()
    preparing, floating = _time_model(Model.of(graph), samples, "cpu", seconds)
    emulated = USUAL_EMULATION * floating if chip is not None else 0.0
    usual = Rates(floating, USUAL_SIMULATION * floating, preparing, 2 * preparing, emulated)
    usual = _expect_correcting(_expect_compiling(usual, chip), graph, 2 * preparing + len(samples) * floating)
    most = seconds / TRIED_PARTS
    if floating > min(SLOW_SECONDS, most / FEW_RUNS):
        return Trial(usual)
    known = samples if calibrating is None else select_in_time(calibrating, floating, most)
    try:
        start = time.monotonic()
        quantized = (make_candidate or partial(make_plain, graph))(known)
        quantizing = max(0.0, time.monotonic() - start - len(known) * floating)
        preparing, simulated = _time_model(Model.of(quantized), samples, "htp-sim", seconds)
    except EdgewrightError:
        return Trial(usual)
    rates = _expect_compiling(replace(usual, simulated=simulated, preparing_simulation=preparing), chip)
    rates = _expect_correcting(rates, graph, quantizing)
    if chip is None or simulated > min(SLOW_TO_COMPILE, most / FEW_RUNS):
        return Trial(rates, quantized)
    order = _make_order(chip, seconds)
    try:
        return Trial(_add_emulator(rates, quantized, samples, order), quantized, is_emulated=True)
    except WorkerLate:
        # It takes longer than that, nobody knows by how much.
        return Trial(replace(rates, compiling=max(rates.compiling, LATE_TIMES * order.timeout)), quantized)
    except EdgewrightError as problem:
        is_half_taken = make_candidate is None and _is_half_taken(graph, samples, order)
        return Trial(rates, quantized, problem, is_half_taken)


def time_half(rates: Rates, graph: Graph, samples: Samples, chip: Soc, seconds: float) -> Rates:
    """The rates with those of compiler and emulator for half precision, if that ends in so many seconds."""
    if rates.compiling + rates.loading + FEW_RUNS * rates.emulated > seconds:
        return rates
    order = _make_order(chip, seconds)
    with suppress(EdgewrightError):
        half = _add_emulator(rates, graph, samples, order)
        return replace(half, emulated=rates.emulated, emulated_half=half.emulated)
    return rates


def _make_order(chip: Soc, seconds: float) -> CompileOrder:
    """Compiles for the emulator, and is ended where it takes longer than its part of so many seconds."""
    order = CompileOrder("htp-native", chip, BackendConfig())
    return replace(order, timeout=min(order.timeout, COMPILED_PART * seconds))


def select_in_time(calibrating: SampleSelection, floating: float, seconds: float) -> Samples:
    """As many samples as the float model runs in so many seconds, a few at least."""
    count = len(calibrating) if floating * len(calibrating) <= seconds else int(seconds / floating)
    return list(calibrating.select(max(FEWEST_CALIBRATING, count)))


def make_plain(graph: Graph, samples: Samples, act_bw: int = 8) -> Graph:
    """Plain precisions as candidates are made: a recurrent layer alone cannot be in fixed point."""
    plain = quantize_graph(graph, QuantizationRequest(act_bw=act_bw), samples, CpuExecutor())
    made = fall_to_half(plain, graph).graph
    return with_steps(made, made.outputs)


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


def _time_model(model: Model, samples: Samples, backend: str, seconds: float) -> tuple[float, float]:
    """Seconds to get ready, and of one run; it takes a part of so many seconds.

    The first run has getting ready in it, however long that takes.
    """
    start = time.monotonic()
    model.run(samples[0], backend=backend)
    first = time.monotonic() - start
    if first > min(2 * SLOW_SECONDS, seconds):
        return 0.0, first
    times = [_time_run(model, samples[0], backend)]
    for sample in (*samples[1:], *samples):
        if sum(times) < seconds / TRIED_PARTS:
            times.append(_time_run(model, sample, backend))
    usual = min(times)
    return max(0.0, first - usual), sum(times) / len(times)


def _time_run(model: Model, sample: Mapping[str, Array], backend: str) -> float:
    start = time.monotonic()
    model.run(sample, backend=backend)
    return time.monotonic() - start


def _is_half_taken(graph: Graph, samples: Samples, order: CompileOrder) -> bool:
    if order.target.arch < FIRST_WITH_HALF:
        return False
    made = quantize_graph(graph, QuantizationRequest(float_bw=16)).graph
    try:
        _add_emulator(Rates(0.0, 0.0, 0.0, 0.0), with_steps(made, made.outputs), samples, order)
    except WorkerLate:
        return True  # slow is not refused
    except EdgewrightError:
        return False
    return True


def _add_emulator(rates: Rates, graph: Graph, samples: Samples, order: CompileOrder) -> Rates:
    """The rates with those of compiler and emulator."""
    names = spell_io_names(graph.inputs, graph.outputs)
    named = [{names[name]: array for name, array in sample.items()} for sample in samples]
    with TemporaryDirectory(prefix="edgewright-", ignore_cleanup_errors=True) as folder:
        start = time.monotonic()
        path = Path(folder) / "context.bin"
        write_whole(path, compile_graphs([graph], order).chunks())
        rates = replace(rates, compiling=time.monotonic() - start)
        return _time_emulator(rates, load_context(path), named, order.timeout)


def _time_emulator(rates: Rates, compiled: CompiledModel, samples: Samples, seconds: float) -> Rates:
    """The rates with those of the emulator, which is ended where it takes longer than so many seconds."""
    start = time.monotonic()
    times: list[float] = []
    try:
        with end_calls_at(start + seconds):
            compiled.run(samples[0])
            first = time.monotonic() - start
            if first > seconds * SLOW_PART:
                return replace(rates, emulated=first)
            for sample in samples:
                if sum(times) <= seconds * EMULATED_PART:
                    before = time.monotonic()
                    compiled.run(sample)
                    times.append(time.monotonic() - before)
    except WorkerLate:
        if not times:
            return replace(rates, emulated=max(rates.emulated, LATE_TIMES * seconds))
    emulated = sum(times) / len(times)
    return replace(rates, emulated=emulated, loading=max(0.0, first - emulated))
