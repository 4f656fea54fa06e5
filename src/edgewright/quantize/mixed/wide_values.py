"""More bits for what 8 cannot carry in a transformer: sums before norms, scores, probabilities, gates.

Which values those are differs from network to network, and so does what they gain. Rounding each of them
tells what it costs at the outputs; the cheapest that gain most get 16 bits as far as samples show a gain.
"""

from dataclasses import dataclass, replace

from edgewright.core.events import announce_progress
from edgewright.ir.graph import Graph, Node
from edgewright.ops.norm import AxesNorm
from edgewright.quantize.cost import EIGHT, compute_relative_cost, work_of
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.judge import Judge
from edgewright.quantize.mixed.calibrated import Calibrated, Widths
from edgewright.quantize.mixed.cheapest import measure_value_effects
from edgewright.quantize.mixed.moves import May, Move, apply_moves, order_moves
from edgewright.quantize.noise import Noise
from edgewright.quantize.quantized_graph import QuantizedGraph
from edgewright.quantize.sensitivity import Effort

# What is tried: as many steps as add these parts to the cost of 8 bits.
SHARES = (0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
# What doubling the cost must gain in dB: uniform 16 bits gain about as much. Half of the cost, half of that.
WORTH_DB = 25.0
# As long as there are fewer, a dB counts twice: such a network is hardly of use.
ENOUGH_DB = 25.0
# What it must gain at all.
LEAST_DB = 1.0
# Values with a smaller part of the noise are not worth a conversion.
LEAST_SHARE = 0.0002
EFFORT = Effort(passes=5, runs=2)
NAMED = 6
COPIED = (
    "wide values: probabilities of 16 bits are read in 8 finer ones: encodings() as overrides do not "
    "bring that back, saved files do"
)


@dataclass(frozen=True)
class _Trial:
    """A graph with some wide values: how far from the float model, and at which cost."""

    widths: Widths
    noise: Noise
    cost: float

    @property
    def worth(self) -> float:
        """What it gains, less what it costs."""
        decibels = self.noise.sqnr_db
        return decibels + min(decibels, ENOUGH_DB) - WORTH_DB * (self.cost - 1)


def widen_values(base: QuantizedGraph, apart: QuantizedGraph, judge: Judge) -> QuantizedGraph:
    """The graph with 16 bits where they pay; as it was where they do not, or nothing is delicate in it.

    Args:
        base: the graph whose values get more bits.
        apart: the same made without a look at the samples that judge: gains are measured on it.
        judge: holds samples apart.
    """
    request = base.request
    if not request.is_searched or request.uniform or request.act_bw != EIGHT or not _is_delicate(base.source):
        return base
    calibrated = Calibrated(apart, judge.fitting, judge.executor)
    moves = _list_moves(calibrated, judge.fitting, judge.executor)
    plain = _try_widths(calibrated, judge, Widths())
    trials = [plain]
    with announce_progress("choosing widths") as step:
        for count in _list_counts(calibrated.graph, moves):
            trials.append(_try_widths(calibrated, judge, apply_moves(moves[:count], ())))
            step()
    best = max(trials, key=lambda trial: trial.worth)
    if best is plain or not best.noise.measure_gain(plain.noise).is_worth(LEAST_DB):
        return base
    return _finish(base, best, plain, judge)


def _is_delicate(graph: Graph) -> bool:
    """Whether sums grow before norms over features, or something is computed from shares of many."""
    return any(isinstance(node.op, AxesNorm) or _is_read_as_shares(graph, node) for node in graph.nodes)


def _is_read_as_shares(graph: Graph, node: Node) -> bool:
    """Whether a softmax is not the end: one share of a thousand has less than a step of 8 bits."""
    return node.op.ignores_masked and bool(graph.consumers(node.outputs[0]))


def _list_moves(calibrated: Calibrated, samples: Samples, executor: Executor) -> list[Move]:
    """Steps to more bits, the best first; those that gain next to nothing are left out."""
    effects = measure_value_effects(calibrated, samples, executor, EFFORT)
    least = LEAST_SHARE * sum(effects.groups.values())
    kept = {root: effect if effect > least else 0.0 for root, effect in effects.groups.items()}
    nothing_else = May(have_small=False, have_fine=False, have_half=False)
    moves = order_moves(calibrated.graph, calibrated.parts, replace(effects, groups=kept), nothing_else)
    return [move for move in moves if move.gain > 0]


def _list_counts(graph: Graph, moves: list[Move]) -> list[int]:
    """How many steps each share of the cost pays for."""
    uniform = EIGHT * EIGHT * sum(work_of(graph, node) for node in graph.nodes)
    counts = []
    for share in SHARES:
        price, count = 0.0, 0
        while count < len(moves) and price + moves[count].price <= share * uniform:
            price += moves[count].price
            count += 1
        counts.append(count)
    return [count for count in dict.fromkeys(counts) if count]


def _try_widths(calibrated: Calibrated, judge: Judge, widths: Widths) -> _Trial:
    made = calibrated.quantize(widths)
    cost = compute_relative_cost(made.graph, calibrated.graph)
    return _Trial(widths, judge.measure_noise(made.graph), cost)


def _finish(base: QuantizedGraph, best: _Trial, plain: _Trial, judge: Judge) -> QuantizedGraph:
    """The chosen widths, with ranges from all samples; the graph as it was where those do not gain."""
    calibrated = Calibrated(base, judge.samples, judge.executor)
    made = calibrated.quantize(best.widths)
    figure = min(best.noise, judge.measure_noise(made.graph), key=lambda each: each.sqnr_db)
    if not figure.measure_gain(plain.noise).is_worth(LEAST_DB):
        return base
    report, groups = made.report, calibrated.parts.groups
    values = [value for root in groups if root in best.widths.wide for value in groups[root].rounded]
    for value in values:
        report.record_rule("wide-values", value)
    gain = f"{figure.describe()} instead of {plain.noise.describe()} on {judge.text}"
    cost = f"{best.cost:.2f} times the cost of 8 bits and {report.converts} conversions"
    names = _name_some([base.source.source_names.get(value, value) for value in values])
    report.ignored += base.report.ignored
    report.notes += [
        *base.report.notes,
        f"wide values: {len(values)} have 16 bits: {gain}, for {cost}: {names}",
    ]
    if best.widths.wide & calibrated.list_finer_copies().keys():
        report.notes.append(COPIED)
    return replace(
        made,
        has_corrected_biases=base.has_corrected_biases,
        request=base.request,
        pins=base.pins,
        uniform=base,
    )


def _name_some(names: list[str]) -> str:
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{rest}"
