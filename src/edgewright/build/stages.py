"""The stages of a build that measure: each takes graphs and samples and gives a plain record."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from edgewright.abi.worker_process import WorkerLate, end_calls_at
from edgewright.analyse.advice import list_findings
from edgewright.analyse.layers import measure_layers
from edgewright.analyse.records import Finding, Layer, TensorView
from edgewright.analyse.tensors import view_worst_tensors
from edgewright.backends.qnn.backend import HtpNativeBackend
from edgewright.backends.qnn.options import HtpOptions, WorkerOptions
from edgewright.build.candidates import CandidateResult
from edgewright.build.deploy import CONTEXTS, HTP_BINARY
from edgewright.build.rates import count_workers
from edgewright.build.records import Artifact
from edgewright.build.time_budget import TimeBudget
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from edgewright.evaluate.evaluator import Evaluator
from edgewright.evaluate.measurement import Measurement, has_8_bit_values
from edgewright.evaluate.records import Accuracy, Loss
from edgewright.evaluate.runners import Run, RunnerLate
from edgewright.evaluate.verdict import NO_EMULATION
from edgewright.ir.contract import IoTensor
from edgewright.ir.graph import Graph
from edgewright.lower.names import spell_io_names
from edgewright.model.quantize import take_pairs
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.rules import MASKED_RULE
from edgewright.run.compiled_model import CompiledModel, load_context_copies
from edgewright.targets.soc import Soc

NATIVE, SIMULATION = "htp-native", "htp-sim"
# Samples that layers are compared on, and what of the rest of the time that may take.
LAYER_SAMPLES, LAYERS_REST = 8, 0.7
# Starting an emulator takes a moment, however late it is.
SHORTEST_CALL = 5.0


@dataclass(frozen=True)
class CompileResult:
    """The backend that compiled, the files that were written, and what goes in and comes out."""

    backend: str
    artifacts: tuple[Artifact, ...]
    contract: tuple[IoTensor, ...] = ()


@dataclass(frozen=True)
class EvaluationResult:
    """Accuracy of every output on every backend, and what is lost on the one that is nearest to a device."""

    accuracy: tuple[Accuracy, ...]
    loss: Loss
    # What the emulator loses against the simulation on the same samples; None where it did not run.
    apart: Loss | None = None
    # Numbers of the samples that the emulator had time for.
    emulated: tuple[int, ...] = ()
    # Why the loss proves nothing.
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    # Why the float model itself is not what it should be.
    poor: tuple[str, ...] = ()
    # Numbers of the samples that the simulation had time for.
    judged: tuple[int, ...] = ()


@dataclass(frozen=True)
class AnalysisResult:
    """Layers and tensors, and what to do about them."""

    layers: tuple[Layer, ...]
    tensors: tuple[TensorView, ...]
    findings: tuple[Finding, ...]


def check_candidate(
    evaluator: Evaluator, graph: Graph, backend: str, folder: Path, budget: TimeBudget
) -> Loss:
    """What a compiled candidate loses on the samples that choose, nearest to a device."""
    if backend == NATIVE:
        # An emulator that cannot run what was compiled is told of by the verdict.
        with suppress(EdgewrightError), budget.count_emulator():
            seconds = budget.check_seconds
            most = max(seconds, budget.judging_seconds / 2)
            measured = _run_emulator(evaluator, graph, folder, (seconds, most))
            if measured.samples:
                return evaluator.measure_loss(measured)
    return evaluator.measure_loss(evaluator.measure_graph(graph, SIMULATION, budget.simulation_seconds / 2))


def evaluate_candidate(
    evaluator: Evaluator, graph: Graph, backend: str, folder: Path, budget: TimeBudget, looks: int = 1
) -> EvaluationResult:
    """Float, simulation and the emulator, each on as many samples as it has time for.

    ``looks``: how many candidates these samples have judged, this one included.
    """
    seconds, start = budget.simulation_seconds, budget.seconds
    evaluator.run_float_model(budget.float_seconds)
    simulated = evaluator.measure_graph(graph, SIMULATION, seconds - (budget.seconds - start))
    same = evaluator.reference.select(simulated.numbers)
    simulation = EvaluationResult(
        (*evaluator.list_accuracy(same), *evaluator.list_accuracy(simulated)),
        evaluator.measure_loss(simulated, looks=looks),
        doubts=evaluator.list_doubts(simulated),
        notes=tuple(_list_notes(evaluator, simulated)),
        poor=evaluator.list_poor_scores(),
        judged=simulated.numbers,
    )
    if backend != NATIVE:
        note = "the genuine emulator did not run: figures and verdict are the simulation's"
        return replace(simulation, notes=(*simulation.notes, note))
    try:
        with budget.count_emulator():
            times = budget.judging_seconds, budget.verdict_seconds
            emulated = _run_emulator(evaluator, graph, folder, times, simulated.numbers)
    except EdgewrightError as problem:
        # The files are complete: an emulator that cannot run them is reported, and no reason to lose them.
        doubt = f"the emulator did not run what was compiled: {problem.what}"
        return replace(simulation, doubts=(doubt, *simulation.doubts))
    if not emulated.samples:
        return replace(simulation, doubts=(NO_EMULATION, *simulation.doubts))
    figures = [*simulation.accuracy, *evaluator.list_accuracy(emulated)]
    notes = list(simulation.notes)
    if emulated.samples < simulated.samples:
        notes.append(
            f"the emulator had time for {emulated.samples} of {simulated.samples} samples, spread over all"
        )
        figures += evaluator.list_accuracy(evaluator.reference.select(emulated.numbers))
    return replace(
        simulation,
        accuracy=tuple(figures),
        loss=evaluator.measure_loss(emulated, looks=looks),
        apart=evaluator.measure_loss(emulated, than=simulated.select(emulated.numbers)),
        emulated=emulated.numbers,
        doubts=evaluator.list_doubts(emulated),
        notes=tuple(notes),
    )


def _list_notes(evaluator: Evaluator, simulated: Measurement) -> list[str]:
    """What there was no time for, and kinds of samples that may be missing."""
    count, planned = simulated.samples, evaluator.planned
    fewer = f"for time, only {count} of the {planned} samples judge, spread over all"
    return [note for note in [fewer if count < planned else "", evaluator.describe_unseen_kinds()] if note]


def _run_emulator(
    evaluator: Evaluator,
    graph: Graph,
    folder: Path,
    times: tuple[float, float],
    numbers: Sequence[int] | None = None,
) -> Measurement:
    """The very binary that is written, on emulators that share the samples, or those of some numbers.

    ``times``: the seconds in which samples begin, and those in which they end.
    """
    now, (seconds, most) = time.monotonic(), times
    copies = load_context_copies(folder / CONTEXTS / HTP_BINARY, count_workers())
    chosen = None if numbers is None else evaluator.select_samples(numbers)
    # Starting them is of its time, too.
    rest = max(0.0, now + seconds - time.monotonic())
    runs = [_make_runner(graph, copy, now + max(most, SHORTEST_CALL)) for copy in copies]
    measured = evaluator.measure_runners(runs, NATIVE, chosen, rest)
    return replace(measured, has_8_bits=has_8_bit_values(graph))


def _make_runner(graph: Graph, compiled: CompiledModel, end: float) -> Run:
    """Runs samples on an emulator, which is ended where one takes longer than that."""
    names = spell_io_names(graph.inputs, graph.outputs)

    def run(sample: Mapping[str, Array]) -> Mapping[str, Array]:
        try:
            with end_calls_at(end):
                outputs = compiled.run({names[name]: array for name, array in sample.items()})
        except WorkerLate as late:
            if time.monotonic() < end:
                raise
            raise RunnerLate from late
        return {name: outputs[names[name]] for name in graph.outputs}

    return run


def analyse_candidate(
    source: Graph,
    graph: Graph,
    few: Sequence[Mapping[str, Array]],
    chosen: CandidateResult,
    emulator: HtpNativeBackend | None,
    budget: TimeBudget,
) -> AnalysisResult:
    """Where accuracy is lost on a few samples, and what fixes it."""
    plain, _ = take_pairs(source)
    seconds, most = budget.layers_seconds, LAYERS_REST * budget.rest
    try:
        measured = measure_layers(plain, graph, few, emulator=emulator, seconds=seconds, most_seconds=most)
        layers = leave_out_masked(measured, chosen.report())
        tensors = view_worst_tensors(plain, graph, few if budget.rest else few[:1], layers)
        findings = list_findings(plain, graph, layers, tensors, chosen.report())
        return AnalysisResult(layers, tensors, (*findings, *_describe_missing_layers(layers)))
    except EdgewrightError as problem:
        what = f"layers could not be compared with the float model: {problem.what}"
        return AnalysisResult((), (), (Finding("note", "analysis", what),))


def leave_out_masked(layers: Sequence[Layer], report: QuantizationReport) -> tuple[Layer, ...]:
    """The layers without masked scores, which are as far from the float model's as nobody can see."""
    masked = frozenset(report.rules.get(MASKED_RULE, ()))
    return tuple(layer for layer in layers if layer.tensor not in masked)


def _describe_missing_layers(layers: Sequence[Layer]) -> list[Finding]:
    """What there was no time for."""
    missing = sum(layer.sim_db is None for layer in layers)
    what = f"{missing} of {len(layers)} layers were not compared with the float model: the time was up"
    return [Finding("note", "analysis", what)] if 0 < missing < len(layers) else []


def open_emulator(chip: Soc, seconds: float) -> HtpNativeBackend:
    """The genuine emulator of a chip, whose compiler is ended after so many seconds."""
    worker = WorkerOptions()
    worker = replace(worker, timeout=max(SHORTEST_CALL, min(worker.timeout, seconds)))
    return HtpNativeBackend(HtpOptions(soc_model=chip.soc_model, worker=worker))
