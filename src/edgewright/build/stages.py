"""The stages of a build that compute something: each takes graphs and samples and gives a plain record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewright.analyse.advice import findings_of
from edgewright.analyse.evaluate import Evaluator, Measured
from edgewright.analyse.layers import layers_of
from edgewright.analyse.metric import choose_metric
from edgewright.analyse.records import Accuracy, Finding, Layer, Metric, TensorView
from edgewright.analyse.tensors import tensor_views
from edgewright.backends.qnn.backend import HtpNativeBackend
from edgewright.backends.qnn.options import HtpOptions
from edgewright.build.deploy import CONTEXTS, HTP_BINARY
from edgewright.build.estimates import EMULATOR_SECONDS, sizes_by_precision
from edgewright.build.ledger import sha256_of
from edgewright.build.opening import Opened, model_files
from edgewright.build.order import BuildOrder
from edgewright.build.records import Artifact, Source
from edgewright.build.rungs import Tried, is_fixed, is_paired
from edgewright.build.states import Memory
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from edgewright.data.samples import BuildSamples
from edgewright.ir.graph import Graph
from edgewright.lower.names import sanitized
from edgewright.model.model import Model
from edgewright.model.quantize import take_pairs
from edgewright.run.compiled_model import load_context
from edgewright.targets.soc import Soc

__all__ = [
    "SIMULATION",
    "Analysed",
    "Compiled",
    "Converted",
    "Evaluated",
    "analysed",
    "converted",
    "evaluated",
]

NATIVE, SIMULATION = "htp-native", "htp-sim"


@dataclass(frozen=True)
class Converted:
    """What is known once the model is converted."""

    source: Source
    metric: Metric
    # It came quantized, and is built as it is.
    is_quantized: bool
    tensors: tuple[str, ...]
    memories: tuple[Memory, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Compiled:
    """Who compiled, and what was written."""

    backend: str
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True)
class Evaluated:
    """Accuracy of every output on every backend, and the points that are lost in the end."""

    accuracy: tuple[Accuracy, ...]
    drop: float
    # How many answers were counted; 0 where the metric counts none.
    answers: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Analysed:
    """Layers and tensors, and what to do about them."""

    layers: tuple[Layer, ...]
    tensors: tuple[TensorView, ...]
    findings: tuple[Finding, ...]


def converted(order: BuildOrder, opened: Opened, graph: Graph, samples: BuildSamples) -> Converted:
    """Facts about the source model, and how its accuracy will be told."""
    macs = sum(node.op.macs(graph.input_types(node), graph.output_types(node)) for node in graph.nodes)
    parts = model_files(order.model)
    source = Source(
        file=order.model.name,
        format=opened.format,
        sha256=sha256_of(order.model),
        file_bytes=sum(path.stat().st_size for path in parts),
        nodes=len(graph) if opened.report is None else opened.report.nodes,
        parameters=sum(array.size for name, array in graph.constants.items() if graph.consumers(name)),
        macs=macs,
        weight_bytes=sizes_by_precision(graph)["source"],
    )
    return Converted(
        source,
        choose_metric(graph, samples.labels, order.metric, _outputs(graph, samples)),
        is_fixed(graph) or is_paired(graph),
        tuple(sorted(opened.tensors)),
        opened.memories,
        tuple(opened.notes),
    )


def _outputs(graph: Graph, samples: BuildSamples) -> Mapping[str, Array]:
    """What the float model gives for one sample."""
    (sample,) = samples.evaluation.first(1)
    return Model.of(graph).run(sample)


def evaluated(evaluator: Evaluator, graph: Graph, backend: str, folder: Path) -> Evaluated:
    """Float, simulation, and the emulator on as many samples as it has time for."""
    simulated = evaluator.measured(graph, SIMULATION)
    figures = [*evaluator.accuracy(evaluator.reference), *evaluator.accuracy(simulated)]
    drop, answers = evaluator.summed(simulated).drop, evaluator.answers()
    if backend != NATIVE:
        return Evaluated(
            tuple(figures), drop, answers, ("the genuine emulator did not run: figures are the simulation's",)
        )
    try:
        emulated = _emulated(evaluator, graph, folder)
    except EdgewrightError as problem:
        # The files are complete: that they could not be tried is said, and no reason to lose them.
        return Evaluated(tuple(figures), drop, answers, (f"the emulator did not run: {problem.what}",))
    figures += evaluator.accuracy(emulated)
    # The emulator's word counts where it had time, the simulation's for the other samples.
    beside = evaluator.summed(simulated.first(emulated.samples))
    more = evaluator.summed(emulated).drop - beside.drop
    more *= emulated.samples / max(simulated.samples, 1)
    notes = []
    if emulated.samples < simulated.samples:
        notes = [f"the emulator had time for {emulated.samples} of {simulated.samples} samples"]
    return Evaluated(tuple(figures), drop + more, answers, tuple(notes))


def _emulated(evaluator: Evaluator, graph: Graph, folder: Path) -> Measured:
    """The very binary that is written, on the emulator."""
    compiled = load_context(folder / CONTEXTS / HTP_BINARY)

    def run(sample: Mapping[str, Array]) -> Mapping[str, Array]:
        found = compiled.run(sample)
        return {name: found[sanitized(name)] for name in graph.outputs}

    return evaluator.measure(run, NATIVE, seconds=EMULATOR_SECONDS)


def analysed(
    source: Graph, graph: Graph, samples: BuildSamples, chosen: Tried, emulator: HtpNativeBackend | None
) -> Analysed:
    """Where accuracy is lost, and what mends it."""
    plain, _ = take_pairs(source)
    few: Sequence[Mapping[str, Array]] = list(samples.evaluation.first(8))
    try:
        layers = layers_of(plain, graph, few, emulator=emulator, seconds=EMULATOR_SECONDS)
        tensors = tensor_views(plain, graph, few, layers)
        return Analysed(layers, tensors, findings_of(plain, graph, layers, tensors, chosen.report()))
    except EdgewrightError as problem:
        what = f"layers could not be compared with the float model: {problem.what}"
        return Analysed((), (), (Finding("note", "analysis", what),))


def emulator_of(chip: Soc, backend: str) -> HtpNativeBackend | None:
    """The genuine emulator of a chip, where it is what compiled."""
    return HtpNativeBackend(HtpOptions(soc_model=chip.soc_model)) if backend == NATIVE else None
