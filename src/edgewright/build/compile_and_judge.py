"""Compiles and judges what a build has chosen, and wider candidates where that fails or loses too much."""

import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from edgewright.build.candidates import (
    CandidateResult,
    find_chosen,
    list_narrower_candidates,
    list_reserves,
    list_wider_candidates,
    mark_chosen,
)
from edgewright.build.confirm import Compiled, Confirmation
from edgewright.build.convert import export_encodings
from edgewright.build.deploy import (
    CONTEXTS,
    HTP_BINARY,
    compile_binary,
    list_artifacts,
    write_input_specs,
    write_models,
)
from edgewright.build.plan import can_emulate_in
from edgewright.build.precision_search import PrecisionSearch
from edgewright.build.rates import WRITING_SECONDS
from edgewright.build.records import LeftOut
from edgewright.build.session import BuildSession
from edgewright.build.settle import Settled, Settler
from edgewright.build.stages import (
    SIMULATION,
    CompileResult,
    EvaluationResult,
    check_candidate,
    evaluate_candidate,
)
from edgewright.build.written_io import describe_written_io, write_example
from edgewright.core.errors import EdgewrightError
from edgewright.evaluate.evaluator import Evaluator
from edgewright.evaluate.records import Loss
from edgewright.ir.graph import Graph
from edgewright.quantize.executor import OutOfTime

LATE = "the time was up"


@dataclass(frozen=True)
class Judgement:
    """The candidate that is built, its files, and its verdict's figures."""

    results: tuple[CandidateResult, ...]
    compiled: CompileResult
    evaluation: EvaluationResult
    # What the compiler said where it took no candidate.
    refusal: EdgewrightError | None = None
    # Candidates that were judged and are not chosen.
    failed: tuple[str, ...] = ()

    @property
    def chosen(self) -> CandidateResult:
        """The candidate that is built."""
        return find_chosen(self.results)


