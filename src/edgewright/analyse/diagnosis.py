"""Where a quantized model loses accuracy, which encodings are to blame, and what each remedy gains."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from edgewright.analyse.advice import format_override, list_findings
from edgewright.analyse.backend_differences import BackendComparison
from edgewright.analyse.compare_models import OutputDifference, compare, make_differences_table
from edgewright.analyse.layers import measure_layers
from edgewright.analyse.odd_encodings import ODD_DB, OddEncoding, find_odd_encodings, list_shared_values
from edgewright.analyse.records import Layer, TensorView
from edgewright.analyse.tensors import view_worst_tensors
from edgewright.analyse.wider_tensors import widen_tensors
from edgewright.artifacts.encodings import load_encodings
from edgewright.backends.base import Backend
from edgewright.backends.executor import CpuExecutor
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.core.page import Block, Displayed, Table
from edgewright.model.model import Model
from edgewright.model.quantize import quantize_model
from edgewright.quantize.encodings import Grid
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.tensor_encodings import EncodingSet

Feeds = Sequence[Mapping[str, Array]]
# Below this, what comes out of a layer is called different; where encodings are odd, those come first.
DIFFERENT_DB = 20.0
MOST_ODD, MOST_REMEDIES, WORST_SHOWN = 2, 3, 10
SIMULATION = "htp-sim"


@dataclass(frozen=True)
class Remedy:
    """What would help a layer, as an override, and the outputs' SQNR before and with it."""

    source: str
    what: str
    do: str
    before_db: float
    # None where it cannot be measured.
    after_db: float | None = None

    @property
    def helps(self) -> bool:
        """Whether it is worth naming: what was measured and gains nothing is not."""
        return self.after_db is None or self.after_db > self.before_db


