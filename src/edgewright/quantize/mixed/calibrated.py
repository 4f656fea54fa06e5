"""A graph with what calibration found out about it: other widths are assigned without running it again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph
from edgewright.quantize.apply import apply_plan
from edgewright.quantize.assign import Plan, assign_encodings
from edgewright.quantize.calibrate import observe_extremes
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.groups import Groups
from edgewright.quantize.mixed.fits import Fit, find_fits
from edgewright.quantize.mixed.parts import Parts
from edgewright.quantize.observers import Extremes
from edgewright.quantize.pins import Origin, Pin, Placed
from edgewright.quantize.quantized_graph import QuantizedGraph
from edgewright.quantize.report import TensorRecord
from edgewright.quantize.roles import find_roles
from edgewright.quantize.tails import HEADROOM
from edgewright.quantize.weights.bias_correction import correct_biases, measure_input_means
from edgewright.quantize.weights.encode import place_weight

# The part of the noise that a copy with finer steps may leave.
WORTH_A_COPY = 0.25
HALF = Pin(16, Placed(DType.FLOAT_16), Origin.FLOAT)


@dataclass(frozen=True)
class Widths:
    """What differs from 8 bits: groups of values with 16 or in half precision, weights with 4 or 16."""

    wide: frozenset[str] = frozenset()
    half: frozenset[str] = frozenset()
    small: frozenset[str] = frozenset()
    fine: frozenset[str] = frozenset()


class Calibrated:
    """The float graph behind a w8a8 graph, the ranges of its values in few and in many bits, its weights.

    Args:
        base: the graph in w8a8.
        samples: calibration data, for one pass: ranges of 16 bits leave nothing out; and for another
            one where biases are corrected.
        executor: runs the samples.
    """

    def __init__(self, base: QuantizedGraph, samples: Samples, executor: Executor) -> None:
        self.graph, self._pins = base.source, base.pins
        self._request = replace(
            base.request,
            act_quantizer="tf",
            param_quantizer="mse",
            per_row=True,
            algorithms=(),
        )
        records = {record.name: record for record in base.report.tensors}
        self.placed = {name: record.placed for name, record in records.items()}
        fixed = [name for name, placed in self.placed.items() if placed.encoding is not None]
        self.parts = Parts(self.graph, self._request, base.pins, fixed)
        self._weights = _pin_weights(base.report.tensors)
        self._stored: dict[tuple[str, int], Placed] = {}
        groups = Groups(self.graph, self._request, base.pins)
        values, ruled = groups.list_observed(), groups.list_ruled()
        self._wide = observe_extremes(self.graph, [*values, *ruled], samples, executor)
        self._ruled = {value: groups.find(value) for value in ruled}
        self._means = (
            measure_input_means(self.graph, samples, executor) if base.has_corrected_biases else None
        )
        self._fits = find_fits(self.graph, base.graph)
        self._narrow = {value: _find_range(records[value], self._wide[value]) for value in values}

    def quantize(self, widths: Widths) -> QuantizedGraph:
        """The graph in the given widths."""
        if self._means is None:
            plan = self._plan(widths, self.graph)
            return QuantizedGraph(apply_plan(self.graph, plan), plan.report, self.graph)
        fitted = self._apply_fits(widths)
        graph, _ = correct_biases(fitted, self._plan(widths, fitted), self._means)
        plan = self._plan(widths, graph)
        return QuantizedGraph(apply_plan(graph, plan), plan.report, self.graph, has_corrected_biases=True)

    def list_finer_copies(self) -> dict[str, float]:
        """Groups of 16 bits that 8 bits can be cut out of, and what that leaves of the noise of 8 bits.

        Probabilities have steps of 1/256 by rule: where all of them are small, a copy has finer ones.
        """
        shares: dict[str, float] = {}
        for value, root in self._ruled.items():
            encoding = self.placed[value].encoding
            if root in self.parts.groups and encoding is not None:
                reach = self._wide[value]
                part = float(reach.high[0] - min(reach.low[0], 0)) / (encoding.scales[0] * 256)
                shares[root] = max(shares.get(root, 0.0), min(1.0, part) ** 2)
        return {root: share for root, share in shares.items() if share < WORTH_A_COPY}

    def fits(self, bits: int) -> dict[str, Fit]:
        """What becomes of weights and their biases in 8 bits, or (all of them) in 4."""
        if bits == 8:
            return self._fits
        small = self.quantize(Widths(small=frozenset(self.parts.weights)))
        return find_fits(self.graph, small.graph)

    def _apply_fits(self, widths: Widths) -> Graph:
        """The graph with the weights and biases that were fitted to 8 bits, where they have them."""
        graph = self.graph.copy()
        for value, fit in self._fits.items():
            is_half = self.parts.find_group(fit.node) in widths.half
            if not is_half and value not in widths.small | widths.fine:
                graph.constants.update(fit.constants)
        return graph

    def _place_weights(self, value: str, bits: int) -> Placed:
        """How weights are stored in so many bits, where that is not as they are."""
        if (value, bits) not in self._stored:
            roles = find_roles(self.graph, self.parts.weights[value])
            pin = Pin(bits, None, Origin.WEIGHTS)
            placed = place_weight(self.graph.constants[value], roles, self._request, pin)
            self._stored[value, bits] = placed
        return self._stored[value, bits]

    def _plan(self, widths: Widths, graph: Graph) -> Plan:
        pins = {**self._weights, **self._pins, **self._pin_widths(widths)}
        groups = Groups(self.graph, self._request, pins)
        roomy = self._list_roomy_values(widths)
        extremes = {
            value: _add_headroom(self._wide[value]) if value in roomy else self._narrow[value]
            for value in groups.list_observed()
            if value in self._wide
        }
        # Who reads them in 8 bits needs no more than there is.
        extremes |= {value: self._wide[value] for value, root in self._ruled.items() if root in widths.wide}
        return assign_encodings(graph, groups, self._request, pins, extremes)

    def _list_roomy_values(self, widths: Widths) -> set[str]:
        """Values of 16 bits that nobody reads in 8: those would have to divide all of the room among them."""
        wide, groups = widths.wide | widths.half, self.parts.groups
        return {v for root in wide if groups[root].readers <= wide for v in groups[root].values}

    def _pin_widths(self, widths: Widths) -> dict[str, Pin]:
        groups = self.parts.groups
        wide = {v: Pin(16, None, Origin.CALIBRATED) for root in widths.wide for v in groups[root].values}
        half = dict.fromkeys((v for root in widths.half for v in groups[root].values), HALF)
        stored = {
            value: Pin(bits, self._place_weights(value, bits), Origin.WEIGHTS)
            for bits, values in ((4, widths.small), (16, widths.fine))
            for value in values
        }
        return {**wide, **half, **stored}


def _pin_weights(records: Sequence[TensorRecord]) -> dict[str, Pin]:
    """Weights as they are; one that is read in two forms is left to find them again."""
    forms: dict[str, set[Placed]] = {}
    for record in records:
        if record.kind == "weight" and record.placed.encoding is not None:
            forms.setdefault(record.name, set()).add(record.placed)
    single = {name: next(iter(placements)) for name, placements in forms.items() if len(placements) == 1}
    return {name: Pin(_get_bits(placed), placed, Origin.WEIGHTS) for name, placed in single.items()}


def _get_bits(placed: Placed) -> int:
    return placed.dtype.bits if placed.encoding is None else placed.encoding.bitwidth


def _find_range(record: TensorRecord, extremes: Extremes) -> Extremes:
    """What 8 bits cover; all that was seen of a value that has been in floating point."""
    if record.low is None or record.high is None:
        return extremes
    return Extremes.from_bounds(record.low, record.high)


def _add_headroom(extremes: Extremes) -> Extremes:
    """16 bits have steps to spare for other data than the samples."""
    return Extremes(extremes.low * HEADROOM[16], extremes.high * HEADROOM[16])
