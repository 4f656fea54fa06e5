"""One precision of a build: quantized, judged on samples held apart, with its price."""

import time
from dataclasses import dataclass, replace

from edgewright.analyse.evaluate import Evaluator
from edgewright.artifacts.encodings import EncodingsSource
from edgewright.backends.executor import CpuExecutor
from edgewright.build.records import Rung
from edgewright.data.samples import BuildSamples
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.model.quantize import find_fixed_point, quantize_model
from edgewright.ops.quant import Dequantize
from edgewright.quantize.cost import relative_cost, stored_bytes
from edgewright.quantize.report import QuantizationReport
from edgewright.quantize.request import QuantizationRequest

__all__ = [
    "AS_GIVEN",
    "Tried",
    "Workbench",
    "as_given",
    "is_fixed",
    "is_paired",
    "rung_of",
    "tried_of",
]

AS_GIVEN = "as given"


@dataclass(frozen=True)
class Tried:
    """A rung, and what a later stage must know of how it was made."""

    rung: Rung
    # Rules of the target by name, with the nodes or tensors they were applied to.
    rules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()

    def report(self) -> QuantizationReport:
        """The quantizer's own words, as far as they were kept."""
        rules = {name: list(places) for name, places in self.rules}
        return QuantizationReport(rules=rules, notes=list(self.notes))


@dataclass(frozen=True)
class Workbench:
    """What every rung is made of and judged with."""

    source: Graph
    tensors: frozenset[str]
    samples: BuildSamples
    evaluator: Evaluator
    limit: float | None
    # Encodings that come before those computed.
    overrides: EncodingsSource | None = None


def as_given(bench: Workbench) -> tuple[Graph, Tried]:
    """A model that was quantized before: its own encodings, and nothing else is decided."""
    began = time.monotonic()
    text = "the encodings that the model came with"
    if is_fixed(bench.source):
        rung = rung_of(bench, AS_GIVEN, text, bench.source, began)
        return bench.source, Tried(rung)
    return _tried(bench, AS_GIVEN, text, QuantizationRequest(), began)


def is_fixed(graph: Graph) -> bool:
    """Whether the graph is in fixed point already."""
    return find_fixed_point(graph) is not None


def is_paired(graph: Graph) -> bool:
    """Whether the model was trained with quantization: it holds pairs of encoding and decoding."""
    return any(isinstance(node.op, Dequantize) for node in graph.nodes)


def _tried(
    bench: Workbench, name: str, text: str, request: QuantizationRequest, began: float
) -> tuple[Graph, Tried]:
    model = Model.of(bench.source, bench.tensors)
    data = None if request.float_bw == 16 else bench.samples.calibration
    made = quantize_model(model, request, data, CpuExecutor())
    rung = rung_of(bench, name, text, made.fixed_graph(), began)
    return made.fixed_graph(), tried_of(rung, made.report)


def tried_of(rung: Rung, report: QuantizationReport, notes: tuple[str, ...] = ()) -> Tried:
    """A rung with what was done for it: notes of its own, then the quantizer's."""
    rules = tuple((rule, tuple(places)) for rule, places in report.rules.items())
    said = (*notes, *report.notes)
    return Tried(replace(rung, notes=said), rules, said)


def rung_of(bench: Workbench, name: str, text: str, graph: Graph, began: float) -> Rung:
    """What a graph keeps and what it costs; ``began`` is when its making did."""
    found = bench.evaluator.evaluate(graph)
    return Rung(
        name=name,
        text=text,
        backend="htp-sim",
        samples=found.samples,
        score=found.score,
        drop=found.drop,
        sqnr_db=found.sqnr_db,
        weight_bytes=stored_bytes(graph),
        cost=relative_cost(graph, bench.source),
        is_met=None if bench.limit is None else found.drop <= bench.limit,
        seconds=time.monotonic() - began,
    )