@dataclass(frozen=True, repr=False)
class Diagnosis(Displayed):
    """All that was measured of a quantized model beside its float source."""

    model: str
    samples: int
    outputs: tuple[OutputDifference, ...]
    layers: tuple[Layer, ...]
    odd: tuple[OddEncoding, ...]
    remedies: tuple[Remedy, ...]
    tensors: tuple[TensorView, ...] = ()
    backends: tuple[BackendComparison, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def first_divergence(self) -> str:
        """One line: the layer to look at first.

        An encoding that is worse than it had to be comes first; else the first layer that is too far away.
        """
        if self.odd and self.odd[0].excess_db >= ODD_DB:
            return f"first divergence: {self.odd[0].describe()}"
        for layer in self.layers:
            if layer.sim_db is not None and layer.sim_db < DIFFERENT_DB:
                return f"first divergence: {layer.source} ({layer.op}): {layer.sim_db:.1f} dB up to here"
        return f"first divergence: none; all {len(self.layers)} layers keep {DIFFERENT_DB:g} dB or more"

    def _list_blocks(self) -> list[Block]:
        return list_blocks(self)


def diagnose_model(
    source: Model,
    quantized: Model,
    feeds: Feeds,
    *,
    request: QuantizationRequest | None = None,
    emulator: Backend | None = None,
) -> Diagnosis:
    """Measures layers, encodings and remedies.

    Args:
        source: the float model.
        quantized: made from it.
        feeds: samples for the float model; they also calibrate what encodings are compared with.
        request: how it was quantized, where remedies shall be tried by quantizing again.
        emulator: the genuine backend, for its own column.
    """
    before, after = source.fixed_graph(), quantized.fixed_graph()
    with announce_progress("diagnosing", total=4) as step:
        outputs = compare(source, quantized, feeds, backend=SIMULATION)
        step()
        layers = measure_layers(before, after, feeds, emulator=emulator)
        tensors = view_worst_tensors(before, after, feeds, layers)
        step()
        # What was calibrated here, on these samples, is as fresh as can be.
        is_fresh = request is not None and request.overrides is None
        scheme = "tf" if request is None else request.act_quantizer
        odd = () if is_fresh else find_odd_encodings(before, after, feeds, scheme)
        step()
        doctor = _Doctor(source, quantized, feeds, request, min(item.sqnr_db for item in outputs))
        tried = [*doctor.replace_odd_encodings(odd), *doctor.widen_layers(layers, tensors)]
        remedies = [remedy for remedy in tried if remedy.helps]
        step()
    return Diagnosis(after.name, len(feeds), tuple(outputs), layers, odd, tuple(remedies), tensors=tensors)


@dataclass(frozen=True)
class _Doctor:
    """Tries remedies and measures the worst output with each."""

    source: Model
    quantized: Model
    feeds: Feeds
    request: QuantizationRequest | None
    before_db: float

    def replace_odd_encodings(self, odd: Sequence[OddEncoding]) -> Iterator[Remedy]:
        """The odd encodings, each replaced by a fresh one."""
        for entry in [entry for entry in odd if entry.excess_db >= ODD_DB][:MOST_ODD]:
            kind = self.quantized.fixed_graph().types[entry.tensor]
            assert kind.encoding is not None
            bits = kind.encoding.bitwidth
            limits = {"bitwidth": bits, "min": entry.fresh_low, "max": entry.fresh_high}
            what = f"a range of {entry.fresh_low:.4g} to {entry.fresh_high:.4g} for '{entry.source}'"
            if entry.is_weight:
                do = "leave its encoding out of the overrides"
                fresh = f"fresh encodings for the weights '{entry.source}'"
                yield Remedy(entry.layer, fresh, do, self.before_db)
                continue
            do = format_override({entry.source: limits}, {})
            yield Remedy(entry.layer, what, do, self.before_db, self._measure(self._replace_encoding(entry)))

    def widen_layers(self, layers: Sequence[Layer], tensors: Sequence[TensorView]) -> Iterator[Remedy]:
        """The layers that lose most by themselves, with more bits."""
        graphs = (self.source.fixed_graph(), self.quantized.fixed_graph())
        findings = [
            finding
            for finding in list_findings(*graphs, layers, tensors)
            if finding.kind in {"range", "weights"}
        ]
        for finding in findings[:MOST_REMEDIES]:
            # A model that was quantized elsewhere keeps all else as it is.
            if self.request is None:
                changed = widen_tensors(*graphs, finding.do)
                after = None if changed is None else self._measure(Model.of(changed))
            else:
                after = self._measure(self._quantize_with(finding.do))
            yield Remedy(finding.where, finding.what, finding.do, self.before_db, after)

    def _measure(self, model: Model) -> float:
        return min(item.sqnr_db for item in compare(self.source, model, self.feeds, backend=SIMULATION))

    def _replace_encoding(self, entry: OddEncoding) -> Model:
        graph = self.quantized.fixed_graph().copy()
        spoiled = graph.types[entry.tensor]
        assert spoiled.encoding is not None
        grid = Grid(spoiled.encoding.bitwidth, is_symmetric=spoiled.dtype.is_signed)
        fresh = grid.encode_range(entry.fresh_low, entry.fresh_high)
        for value in list_shared_values(graph, entry.tensor):
            graph.types[value] = replace(graph.types[value], encoding=fresh)
        return Model.of(graph)

    def _quantize_with(self, override: str) -> Model:
        assert self.request is not None
        added = load_encodings(json.loads(override))
        assert added is not None
        known = self.request.overrides or EncodingSet()
        names = {entry.name for entry in added.tensors}
        kept = [entry for entry in known.tensors if entry.name not in names]
        overrides = replace(known, tensors=(*kept, *added.tensors))
        return quantize_model(
            self.source, replace(self.request, overrides=overrides), self.feeds, CpuExecutor()
        )


def list_blocks(diagnosis: Diagnosis) -> list[Block]:
    """The diagnosis in tables: what to look at first, outputs, worst layers, remedies."""
    worst = sorted(
        (layer for layer in diagnosis.layers if layer.own_db is not None),
        key=lambda layer: math.inf if layer.own_db is None else layer.own_db,
    )
    rows = tuple(
        (layer.source, layer.op, *map(format_db, (layer.own_db, layer.sim_db, layer.emulator_db)))
        for layer in worst[:WORST_SHOWN]
    )
    title = f"Outputs over {diagnosis.samples} samples, in the simulation"
    blocks: list[Block] = [make_differences_table(title, diagnosis.outputs)]
    headers = ("layer", "op", "by itself", "up to here", "on the emulator")
    blocks.append(Table("Layers that lose most by themselves", headers, rows, frozenset({2, 3, 4})))
    odd = [entry for entry in diagnosis.odd if entry.excess_db >= ODD_DB][:WORST_SHOWN]
    if odd:
        blocks.append(_make_odd_table(odd))
    if diagnosis.remedies:
        blocks.append(_make_remedies_table(diagnosis.remedies))
    lines = [comparison.first_divergence for comparison in diagnosis.backends]
    return [*blocks, *diagnosis.notes, *lines, diagnosis.first_divergence]


def format_db(value: float | None) -> str:
    """A figure in decibels."""
    return "-" if value is None else f"{value:.1f} dB"


def _make_odd_table(odd: Sequence[OddEncoding]) -> Table:
    rows = tuple(
        (
            entry.source,
            format_db(entry.excess_db),
            f"{entry.low:.4g} to {entry.high:.4g}",
            f"{entry.fresh_low:.4g} to {entry.fresh_high:.4g}",
        )
        for entry in odd
    )
    headers = ("tensor", "loses more", "range", "on these samples")
    return Table("Encodings that a fresh calibration would better", headers, rows, frozenset({1}))


def _make_remedies_table(remedies: Sequence[Remedy]) -> Table:
    rows = tuple(
        (
            remedy.source,
            remedy.what,
            format_db(remedy.before_db),
            "not measured" if remedy.after_db is None else format_db(remedy.after_db),
        )
        for remedy in remedies
    )
    return Table("What would help", ("layer", "remedy", "output now", "with it"), rows, frozenset({2, 3}))
