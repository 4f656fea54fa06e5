"""Puts what a build has found into its record: the figures, the verdict, and why it proves what it proves."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from edgewright.analyse.records import Finding
from edgewright.build.candidates import describe_faster, find_time
from edgewright.build.compile_and_judge import Judgement
from edgewright.build.precision_search import PrecisionSearch, name_search_stage
from edgewright.build.preflight import SCALE, as_finding
from edgewright.build.records import BuildRecord, Candidate, Preflight, SampleNumbers, Stage
from edgewright.build.session import BuildSession
from edgewright.build.stages import AnalysisResult, EvaluationResult
from edgewright.build.written_io import describe_written_io, rename_outputs
from edgewright.config.build import AUTO, FASTEST
from edgewright.config.spelling import spell_option
from edgewright.data.samples import BuildSamples, LabelledSamples
from edgewright.evaluate.verdict import judge_loss
from edgewright.ir.graph import Graph
from edgewright.tasks.versions import list_versions

# Builds that take so many times as long as they may are told.
OVERTIME = 1.05


class RecordMaker:
    """Makes the record of a build whose candidate is compiled and judged."""

    def __init__(self, session: BuildSession, search: PrecisionSearch, judgement: Judgement) -> None:
        self._session, self._search, self._judgement = session, search, judgement

    def make(self, preflight: Preflight, graph: Graph, analysis: AnalysisResult) -> BuildRecord:
        """The record, in the names that the written files have."""
        session, judgement = self._session, self._judgement
        request, known, chosen = session.request, session.known, judgement.chosen
        evaluation, late = judgement.evaluation, self._list_time_notes()
        poor = _warn_of_float_model(evaluation)
        tensors = judgement.compiled.contract or describe_written_io(session.source, graph, None)
        doubts = (*self._list_doubts(preflight), *(finding.what for finding in poor))
        judged = judge_loss(evaluation.loss, request.max_drop, evaluation.apart, doubts)
        metric, accuracy, verdict = rename_outputs(tensors, known.metric, evaluation.accuracy, judged)
        preflight = replace(
            preflight,
            findings=(*preflight.findings, *known.findings),
            expected_seconds=known.expected_seconds,
        )
        return BuildRecord(
            command=request.command,
            source=known.source,
            target=str(session.chip),
            architecture=f"v{session.chip.arch}",
            contract=tensors,
            preflight=preflight,
            precision=request.precision,
            chosen=chosen.candidate.name,
            max_drop=request.max_drop,
            verdict=verdict,
            metric=metric,
            accuracy=accuracy,
            candidates=self._list_candidates(),
            layers=analysis.layers,
            tensors=analysis.tensors,
            findings=(*poor, *self._list_warnings(preflight), *analysis.findings),
            data=session.samples.notes,
            choices=(chosen.candidate.text, *chosen.notes),
            stages=self._list_stages(preflight),
            artifacts=judgement.compiled.artifacts,
            versions=list_versions(),
            samples=_list_numbers(session.samples, evaluation),
            folder=str(request.output.absolute()),
            rebuild=request.rebuild,
            notes=(
                *(finding.what for finding in poor),
                *session.notes,
                *late,
                *describe_overtime(self._list_stages(preflight), session.budget.seconds, request.time_limit),
                *self._list_faster(),
                *known.notes,
                *evaluation.notes,
            ),
            left_out=tuple(session.left_out),
            passes=self._count_passes(),
            time_limit=None if math.isinf(request.time_limit) else request.time_limit,
            seconds=session.budget.seconds,
            is_cut_short=bool(late),
        )

    def _list_candidates(self) -> tuple[Candidate, ...]:
        candidates = [result.candidate for result in self._judgement.results]
        return tuple(replace(each, time=find_time(self._search.times, each)) for each in candidates)

    def _list_stages(self, preflight: Preflight) -> tuple[Stage, ...]:
        """The pre-flight ran before there was a place to keep it, and timed itself."""
        return tuple(
            replace(stage, seconds=preflight.seconds) if stage.name == "preflight" else stage
            for stage in self._session.ledger.stages
        )

    def _count_passes(self) -> float:
        """Those of all stages, and of candidates whose time was up before they were finished."""
        session, passes = self._session, self._session.counter.passes
        late = {name_search_stage(each.name) for each in session.left_out if each.is_for_time}
        late -= {stage.name for stage in session.ledger.stages}
        finished = sum(stage.passes for stage in session.ledger.stages)
        return finished + sum(passes.get(name, 0.0) for name in late)

    def _list_time_notes(self) -> list[str]:
        """What more time would have given."""
        session = self._session
        notes = [f"{each.name} was left out: {each.reason}" for each in session.left_out if each.is_for_time]
        candidates = [result.candidate for result in self._judgement.results]
        stopped = [each.name for each in candidates if each.is_stopped]
        notes += [f"{name} was stopped before its search ended: the time was up" for name in stopped]
        if session.has_fewer_samples():
            notes.append(session.counts.describe())
        return notes

    def _list_faster(self) -> list[str]:
        """What may be faster than what was taken for its bits and keeps the limit."""
        request, judgement = self._session.request, self._judgement
        if request.precision != AUTO or request.prefer == FASTEST:
            return []
        if judgement.evaluation.loss.points > request.limit:
            return []
        return describe_faster(judgement.results, request.limit, self._search.times, judgement.failed)

    def _list_warnings(self, preflight: Preflight) -> list[Finding]:
        refusal = self._judgement.refusal
        refused = [as_finding(each) for each in getattr(refusal, "errors", [refusal]) if each]
        return [*refused, *(finding for finding in preflight.findings if finding.grade == "warning")]

    def _list_doubts(self, preflight: Preflight) -> tuple[str, ...]:
        """Why a loss proves nothing, whatever it is."""
        is_random = self._session.samples.is_random
        random = ("random numbers in place of samples prove nothing",) if is_random else ()
        scales = [finding.what for finding in preflight.findings if finding.kind == SCALE]
        return (*random, *scales, *self._judgement.evaluation.doubts)


def describe_overtime(stages: Sequence[Stage], seconds: float, limit: float) -> Iterator[str]:
    """In which stage a build ran out of its time, where it took more than it might.

    What an interrupted run took is not in its time.
    """
    if seconds <= OVERTIME * limit:
        return
    own = [stage for stage in stages if not stage.is_resumed] or stages
    passed = accumulate(stage.seconds for stage in own)
    late = next((stage for stage, until in zip(own, passed, strict=True) if until > limit), own[-1])
    yield (
        f"it took {seconds:.0f} s where {limit:g} were given: the time ran out in stage '{late.name}', "
        f"which took {late.seconds:.0f} s"
    )


def _warn_of_float_model(evaluation: EvaluationResult) -> list[Finding]:
    """A float model that is mostly wrong: the most frequent mistake is in its samples."""
    what = "; ".join(evaluation.poor)
    fields = ("metric", "mean", "std", "layout")
    named = ", ".join(map(spell_option, fields))
    do = f"check {named} and {spell_option('color')}, the arrays, and that labels count from 0"
    return [Finding("warning", "float-model", what, do=do)] if what else []


def _list_numbers(samples: BuildSamples, evaluation: EvaluationResult) -> SampleNumbers:
    """Which samples did what, so that every figure can be computed again."""

    def list_part(part: LabelledSamples) -> tuple[int, ...]:
        return part.selection.numbers

    return SampleNumbers(
        samples.calibration.numbers,
        list_part(samples.choosing),
        evaluation.judged or list_part(samples.judging),
        evaluation.emulated,
    )
