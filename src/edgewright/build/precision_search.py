"""The search of a build: candidates of precision, until one keeps the limit or the time is up."""

from functools import cached_property, partial

from edgewright.build.candidate_builder import CandidateBuilder
from edgewright.build.candidates import (
    AS_GIVEN,
    SMALLER,
    CandidateResult,
    SearchLimit,
    find_mixed_base,
    list_candidates,
    search_precisions,
)
from edgewright.build.make_plan import find_least_provable
from edgewright.build.plan import estimate_rest
from edgewright.build.records import LeftOut
from edgewright.build.session import BuildSession
from edgewright.build.time_budget import MOST_PASSES
from edgewright.config.build import AUTO
from edgewright.estimate.candidates import estimate_candidates
from edgewright.estimate.records import TimeRange
from edgewright.passes.htp.unroll_recurrent import with_steps
from edgewright.quantize.executor import OutOfTime
from edgewright.quantize.run_counter import Bounds


def name_search_stage(candidate: str) -> str:
    """The stage that builds a candidate."""
    return f"quantize {candidate}"


class PrecisionSearch:
    """Builds candidates of precision on the samples that choose."""

    def __init__(self, session: BuildSession) -> None:
        self._session = session

    def run(self) -> list[CandidateResult]:
        """The precisions that are tried, one of them chosen."""
        session, request = self._session, self._session.request
        names = list_candidates(request.precision, session.chip.arch)
        searched = search_precisions(
            (AS_GIVEN,) if session.known.is_quantized else names,
            self.limit,
            self.finish_candidate,
            self.times,
            request.prefer,
        )
        session.left_out = list(searched.left_out)
        return list(searched.results)

    @cached_property
    def builder(self) -> CandidateBuilder:
        """What builds and evaluates each of them."""
        session, request = self._session, self._session.request
        return CandidateBuilder(
            session.source,
            frozenset(session.known.tensors),
            session.samples,
            session.chooser,
            request.limit,
            has_limit=request.max_drop is not None,
            overrides=request.overrides,
            architecture=session.chip.arch,
            counter=session.counter,
        )

    @cached_property
    def limit(self) -> SearchLimit:
        """What a candidate may lose, and the least that the samples that judge can prove."""
        session = self._session
        least = find_least_provable(session.known.metric, len(session.samples.judging.selection))
        return SearchLimit(session.request.limit, least)

    @cached_property
    def times(self) -> dict[str, TimeRange]:
        """What candidates take on the chip, estimated."""
        session = self._session
        names = (*list_candidates(AUTO), *list_candidates(session.request.precision), SMALLER)
        return estimate_candidates(session.source, session.chip, names)

    def find_base(self) -> str:
        """What mixed widths begin with, as far as candidates are built."""
        return find_mixed_base(self._session.results.values(), self.limit)

    def finish_candidate(self, name: str) -> CandidateResult | LeftOut:
        """A candidate, built unless it was built before or its time is up; the first is built in any case."""
        session, stage, bounds = self._session, name_search_stage(name), self._find_bounds()
        if not session.results:
            # On as many samples as there is time for, but in any case.
            bounds = Bounds(evaluation_end=session.budget.find_first_deadline(bounds.deadline))
        work = partial(self._build_candidate, name, self.find_base())
        try:
            with session.counter.measure_stage(stage), session.counter.keep_bounds(bounds):
                session.results[name] = session.ledger.run_stage(stage, CandidateResult, work)
        except OutOfTime as reason:
            return LeftOut(name, str(reason), is_for_time=True)
        return session.results[name]

    def _find_bounds(self) -> Bounds:
        """How long the search may go on: what judges and writes comes after it."""
        session = self._session
        drops = [result.candidate.drop for result in session.results.values()]
        is_missed = bool(drops) and min(drops) > session.request.limit
        judging = len(session.samples.judging.selection)
        reserved = estimate_rest(session.measure_rates(), judging, is_missed=is_missed)
        deadline = session.budget.find_search_deadline(reserved, is_missed=is_missed)
        # Fitting weights is hundreds of passes of a tiny network, and ends in a second.
        passes = max(MOST_PASSES, session.counter.cheap_passes)
        return Bounds(deadline, passes, deadline + session.budget.grace_seconds)

    def _build_candidate(self, name: str, base: str) -> CandidateResult:
        graph, result = self.builder.build(name, base)
        self._session.store_graph(name, with_steps(graph, graph.outputs))
        return result
