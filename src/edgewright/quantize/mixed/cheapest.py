"""Finds the cheapest widths that keep a limit: one ordered list of steps, halved again and again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from edgewright.core.events import announce_progress
from edgewright.ir.graph import Graph
from edgewright.quantize.encodings import compute_covered_range
from edgewright.quantize.executor import Executor, OutOfTime, Samples
from edgewright.quantize.groups import is_real
from edgewright.quantize.judge import list_judged_values
from edgewright.quantize.mixed.calibrated import Calibrated, Widths
from edgewright.quantize.mixed.moves import Effects, May, Move, apply_moves, order_moves
from edgewright.quantize.quantized_graph import QuantizedGraph
from edgewright.quantize.sensitivity import Effort, Probe, Sensitivity, Steps, measure_sensitivity

# What is lost by a graph, in points, on all samples or (True) on a part of them.
Drop = Callable[[QuantizedGraph, bool], float]
# Where the limit cannot be kept, what comes as close to the best as this part of the limit will do.
SLACK = 0.25
# Outputs of fewer elements say too little of one sample.
FEW = 64


@dataclass(frozen=True)
class Goal:
    """What may be lost, and what is aimed at as long as that can be had."""

    limit: float
    aim: float


@dataclass(frozen=True)
class Mixed:
    """A graph in mixed precision, how it came about, and whether it keeps the limit."""

    quantized: QuantizedGraph
    widths: Widths
    is_met: bool
    # How much of the ordered list of steps was taken, and how often a graph was tried.
    taken: int
    steps: int
    tries: int
    # Whether the time was up before the first one was found: it is the best until then.
    is_stopped: bool = False


def find_cheapest_widths(calibrated: Calibrated, effects: Effects, drop: Drop, goal: Goal, may: May) -> Mixed:
    """The first graph along the list of steps that keeps the limit, or comes close where none does.

    Args:
        calibrated: the graph whose widths are chosen.
        effects: what rounding its parts does.
        drop: what a graph loses, by running it.
        goal: what it may lose.
        may: what the target has.
    """
    small = [*effects.small] if may.have_small else []
    graph, parts = calibrated.graph, calibrated.parts
    # Weights of 16 bits and half precision are dear: they come in only where the limit needs them.
    for kept in (replace(may, have_fine=False, have_half=False), may):
        search = _Search(calibrated, order_moves(graph, parts, effects, kept), small, drop, goal)
        if kept == may or search.is_kept_at_end():
            break
    return search.run()


class _Search:
    def __init__(
        self, calibrated: Calibrated, steps: Sequence[Move], small: Sequence[str], drop: Drop, goal: Goal
    ) -> None:
        self._calibrated, self._steps, self._small = calibrated, steps, small
        self._drop, self._goal = drop, goal
        self._drops: dict[tuple[int, bool], float] = {}
        self._step: Callable[[], None] = lambda: None

    def is_kept_at_end(self) -> bool:
        """Whether the widest widths keep the limit."""
        return self._measure_drop(len(self._steps)) <= self._goal.limit

    def run(self) -> Mixed:
        """The place on the list that was found; where the time was up, the best that was tried until then."""
        is_stopped = False
        try:
            with announce_progress("choosing widths") as self._step:
                count = self._find_place()
        except OutOfTime:
            is_stopped, count = True, self._find_best_tried()
        widths = apply_moves(self._steps[:count], self._small)
        is_met = self._drops[count, (count, False) not in self._drops] <= self._goal.limit
        tries = len(self._drops)
        return Mixed(self._quantize(count), widths, is_met, count, len(self._steps), tries, is_stopped)

    def _find_place(self) -> int:
        """A part of the samples finds the place, all of them confirm it."""
        limit, end = self._bounds()
        count = self._find_first(-1, end, limit, is_quick=True)
        if count < end and self._measure_drop(count) > limit:
            count = self._find_first(count, end, limit)
        self._measure_drop(count)
        return count

    def _find_best_tried(self) -> int:
        """The fewest steps that keep the limit, of those tried; on all samples where that is known."""
        for is_quick in (False, True):
            kept = [
                count
                for (count, kind), drop in self._drops.items()
                if kind == is_quick and drop <= self._goal.limit
            ]
            if kept:
                return min(kept)
        raise OutOfTime

    def _bounds(self) -> tuple[float, int]:
        """The limit to keep, and the number of steps that keeps it for certain."""
        # Half precision is looked at only where 16 bits do not do.
        plain, count = sum(not move.half for move in self._steps), len(self._steps)
        drops = {plain: self._measure_drop(plain)}
        if drops[plain] > self._goal.limit:
            drops[count] = self._measure_drop(count)
        best = min(drops.values())
        is_kept = best <= self._goal.limit
        limit = max(best, self._goal.aim) if is_kept else best + SLACK * self._goal.limit
        return limit, next(end for end, drop in drops.items() if drop <= limit)

    def _find_first(self, least: int, most: int, limit: float, *, is_quick: bool = False) -> int:
        """The first number of steps above ``least`` that keeps the limit, as far as it falls with each."""
        while most - least > 1:
            middle = (least + most) // 2
            if self._measure_drop(middle, is_quick=is_quick) <= limit:
                most = middle
            else:
                least = middle
        return most

    def _measure_drop(self, count: int, *, is_quick: bool = False) -> float:
        if (count, is_quick) not in self._drops:
            self._drops[count, is_quick] = self._drop(self._quantize(count), is_quick)
            self._step()
        return self._drops[count, is_quick]

    def _quantize(self, count: int) -> QuantizedGraph:
        return self._calibrated.quantize(apply_moves(self._steps[:count], self._small))


def measure_effects(
    calibrated: Calibrated, samples: Samples, executor: Executor
) -> tuple[Effects, Sensitivity]:
    """What rounding each part does to the outputs, and what it cost to find out."""
    graph, parts = calibrated.graph, calibrated.parts
    result = measure_sensitivity(
        graph, list_probes(calibrated), list_watched_values(graph), samples, executor
    )
    groups = {root: result.effects[root] for root in parts.groups}
    small, usual = ({v: result.effects[_name_probe(v, bits)] for v in parts.weights} for bits in (4, 8))
    return Effects(groups, small, usual, calibrated.list_finer_copies()), result


def measure_value_effects(
    calibrated: Calibrated, samples: Samples, executor: Executor, effort: Effort
) -> Effects:
    """The same of values alone: weights stay as they are."""
    probes = [_of_group(calibrated, root) for root in calibrated.parts.groups]
    watched = list_watched_values(calibrated.graph)
    result = measure_sensitivity(calibrated.graph, probes, watched, samples, executor, effort)
    return Effects(result.effects, copied=calibrated.list_finer_copies())


def list_watched_values(graph: Graph) -> list[tuple[str, ...]]:
    """What judges look at, each behind the wider value that it is made of where it has few elements."""
    return [(*_find_wider(graph, value), value) for value in _list_judged_values(graph)]


def _list_judged_values(graph: Graph) -> list[str]:
    """Outputs and scores; before outputs that are whole numbers (a largest class), what they are made of."""
    values = list_judged_values(graph)
    pending = [] if values else list(graph.outputs)
    while pending:
        maker = graph.producer(pending.pop())
        inputs = [] if maker is None else [v for v in maker.inputs if v and v not in graph.constants]
        values += [value for value in inputs if is_real(graph, value)]
        pending += [value for value in inputs if not is_real(graph, value)]
    return list(dict.fromkeys(values))


def _find_wider(graph: Graph, value: str) -> list[str]:
    while _count(graph, value) < FEW:
        maker = graph.producer(value)
        inputs = [v for v in maker.inputs if is_real(graph, v)] if maker is not None else []
        moving = [v for v in inputs if v not in graph.constants]
        if not moving:
            return []
        value = max(moving, key=lambda v: _count(graph, v))
        if _count(graph, value) >= FEW:
            return [] if value in graph.inputs else [value]
    return []


def _count(graph: Graph, value: str) -> int:
    count = graph.types[value].count
    return count if isinstance(count, int) else FEW


def list_probes(calibrated: Calibrated) -> list[Probe]:
    """All parts: groups of values in 8 bits, weights with their biases in 4 and in 8."""
    probes = [_of_group(calibrated, root) for root in calibrated.parts.groups]
    for bits in (4, 8):
        fits = calibrated.fits(bits)
        probes += [
            Probe(_name_probe(value, bits), constants=fits[value].constants)
            for value in calibrated.parts.weights
        ]
    return probes


def _name_probe(value: str, bits: int) -> str:
    return f"{value} in {bits} bits"


def _of_group(calibrated: Calibrated, root: str) -> Probe:
    steps = {}
    for value in calibrated.parts.groups[root].rounded:
        placed = calibrated.placed[value]
        assert placed.encoding is not None
        low, high = compute_covered_range(placed.encoding, placed.dtype)
        steps[value] = Steps(placed.encoding.scales[0], float(low.min()), float(high.max()))
    return Probe(root, steps)
