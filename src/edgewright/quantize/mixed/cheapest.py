"""Finds the cheapest widths that keep a limit: one ordered list of steps, halved again and again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.events import progress
from edgewright.core.numbers import Array
from edgewright.quantize.encodings import covered_range
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.judge import judged_values
from edgewright.quantize.mixed.calibrated import Calibrated, Widths
from edgewright.quantize.mixed.moves import Effects, May, Move, moves, widths_after
from edgewright.quantize.pins import Placed
from edgewright.quantize.quantizer import Quantized
from edgewright.quantize.sensitivity import Probe, Sensitivity, Steps, sensitivity

__all__ = ["Mixed", "effects_of", "mixed"]


@dataclass(frozen=True)
class Mixed:
    """A graph in mixed precision, how it came about, and whether it keeps the limit."""

    quantized: Quantized
    widths: Widths
    is_met: bool
    # How much of the ordered list of steps was taken, and how often a graph was tried.
    taken: int
    steps: int
    tries: int


def mixed(
    calibrated: Calibrated,
    effects: Effects,
    is_kept: Callable[[Quantized], bool],
    may: May,
) -> Mixed:
    """The first graph along the list of steps that keeps the limit; the last one where none does.

    Args:
        calibrated: the graph whose widths are chosen.
        effects: what rounding its parts does.
        is_kept: whether a graph is good enough, by running it.
        may: what the target has.
    """
    small = [*effects.small] if may.have_small else []
    steps = moves(calibrated.graph, calibrated.parts, effects, may)
    return _Search(calibrated, steps, small, is_kept).run()


class _Search:
    def __init__(
        self,
        calibrated: Calibrated,
        steps: Sequence[Move],
        small: Sequence[str],
        is_kept: Callable[[Quantized], bool],
    ) -> None:
        self._calibrated, self._steps, self._small, self._is_kept = calibrated, steps, small, is_kept
        self._plain = sum(not step.half for step in steps)
        self._tried: dict[int, bool] = {}
        self._last: dict[bool, Quantized] = {}

    def run(self) -> Mixed:
        with progress("choosing widths") as step:
            count = len(self._steps)
            # Half precision everywhere is another rung: it is looked at only where 16 bits do not do.
            most = self._plain if self._try(self._plain, step) else count
            least = -1 if most == self._plain else self._plain
            if most == count and not self._try(count, step):
                return self._result(count)
            while most - least > 1:
                middle = (least + most) // 2
                if self._try(middle, step):
                    most = middle
                else:
                    least = middle
        return self._result(most)

    def _try(self, count: int, step: Callable[[], None]) -> bool:
        if count not in self._tried:
            quantized = self._calibrated.quantized(self._widths(count))
            is_kept = self._is_kept(quantized)
            # The last that keeps the limit is the cheapest of those tried; the others are not held.
            self._tried[count], self._last[is_kept] = is_kept, quantized
            step()
        return self._tried[count]

    def _widths(self, count: int) -> Widths:
        return widths_after(self._steps[:count], self._small)

    def _result(self, count: int) -> Mixed:
        is_met = self._tried[count]
        return Mixed(
            *(self._last[is_met], self._widths(count), is_met),
            *(count, len(self._steps), len(self._tried)),
        )


def effects_of(calibrated: Calibrated, samples: Samples, executor: Executor) -> tuple[Effects, Sensitivity]:
    """What rounding each part does to the outputs, and what it cost to find out."""
    graph, parts = calibrated.graph, calibrated.parts
    arrays = {value: graph.constants[value] for value in parts.weights}
    small = {value: _rounded(array, calibrated.weights(value, 4)) for value, array in arrays.items()}
    biases = calibrated.small_biases()
    probes = [_of_group(calibrated, root) for root in parts.groups]
    for value, node in parts.weights.items():
        bias = {node.inputs[2]: biases[value]} if value in biases else {}
        probes.append(Probe(value, constants={value: small[value], **bias}))
    found = sensitivity(graph, probes, judged_values(graph), samples, executor)
    effects = {value: found.effects[value] for value in arrays}
    usual = {value: _rounded(array, calibrated.placed[value]) for value, array in arrays.items()}
    shares = {value: _left(array, small[value], usual[value]) for value, array in arrays.items()}
    groups = {root: found.effects[root] for root in parts.groups}
    return Effects(groups, effects, {v: effect * shares[v] for v, effect in effects.items()}), found


def _of_group(calibrated: Calibrated, root: str) -> Probe:
    steps = {}
    for value in calibrated.parts.groups[root].rounded:
        placed = calibrated.placed[value]
        assert placed.encoding is not None
        low, high = covered_range(placed.encoding, placed.dtype)
        steps[value] = Steps(placed.encoding.scales[0], float(low.min()), float(high.max()))
    return Probe(root, steps)


def _rounded(array: Array, placed: Placed) -> Array:
    assert placed.encoding is not None
    wide = array.astype(np.float32)
    return placed.encoding.decode(placed.encoding.encode(wide, placed.dtype)).astype(np.float32)


def _left(array: Array, small: Array, usual: Array) -> float:
    """The noise of weights in 8 bits over that in 4."""
    noise = float(np.square(array.astype(np.float64) - small).sum())
    return float(np.square(array.astype(np.float64) - usual).sum()) / noise if noise else 0.0