class CandidateJudge:
    """Compiles candidates, and judges them on samples that nothing was chosen by."""

    def __init__(self, session: BuildSession, search: PrecisionSearch) -> None:
        self._session, self._search = session, search
        self._has_binary = False

    def settle(self, results: list[CandidateResult]) -> Judgement:
        """What becomes of the candidates of the search."""
        session, request = self._session, self._session.request
        limit = None if session.samples.is_random else request.max_drop
        can_prove = self._search.limit.least <= request.limit
        work = (self._compile_and_check, self._judge, self._has_time)
        settled = Settler(request.limit, limit, *work, can_prove).settle(self._iterate_wider(results))
        session.notes += settled.notes
        confirmed = settled.confirmed
        compiled = self._find_files(settled)
        marked = mark_chosen(results, confirmed.name)
        return Judgement(marked, compiled, settled.evaluation, confirmed.refusal, settled.failed)

    def _find_files(self, settled: Settled) -> CompileResult:
        """What the compiler refuses has all files but the binary."""
        confirmed = settled.confirmed
        if confirmed.compiled:
            return confirmed.compiled[0]
        folder = self._session.locate_files(confirmed.name)
        return CompileResult(SIMULATION, list_artifacts(self._session.request, folder))

    def _has_time(self) -> bool:
        """Whether another candidate can be built, compiled and judged."""
        session = self._session
        judging = len(session.samples.judging.selection)
        return session.budget.has_time_for(session.measure_rates().estimate_another(judging))

    def _iterate_wider(self, results: list[CandidateResult]) -> Iterator[str]:
        """The chosen candidate, wider ones, and then those that were not needed before."""
        limit = self._session.request.limit
        yield find_chosen(results).candidate.name
        for name in list_wider_candidates(results, limit):
            # Where the compiler takes none of them yet, time is no reason to end without a binary.
            if self._has_binary and not self._has_time():
                self._session.left_out.append(LeftOut(name, LATE, is_for_time=True))
                return
            yield name
        if not self._has_binary:
            yield from list_narrower_candidates(results, limit)
        yield from self._iterate_reserves(results)

    def _iterate_reserves(self, results: list[CandidateResult]) -> Iterator[str]:
        """Candidates that were not needed before, built now; those that keep the limit."""
        left_out = self._session.left_out
        for skipped in list_reserves(left_out, self._search.find_base(), has_binary=self._has_binary):
            late = LeftOut(skipped.name, LATE, is_for_time=True)
            built = self._search.finish_candidate(skipped.name) if self._has_time() else late
            left_out.remove(skipped)
            if isinstance(built, LeftOut):
                left_out.append(built)
                continue
            results.append(built)
            if built.candidate.drop <= self._session.request.limit:
                yield skipped.name

    def _compile_and_check(self, name: str) -> Compiled:
        """The files of a candidate, and what it loses on the samples that choose."""
        session, graph = self._session, self._session.load_graph(name)
        work = partial(self._compile, name, graph)
        try:
            compiled = session.ledger.run_stage(f"compile {name}", CompileResult, work)
        except OutOfTime:
            session.left_out.append(LeftOut(name, LATE, is_for_time=True))
            raise
        self._has_binary = True
        check = partial(self._check, name, graph, compiled)
        return compiled, session.ledger.run_stage(f"check {name}", Loss, check)

    def _compile(self, name: str, graph: Graph) -> CompileResult:
        """All files of a candidate; only the first binary may take longer than the build."""
        session, request = self._session, self._session.request
        source, folder = session.source, session.locate_files(name)
        shutil.rmtree(folder, ignore_errors=True)
        encodings = export_encodings(session.opened, source, graph)
        write_models(request, graph, encodings, folder)
        (sample,) = session.samples.judging.selection.select(1)
        write_example(source, graph, sample, folder)
        # Complete even where the compiler refuses what follows.
        notes = session.samples.notes
        write_input_specs(request, describe_written_io(source, graph, None), notes, folder)
        seconds = session.budget.rest if self._has_binary else math.inf
        backend = compile_binary(request, source, graph, session.chip, folder, seconds)
        tensors = describe_written_io(source, graph, folder / CONTEXTS / HTP_BINARY)
        write_input_specs(request, tensors, notes, folder)
        return CompileResult(backend, list_artifacts(request, folder), tensors)

    def _check(self, name: str, graph: Graph, compiled: CompileResult) -> Loss:
        session = self._session
        with session.counter.measure_stage(f"check {name}"):
            # An emulator that is too slow to check it has its time for the verdict.
            is_quick = can_emulate_in(session.budget.check_seconds, name, session.measure_rates())
            backend = compiled.backend if is_quick else SIMULATION
            return check_candidate(
                session.chooser, graph, backend, session.locate_files(name), session.budget
            )

    @cached_property
    def _evaluator(self) -> Evaluator:
        session, limit = self._session, self._session.request.max_drop or 0.0
        return Evaluator(
            session.source, session.samples.judging, session.known.metric, session.counter, limit
        )

    def _judge(self, confirmed: Confirmation, looks: int) -> EvaluationResult:
        """The verdict's figures, on samples that nothing was chosen by."""
        stage = "evaluate" if looks == 1 else f"evaluate {confirmed.name}"
        work = partial(self._evaluate, confirmed, looks, stage)
        return self._session.ledger.run_stage(stage, EvaluationResult, work)

    def _evaluate(self, confirmed: Confirmation, looks: int, stage: str) -> EvaluationResult:
        session, graph = self._session, self._session.load_graph(confirmed.name)
        backend = confirmed.compiled[0].backend if confirmed.compiled else SIMULATION
        session.budget.reserve_report(session.measure_rates().estimate_layers() + WRITING_SECONDS)
        with session.counter.measure_stage(stage):
            folder = session.locate_files(confirmed.name)
            return evaluate_candidate(self._evaluator, graph, backend, folder, session.budget, looks)
