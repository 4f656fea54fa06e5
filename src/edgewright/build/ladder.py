"""Tries precisions from the cheapest to the widest, and chooses the cheapest that keeps the limit."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from edgewright.artifacts.encodings import load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.build.rungs import Tried, Workbench, rung_of, tried_of
from edgewright.config.build import AUTO
from edgewright.config.quantize import PRECISIONS
from edgewright.ir.graph import Graph
from edgewright.model.narrow import is_narrow
from edgewright.quantize.mixed.calibrated import Calibrated
from edgewright.quantize.mixed.cheapest import Goal, Mixed, effects_of, mixed
from edgewright.quantize.mixed.moves import May
from edgewright.quantize.overrides import KnownEncodings
from edgewright.quantize.quantizer import QuantizedGraph, quantize_graph
from edgewright.quantize.recommended import recommended
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.rules import FIRST_WITH_WIDE_WEIGHTS
from edgewright.quantize.sensitivity import Sensitivity
from edgewright.targets.soc import FIRST_WITH_HALF

__all__ = ["MIXED", "Step", "climb", "rungs_for", "with_choice"]

MIXED, HALF = "mixed", "fp16"
# What is added to the name of a precision where weights are corrected and ranges searched.
WITH = "+algorithms"
# What mixed widths aim at, as a part of the limit: the emulator may lose more than the simulation.
PART = 0.9
# Samples that widths are looked for with; all of them confirm what was found.
QUICK = 128
# Makes a rung, unless an earlier run has: the graph is kept, the rest comes back.
Step = Callable[[str, Callable[[], tuple[Graph, Tried]]], Tried]


def rungs_for(precision: str, architecture: int | None = None) -> tuple[str, ...]:
    """The rungs that are tried, in order; half precision only on chips that have it."""
    has_half = architecture is None or architecture >= FIRST_WITH_HALF
    if precision == AUTO:
        return ("w8a8", f"w8a8{WITH}", MIXED, "w8a16", *([HALF] if has_half else []))
    return (HALF,) if precision == HALF else (precision, f"{precision}{WITH}")


def climb(
    bench: Workbench, precision: str, limit: float, step: Step, *, architecture: int | None = None
) -> tuple[Tried, ...]:
    """All rungs for a precision, one of them chosen.

    Args:
        bench: the float graph, samples and who judges.
        precision: ``auto``, or the only one that is allowed.
        limit: points of the metric that may be lost.
        step: is handed each rung's name and what makes it; a rung that is finished is not made again.
        architecture: version of the Hexagon processor; None: the newest.
    """
    climbing = _Climbing(bench, limit, architecture)
    done: list[Tried] = []
    for name in rungs_for(precision, architecture):
        done.append(step(name, climbing.work(name, tuple(done))))
    return with_choice(done, limit)


def with_choice(ladder: Sequence[Tried], limit: float) -> tuple[Tried, ...]:
    """The ladder with its choice: the cheapest rung that keeps the limit, else the one that loses least."""
    kept = [tried.rung for tried in ladder if tried.rung.drop <= limit]
    rungs = [tried.rung for tried in ladder]
    chosen = min(kept, key=lambda r: (r.cost, r.drop)) if kept else min(rungs, key=lambda r: (r.drop, r.cost))
    return tuple(replace(tried, rung=replace(tried.rung, is_chosen=tried.rung is chosen)) for tried in ladder)


@dataclass(frozen=True)
class _Recipe:
    request: QuantizationRequest
    text: str
    reasons: tuple[str, ...] = ()


class _Climbing:
    def __init__(self, bench: Workbench, limit: float, architecture: int | None) -> None:
        self._bench, self._limit, self._architecture = bench, limit, architecture
        self._executor = CpuExecutor()
        # What mixed precision begins with.
        self._made: dict[str, QuantizedGraph] = {}

    def work(self, name: str, before: tuple[Tried, ...]) -> Callable[[], tuple[Graph, Tried]]:
        """What makes a rung."""
        return lambda: self._mixed(before) if name == MIXED else self._uniform(name)

    def _uniform(self, name: str) -> tuple[Graph, Tried]:
        began = time.monotonic()
        recipe = self._recipe(name)
        made = self._quantized(name)
        return self._tried(name, recipe.text, made, began, recipe.reasons)

    def _mixed(self, before: tuple[Tried, ...]) -> tuple[Graph, Tried]:
        """The widths that cost least, beginning with the last rung in 8 bits."""
        began = time.monotonic()
        # The one with algorithms, even if it is no better: the wider values get, the more weights matter.
        best = before[-1].rung.name
        base, samples = self._quantized(best), self._bench.samples.calibration
        if not any(kind.dtype.is_fixed_point for kind in base.graph.types.values()):
            return self._tried(MIXED, "everything in half precision", base, began, ())
        calibrated = Calibrated(base, samples, self._executor)
        effects, cost = effects_of(calibrated, samples, self._executor)
        goal = Goal(self._limit, PART * self._limit)
        found = mixed(calibrated, effects, self._drop, goal, self._may())
        notes = (f"mixed: begins with {best}", *_said(calibrated, found, cost))
        return self._tried(MIXED, _text(calibrated, found), found.quantized, began, notes)

    def _may(self) -> May:
        version = self._architecture
        return May(
            have_fine=version is None or version >= FIRST_WITH_WIDE_WEIGHTS,
            have_half=version is None or version >= FIRST_WITH_HALF,
        )

    def _drop(self, made: QuantizedGraph, is_quick: bool) -> float:
        return self._bench.evaluator.evaluate(made.graph, count=QUICK if is_quick else None).drop

    def _quantized(self, name: str) -> QuantizedGraph:
        """A uniform rung's graph; kept, since mixed precision may begin with it."""
        if name not in self._made:
            bench, request = self._bench, self._recipe(name).request
            samples = None if name == HALF else bench.samples.calibration
            if name != HALF:
                request = replace(request, overrides=load_encodings(bench.overrides))
            known = KnownEncodings(tensors=bench.tensors)
            made = quantize_graph(bench.source, request, samples, self._executor, known)
            if not is_narrow(made.graph):
                made = quantize_graph(bench.source, QuantizationRequest(float_bw=16))
                made.report.notes.append("nothing of it can be in fixed point: it is in half precision")
            self._made[name] = made
        return self._made[name]

    def _recipe(self, name: str) -> _Recipe:
        precision = name.removesuffix(WITH)
        bits = PRECISIONS[precision]
        if bits is None:
            return _Recipe(QuantizationRequest(float_bw=16), "half precision")
        plain = f"weights {bits[0]} bits, activations {bits[1]} bits"
        request = QuantizationRequest(weight_bw=bits[0], act_bw=bits[1])
        if name == precision and precision != "w8a16":
            return _Recipe(request, f"{plain}, ranges as seen")
        request = replace(request, act_quantizer=AUTO)
        if name == precision:
            return _Recipe(request, f"{plain}, ranges searched")
        found = recommended(self._bench.source, request)
        return _Recipe(
            replace(request, algorithms=found.algorithms),
            ", ".join([plain, "ranges searched", *found.algorithms]),
            found.reasons,
        )

    def _tried(
        self, name: str, text: str, made: QuantizedGraph, began: float, notes: tuple[str, ...]
    ) -> tuple[Graph, Tried]:
        rung = rung_of(self._bench, name, text, made.graph, began)
        return made.graph, tried_of(rung, made.report, notes)


def _text(calibrated: Calibrated, found: Mixed) -> str:
    """How many layers have which widths."""
    widths, groups, weights = found.widths, len(calibrated.parts.groups), len(calibrated.parts.weights)
    parts = [
        f"{count} of {total} {kind}"
        for count, total, kind in (
            (len(widths.wide), groups, "values in 16 bits"),
            (len(widths.half), groups, "values in half precision"),
            (len(widths.small), weights, "weights in 4 bits"),
            (len(widths.fine), weights, "weights in 16 bits"),
        )
        if count
    ]
    return f"{', '.join(parts)}, the rest in 8" if parts else "everything in 8 bits"


def _said(calibrated: Calibrated, found: Mixed, cost: Sensitivity) -> list[str]:
    parts = len(calibrated.parts.groups) + len(calibrated.parts.weights)
    measured = f"{cost.runs} runs, {cost.passes:.1f} passes over {cost.samples} samples"
    return [
        f"mixed: sensitivity of {parts} parts from {measured}",
        f"mixed: {found.taken} of {found.steps} steps to more bits, found with {found.tries} tries",
    ]
