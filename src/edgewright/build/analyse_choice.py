"""Where the chosen candidate of a build loses accuracy, and what is known to help."""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from edgewright.analyse.records import Finding, Layer
from edgewright.build.candidate_builder import CandidateBuilder
from edgewright.build.candidates import AS_GIVEN, HALF
from edgewright.build.compile_and_judge import Judgement
from edgewright.build.measured_advice import (
    TryOverride,
    advise_on_miss,
    keep_what_helps,
    list_untried_precisions,
)
from edgewright.build.plan import estimate_candidate
from edgewright.build.precision_search import PrecisionSearch
from edgewright.build.rates import Rates
from edgewright.build.records import Candidate
from edgewright.build.session import BuildSession
from edgewright.build.stages import LAYER_SAMPLES, NATIVE, AnalysisResult, analyse_candidate, open_emulator
from edgewright.build.time_budget import TimeBudget
from edgewright.config.build import AUTO
from edgewright.evaluate.verdict import describe_disagreement
from edgewright.ir.graph import Graph
from edgewright.quantize.executor import OutOfTime
from edgewright.quantize.run_counter import Bounds

# What nothing stops may take so much longer than estimated.
LAYERS_MARGIN = 1.5
# What compiling layers may take of the time that is left, where the emulator has used up its own.
LAYERS_OF_REST = 1 / 3
# Runs of the simulation that comparing layers takes at least; what takes only a moment is always done.
FEWEST_RUNS, MOMENT_SECONDS = 3, 1.0
NO_LAYERS = "layers were not compared with the float model: the time was up"


def has_time_for_layers(rates: Rates, budget: TimeBudget) -> bool:
    """Whether one sample of the simulation, which nothing stops once it has begun, ends nearly in time."""
    late = max(budget.grace_seconds, MOMENT_SECONDS)
    return FEWEST_RUNS * rates.simulated <= budget.rest + late


class ChoiceAnalysis:
    """Compares the layers of what was chosen, and tries what may help before it is advised."""

    def __init__(self, session: BuildSession, search: PrecisionSearch, judgement: Judgement) -> None:
        self._session, self._search, self._judgement = session, search, judgement

    def run(self, graph: Graph) -> AnalysisResult:
        """Layers and findings of the graph that was built."""
        session, chosen = self._session, self._judgement.chosen
        if not has_time_for_layers(session.measure_rates(), session.budget):
            return AnalysisResult((), (), (*self._advise_on_miss(()), Finding("note", "analysis", NO_LAYERS)))
        # Where the time is up, one sample in the simulation must do.
        count = LAYER_SAMPLES if session.budget.rest else 1
        few = list(session.samples.judging.selection.select(count))
        emulator = open_emulator(session.chip, session.budget.rest) if self._can_emulate_layers() else None
        result = analyse_candidate(session.source, graph, few, chosen, emulator, session.budget)
        advice = keep_what_helps(result.findings, chosen.candidate, self._find_override_trial())
        return replace(result, findings=(*self._advise_on_miss(result.layers), *advice))

    def _can_emulate_layers(self) -> bool:
        """Whether there is time to compile them with all of their results."""
        session = self._session
        if self._judgement.compiled.backend != NATIVE:
            return False
        seconds = LAYERS_MARGIN * session.measure_rates().estimate_emulated_layers()
        is_in_time = seconds < max(session.budget.layers_seconds, LAYERS_OF_REST * session.budget.rest)
        if not is_in_time:
            session.notes.append("layers were compared in the simulation only: the emulator takes too long")
        return is_in_time

    def _find_override_trial(self) -> TryOverride | None:
        """None where widths were chosen on purpose, came with the model, or were given by the user."""
        name, request = self._judgement.chosen.candidate.name, self._session.request
        if request.precision in {AUTO, HALF} or name == AS_GIVEN or request.overrides is not None:
            return None
        builder = self._search.builder
        return lambda override: self._try_candidate(builder.with_overrides(json.loads(override)), name)

    def _advise_on_miss(self, layers: Sequence[Layer]) -> tuple[Finding, ...]:
        session, judgement = self._session, self._judgement
        limit, loss = session.request.max_drop, judgement.evaluation.loss
        if describe_disagreement(judgement.evaluation.apart, limit):
            # What the simulation says of other precisions would not hold either.
            return ()
        is_given = judgement.chosen.candidate.name == AS_GIVEN
        if limit is None or loss.points <= limit or session.samples.is_random or is_given:
            return ()
        candidates = [result.candidate for result in judgement.results]
        names = list_untried_precisions(candidates, session.request, session.chip.arch)
        trials = [(name, partial(self._try_candidate, self._search.builder, name)) for name in names]
        return advise_on_miss(candidates, limit, loss, layers, trials)

    def _try_candidate(self, builder: CandidateBuilder, name: str) -> Candidate | None:
        """A candidate that is only measured; None where the build's time is up before that."""
        session = self._session
        if estimate_candidate(name, session.measure_rates(), session.counts) > session.budget.rest:
            # A run is not stopped once it has begun.
            return None
        bounds = Bounds(time.monotonic() + session.request.time_limit - session.budget.seconds)
        counter = session.counter
        with suppress(OutOfTime), counter.measure_stage("analyse"), counter.keep_bounds(bounds):
            return builder.build(name)[1].candidate
        return None
