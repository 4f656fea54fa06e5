"""The main job: pre-flight, convert, quantize, compile, evaluate, analyse, report."""

import json
import logging
import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from edgewright.analyse.records import Finding, Layer
from edgewright.build.candidate_builder import CandidateBuilder
from edgewright.build.candidates import (
    AS_GIVEN,
    HALF,
    SMALLER,
    CandidateResult,
    SearchLimit,
    describe_faster,
    find_chosen,
    find_mixed_base,
    find_time,
    list_candidates,
    list_narrower_candidates,
    list_reserves,
    list_wider_candidates,
    mark_chosen,
    search_precisions,
)
from edgewright.build.confirm import Compiled, Confirmation
from edgewright.build.convert import (
    ConversionResult,
    convert_model,
    describe_conversion,
    export_encodings,
    find_least_provable,
    make_chooser,
)
from edgewright.build.deploy import (
    CONTEXTS,
    HTP_BINARY,
    compile_binary,
    list_artifacts,
    publish,
    remove_stale,
    write_input_specs,
    write_models,
)
from edgewright.build.dry_run import try_conversion
from edgewright.build.ledger import Ledger, has_state, take_fingerprint
from edgewright.build.measured_advice import (
    TryOverride,
    advise_on_miss,
    keep_what_helps,
    list_untried_precisions,
)
from edgewright.build.open_model import OpenedModel, open_model
from edgewright.build.plan import (
    SampleCounts,
    can_emulate_in,
    describe_late_compiler,
    estimate_candidate,
    estimate_rest,
)
from edgewright.build.preflight import SCALE, PreflightResult, as_finding, run_preflight, sort_problems
from edgewright.build.rates import WRITING_SECONDS, Rates
from edgewright.build.records import RECORD, REPORT, BuildRecord, Candidate, LeftOut, Preflight, SampleNumbers
from edgewright.build.request import BuildRequest
from edgewright.build.settle import Settler
from edgewright.build.shared_build import identify_work, take_shared_build
from edgewright.build.stages import (
    LAYER_SAMPLES,
    NATIVE,
    SIMULATION,
    AnalysisResult,
    CompileResult,
    EvaluationResult,
    analyse_candidate,
    check_candidate,
    evaluate_candidate,
    open_emulator,
)
from edgewright.build.stateful_samples import RecurrentState, add_states, drop_state_inputs
from edgewright.build.time_budget import MOST_PASSES, TimeBudget
from edgewright.build.written_io import describe_written_io, rename_outputs, write_example
from edgewright.config.build import AUTO, FASTEST
from edgewright.core.errors import EdgewrightError, Problems
from edgewright.core.events import announce_progress
from edgewright.core.files import write_whole
from edgewright.core.folder_lock import FolderHeld, hold_folder, is_folder_held
from edgewright.core.plain import to_json
from edgewright.data.copies import leave_out_copies
from edgewright.data.samples import BuildSamples, LabelledSamples, read_samples
from edgewright.estimate.candidates import estimate_candidates
from edgewright.estimate.records import TimeRange
from edgewright.evaluate.evaluator import Evaluator
from edgewright.evaluate.records import Loss
from edgewright.evaluate.verdict import describe_disagreement, judge_loss
from edgewright.ir.contract import IoTensor
from edgewright.ir.graph import Graph
from edgewright.model.stored_graphs import load_stored_graph, store_graph
from edgewright.passes.htp.unroll_recurrent import with_steps
from edgewright.quantize.executor import OutOfTime
from edgewright.quantize.run_counter import Bounds, RunCounter
from edgewright.run.context.compile import find_provider
from edgewright.targets.soc import find_htp_soc
from edgewright.tasks.versions import list_versions

log = logging.getLogger(__name__)

LATE = "the time was up"

# Of a machine that is faster than when it was tried, and a run that is too short to tell.
LEAST_SLOWDOWN, LEAST_SECONDS = 0.5, 1e-4
# Estimates below this tell nothing of the pace; what nothing stops may take so much longer than estimated.
TELLING_SECONDS, LAYERS_MARGIN = 0.5, 1.5
# What compiling layers may take of the time that is left, where the emulator has used up its own.
LAYERS_OF_REST = 1 / 3

# Draws the page of a record and the graph that was built; handed in, for reports are above this layer.
Render = Callable[[BuildRecord, Graph], Iterable[bytes]]


def build_model(request: BuildRequest, render: Render) -> BuildRecord:
    """Builds everything in the folder of the request; the pre-flight's problems are one error.

    The result of the same build that another process has begun there is waited for, and shared.
    """
    # At once, and not after the pre-flight.
    if is_folder_held(request.output):
        shared = take_shared_build(request)
        if shared is not None:
            return shared
    build = _Build(request, render)
    fingerprint = take_fingerprint(request)
    try:
        with hold_folder(request.output, request.command, identify_work(request, fingerprint)):
            return build.run(fingerprint)
    except FolderHeld:
        # Both began at the same moment.
        shared = take_shared_build(request)
        if shared is None:
            raise
        return shared


class _Build:
    """One build: a stage takes what it needs from the ledger's folder, made now or by an earlier run."""

    def __init__(self, request: BuildRequest, render: Render) -> None:
        self._request, self._render = request, render
        self._budget = TimeBudget(request.time_limit, has_emulator=find_provider("htp") == NATIVE)
        self._checked: PreflightResult | None = None
        # The samples, none of which is a copy of another.
        self._unique: BuildSamples | None = None
        # What the compiler said where it took no candidate.
        self._refusal: EdgewrightError | None = None
        # Candidates that were judged and are not chosen.
        self._failed: tuple[str, ...] = ()
        if not (request.is_resumed and has_state(request.output)):
            # Before the model is hashed: what stands in the way is said at once.
            self._preflight()
        self._chip = find_htp_soc(request.target)
        self._has_binary = False
        self._left_out: list[LeftOut] = []
        self._results: dict[str, CandidateResult] = {}

    def run(self, fingerprint: Mapping[str, str]) -> BuildRecord:
        """All stages, in order, in a folder that no one else writes."""
        self._ledger, self._notes = Ledger.open(self._request, fingerprint)
        preflight = self._ledger.run_stage("preflight", Preflight, self._preflight)
        self._known = self._ledger.run_stage("convert", ConversionResult, self._convert)
        self._ledger.count_passes_with(lambda name: self._counter.passes.get(name, 0.0))
        self._announce()
        # What is left of the estimate, for every stage to come.
        expected = max(0.0, self._known.expected_seconds - self._budget.seconds)
        with announce_progress("build", expected=expected):
            return self._finish(preflight)

    def _finish(self, preflight: Preflight) -> BuildRecord:
        self._counts = self._ledger.run_stage("plan", SampleCounts, self._plan)
        results, compiled, evaluation = self._settle(self._quantize())
        graph = load_stored_graph(self._locate_graph(find_chosen(results).candidate.name))
        analyse = partial(self._analyse, graph, results, compiled.backend, evaluation)
        analysis = self._ledger.run_stage("analyse", AnalysisResult, analyse)
        record = self._record(preflight, results, graph, compiled, evaluation, analysis)
        self._report(record, graph)
        if self._refusal is not None:
            log.warning("all files but the binary are in %s", self._request.output)
            raise self._refusal
        return record

    def _announce(self) -> None:
        """What the build takes over and will take."""
        taken = self._ledger.resumed
        if taken:
            self._notes.append(f"taken over from an interrupted build: {', '.join(taken)}")
            log.info("%s", self._notes[-1])
        expected, limit = self._known.expected_seconds, self._request.time_limit
        log.info("the build will take about %.0f s", expected)
        if late := describe_late_compiler(expected, limit):
            self._notes.append(late)
            log.warning("%s", late)

    def _preflight(self) -> Preflight:
        if self._checked is None:
            self._checked = run_preflight(self._request)
            if self._checked.problems:
                # A build that cannot start says all that is in its way, as a dry run does.
                try_conversion(self._request, self._checked)
        self._checked.check()
        return self._checked.record()

    @cached_property
    def _opened(self) -> OpenedModel:
        opened = self._checked.opened if self._checked is not None else open_model(self._request)
        if opened.problems:
            raise Problems(opened.problems)
        return opened

    def _convert(self) -> ConversionResult:
        conversion = convert_model(self._request, self._opened)
        if conversion.problems:
            # Nothing was built that another run could go on with.
            self._ledger.close()
            raise Problems(sort_problems(conversion.problems))
        store_graph(conversion.graph, self._locate_graph("float"))
        samples = self._read_samples(conversion.graph, self._opened.states)
        return describe_conversion(self._request, self._opened, conversion, samples, self._budget)

    @cached_property
    def _source(self) -> Graph:
        """The float graph as it was stored: the same bytes whether this run converted it or not."""
        return load_stored_graph(self._locate_graph("float"))

    @cached_property
    def _planned(self) -> BuildSamples:
        """The samples that there was time for as far as could be known before the build."""
        return self._known.counts.select(self._read_samples(self._source, self._known.states))

    @cached_property
    def _samples(self) -> BuildSamples:
        """Those that there is time for."""
        samples = self._counts.select(self._planned)
        if not self._has_fewer_samples():
            return samples
        return replace(samples, notes=(*samples.notes, self._counts.describe()))

    def _has_fewer_samples(self) -> bool:
        return self._counts != SampleCounts.of(self._read_samples(self._source, self._known.states))

    @cached_property
    def _counter(self) -> RunCounter:
        return RunCounter(self._source, self._known.counts.total)

    def _read_samples(self, graph: Graph, states: Sequence[RecurrentState]) -> BuildSamples:
        if self._unique is None:
            samples = None if self._checked is None else self._checked.samples
            if samples is None:
                samples = read_samples(drop_state_inputs(graph, states), self._request.data)
            self._unique = leave_out_copies(samples)
        return add_states(self._unique, graph, states)

    def _plan(self) -> SampleCounts:
        """How many samples there is time for at the pace that the float model has on those that choose."""
        with self._counter.measure_stage("plan"):
            chosen = self._chooser.run_float_model(self._budget.choosing_seconds)
            counts = replace(self._known.counts, choosing=chosen.samples)
            rest = max(0.0, self._budget.search_seconds - self._budget.seconds)
            return counts.reduce_others_to_fit(self._measure_rates(), rest)

    def _measure_rates(self) -> Rates:
        """The rates at the pace of now: other work on the machine may have come or gone."""
        rates, pace = self._known.rates, self._chooser.time_float_model()
        return rates.scale_seconds(
            max(LEAST_SLOWDOWN, self._slowness, pace / max(rates.floating, LEAST_SECONDS))
        )

    @property
    def _slowness(self) -> float:
        """How many times as long as estimated the candidates took that were built so far."""
        expected = sum(estimate_candidate(name, self._known.rates, self._counts) for name in self._results)
        taken = sum(result.candidate.seconds for result in self._results.values())
        return taken / expected if expected > TELLING_SECONDS else 0.0

    @cached_property
    def _chooser(self) -> Evaluator:
        return make_chooser(self._source, self._planned.choosing, self._known.metric, self._counter)

    @cached_property
    def _judging(self) -> Evaluator:
        return Evaluator(self._source, self._samples.judging, self._known.metric, self._counter)

    def _judge(self, confirmed: Confirmation, looks: int) -> EvaluationResult:
        """The verdict's figures, on samples that nothing was chosen by."""
        stage = "evaluate" if looks == 1 else f"evaluate {confirmed.name}"

        graph = load_stored_graph(self._locate_graph(confirmed.name))

        def evaluate() -> EvaluationResult:
            backend = confirmed.compiled[0].backend if confirmed.compiled else SIMULATION
            self._budget.reserve_report(self._measure_rates().estimate_layers() + WRITING_SECONDS)
            with self._counter.measure_stage(stage):
                folder = self._locate_files(confirmed.name)
                return evaluate_candidate(self._judging, graph, backend, folder, self._budget, looks)

        return self._ledger.run_stage(stage, EvaluationResult, evaluate)

    @cached_property
    def _candidates(self) -> CandidateBuilder:
        request = self._request
        return CandidateBuilder(
            self._source,
            frozenset(self._known.tensors),
            self._samples,
            self._chooser,
            request.limit,
            has_limit=request.max_drop is not None,
            overrides=request.overrides,
            architecture=self._chip.arch,
            counter=self._counter,
        )

    @cached_property
    def _search_limit(self) -> SearchLimit:
        least = find_least_provable(self._known.metric, len(self._samples.judging.selection))
        return SearchLimit(self._request.limit, least)

    def _quantize(self) -> list[CandidateResult]:
        """The precisions that are tried, one of them chosen."""
        request = self._request
        names = list_candidates(request.precision, self._chip.arch)
        searched = search_precisions(
            (AS_GIVEN,) if self._known.is_quantized else names,
            self._search_limit,
            self._finish_candidate,
            self._times,
            request.prefer,
        )
        self._left_out = list(searched.left_out)
        return list(searched.results)

    @cached_property
    def _times(self) -> dict[str, TimeRange]:
        """What candidates take on the chip, estimated."""
        names = (*list_candidates(AUTO), *list_candidates(self._request.precision), SMALLER)
        return estimate_candidates(self._source, self._chip, names)

    def _finish_candidate(self, name: str) -> CandidateResult | LeftOut:
        """A candidate, built unless it was built before or its time is up; the first is built in any case."""
        stage, bounds = f"quantize {name}", self._find_bounds()
        if not self._results:
            # On as many samples as there is time for, but in any case.
            bounds = Bounds(evaluation_end=self._budget.find_first_deadline(bounds.deadline))
        base = find_mixed_base(self._results.values(), self._search_limit)
        work = partial(self._build_candidate, name, base)
        try:
            with self._counter.measure_stage(stage), self._counter.keep_bounds(bounds):
                self._results[name] = self._ledger.run_stage(stage, CandidateResult, work)
        except OutOfTime as reason:
            return LeftOut(name, str(reason), is_for_time=True)
        return self._results[name]

    def _find_bounds(self) -> Bounds:
        """How long the search may go on: what judges and writes comes after it."""
        drops = [result.candidate.drop for result in self._results.values()]
        judging = len(self._samples.judging.selection)
        reserved = estimate_rest(self._measure_rates(), drops, self._request.limit, judging)
        deadline = self._budget.find_search_deadline(reserved)
        return Bounds(deadline, MOST_PASSES, deadline + self._budget.grace_seconds)

    def _build_candidate(self, name: str, base: str) -> CandidateResult:
        graph, result = self._candidates.build(name, base)
        store_graph(with_steps(graph, graph.outputs), self._locate_graph(name))
        return result

    def _settle(
        self, results: list[CandidateResult]
    ) -> tuple[tuple[CandidateResult, ...], CompileResult, EvaluationResult]:
        """Compiles and judges what was chosen, and wider candidates where that fails or loses too much."""
        limit = None if self._samples.is_random else self._request.max_drop
        can_prove = self._search_limit.least <= self._request.limit
        work = (self._compile_candidate, self._judge, self._has_time)
        settler = Settler(self._request.limit, limit, *work, can_prove)
        settled = settler.settle(self._iterate_wider(results))
        confirmed = settled.confirmed
        self._notes += settled.notes
        self._refusal, self._failed = confirmed.refusal, settled.failed
        # What the compiler refuses has all files but the binary.
        refused = CompileResult(SIMULATION, list_artifacts(self._request, self._locate_files(confirmed.name)))
        compiled = confirmed.compiled[0] if confirmed.compiled else refused
        return mark_chosen(results, confirmed.name), compiled, settled.evaluation

    def _has_time(self) -> bool:
        """Whether another candidate can be built, compiled and judged."""
        finish = self._measure_rates().estimate_verdict(len(self._samples.judging.selection))
        return self._budget.seconds + finish < self._budget.search_seconds

    def _iterate_wider(self, results: list[CandidateResult]) -> Iterator[str]:
        """The chosen candidate, wider ones, and then those that were not needed before."""
        limit = self._request.limit
        yield find_chosen(results).candidate.name
        for name in list_wider_candidates(results, limit):
            # Where the compiler takes none of them yet, time is no reason to end without a binary.
            if self._has_binary and not self._has_time():
                self._left_out.append(LeftOut(name, LATE, is_for_time=True))
                return
            yield name
        if not self._has_binary:
            yield from list_narrower_candidates(results, limit)
        base = find_mixed_base(results, self._search_limit)
        for skipped in list_reserves(self._left_out, base, has_binary=self._has_binary):
            is_late = not self._has_time()
            built = (
                LeftOut(skipped.name, LATE, is_for_time=True)
                if is_late
                else self._finish_candidate(skipped.name)
            )
            self._left_out.remove(skipped)
            if isinstance(built, LeftOut):
                self._left_out.append(built)
                continue
            results.append(built)
            if built.candidate.drop <= limit:
                yield skipped.name

    def _compile_candidate(self, name: str) -> Compiled:
        graph = load_stored_graph(self._locate_graph(name))
        try:
            compiled = self._ledger.run_stage(
                f"compile {name}", CompileResult, partial(self._compile, name, graph)
            )
        except OutOfTime:
            self._left_out.append(LeftOut(name, LATE, is_for_time=True))
            raise
        self._has_binary = True

        def check() -> Loss:
            with self._counter.measure_stage(f"check {name}"):
                # An emulator that is too slow to check it has its time for the verdict.
                is_quick = can_emulate_in(self._budget.check_seconds, name, self._measure_rates())
                backend = compiled.backend if is_quick else SIMULATION
                return check_candidate(self._chooser, graph, backend, self._locate_files(name), self._budget)

        return compiled, self._ledger.run_stage(f"check {name}", Loss, check)

    def _compile(self, name: str, graph: Graph) -> CompileResult:
        """All files of a candidate; only the first binary may take longer than the build."""
        folder = self._locate_files(name)
        shutil.rmtree(folder, ignore_errors=True)
        encodings = export_encodings(self._opened, self._source, graph)
        write_models(self._request, graph, encodings, folder)
        (sample,) = self._samples.judging.selection.select(1)
        write_example(self._source, graph, sample, folder)
        # Complete even where the compiler refuses what follows.
        self._write_specs(describe_written_io(self._source, graph, None), folder)
        seconds = self._budget.rest if self._has_binary else math.inf
        backend = compile_binary(self._request, self._source, graph, self._chip, folder, seconds)
        tensors = describe_written_io(self._source, graph, folder / CONTEXTS / HTP_BINARY)
        self._write_specs(tensors, folder)
        return CompileResult(backend, list_artifacts(self._request, folder), tensors)

    def _write_specs(self, tensors: tuple[IoTensor, ...], folder: Path) -> None:
        write_input_specs(self._request, tensors, self._samples.notes, folder)

    def _analyse(
        self, graph: Graph, results: tuple[CandidateResult, ...], backend: str, evaluation: EvaluationResult
    ) -> AnalysisResult:
        """Where accuracy is lost, and what is known to help."""
        chosen = find_chosen(results)
        # Where the time is up, one sample in the simulation must do.
        count = LAYER_SAMPLES if self._budget.rest else 1
        few = list(self._samples.judging.selection.select(count))
        can_emulate = self._can_emulate_layers(backend)
        emulator = open_emulator(self._chip, self._budget.rest) if can_emulate else None
        result = analyse_candidate(self._source, graph, few, chosen, emulator, self._budget)
        advice = keep_what_helps(result.findings, chosen.candidate, self._find_override_trial(chosen))
        on_miss = self._advise_on_miss(results, evaluation, result.layers)
        return replace(result, findings=(*on_miss, *advice))

    def _can_emulate_layers(self, backend: str) -> bool:
        """Whether there is time to compile them with all of their results."""
        if backend != NATIVE:
            return False
        seconds = LAYERS_MARGIN * self._measure_rates().estimate_emulated_layers()
        is_in_time = seconds < max(self._budget.layers_seconds, LAYERS_OF_REST * self._budget.rest)
        if not is_in_time:
            self._notes.append("layers were compared in the simulation only: the emulator had no time left")
        return is_in_time

    def _find_override_trial(self, chosen: CandidateResult) -> TryOverride | None:
        """None where widths were chosen on purpose, came with the model, or were given by the user."""
        name, request = chosen.candidate.name, self._request
        if request.precision in {AUTO, HALF} or name == AS_GIVEN or request.overrides is not None:
            return None
        return lambda override: self._try_candidate(
            self._candidates.with_overrides(json.loads(override)), name
        )

    def _advise_on_miss(
        self, results: tuple[CandidateResult, ...], evaluation: EvaluationResult, layers: Sequence[Layer]
    ) -> tuple[Finding, ...]:
        limit, candidates = self._request.max_drop, [result.candidate for result in results]
        loss = evaluation.loss
        if describe_disagreement(evaluation.apart, limit):
            # What the simulation says of other precisions would not hold either.
            return ()
        is_given = find_chosen(results).candidate.name == AS_GIVEN
        if limit is None or loss.points <= limit or self._samples.is_random or is_given:
            return ()
        names = list_untried_precisions(candidates, self._request, self._chip.arch)
        trials = [(name, partial(self._try_candidate, self._candidates, name)) for name in names]
        return advise_on_miss(candidates, limit, loss, layers, trials)

    def _try_candidate(self, builder: CandidateBuilder, name: str) -> Candidate | None:
        """A candidate that is only measured; None where the build's time is up before that."""
        bounds = Bounds(time.monotonic() + self._request.time_limit - self._budget.seconds)
        with suppress(OutOfTime), self._counter.measure_stage("analyse"), self._counter.keep_bounds(bounds):
            return builder.build(name)[1].candidate
        return None

    def _record(
        self,
        preflight: Preflight,
        results: tuple[CandidateResult, ...],
        graph: Graph,
        compiled: CompileResult,
        evaluation: EvaluationResult,
        analysis: AnalysisResult,
    ) -> BuildRecord:
        request, source, known = self._request, self._source, self._known
        limit = request.max_drop
        chosen, poor = find_chosen(results), self._warn_of_float_model(evaluation)
        tensors = compiled.contract or describe_written_io(source, graph, None)
        doubts = (*self._list_doubts(preflight, evaluation), *(finding.what for finding in poor))
        judged = judge_loss(evaluation.loss, limit, evaluation.apart, doubts)
        metric, accuracy, verdict = rename_outputs(tensors, known.metric, evaluation.accuracy, judged)
        preflight = replace(
            preflight,
            findings=(*preflight.findings, *known.findings),
            expected_seconds=known.expected_seconds,
        )
        return BuildRecord(
            command=request.command,
            source=known.source,
            target=str(self._chip),
            architecture=f"v{self._chip.arch}",
            contract=tensors,
            preflight=preflight,
            precision=request.precision,
            chosen=chosen.candidate.name,
            max_drop=limit,
            verdict=verdict,
            metric=metric,
            accuracy=accuracy,
            candidates=tuple(
                replace(result.candidate, time=find_time(self._times, result.candidate)) for result in results
            ),
            layers=analysis.layers,
            tensors=analysis.tensors,
            findings=(*poor, *self._list_warnings(preflight), *analysis.findings),
            data=self._samples.notes,
            choices=(chosen.candidate.text, *chosen.notes),
            stages=tuple(
                # It ran before there was a place to keep it, and timed itself.
                replace(stage, seconds=preflight.seconds) if stage.name == "preflight" else stage
                for stage in self._ledger.stages
            ),
            artifacts=compiled.artifacts,
            versions=list_versions(),
            samples=_list_numbers(self._samples, evaluation),
            folder=str(request.output.absolute()),
            rebuild=request.rebuild,
            notes=(
                *(finding.what for finding in poor),
                *self._notes,
                *self._list_time_notes(results),
                *self._list_faster(results, evaluation),
                *known.notes,
                *evaluation.notes,
            ),
            left_out=tuple(self._left_out),
            passes=sum(stage.passes for stage in self._ledger.stages),
            time_limit=None if math.isinf(request.time_limit) else request.time_limit,
            seconds=self._budget.seconds,
            is_cut_short=bool(self._list_time_notes(results)),
        )

    def _list_time_notes(self, results: Sequence[CandidateResult]) -> list[str]:
        """What more time would have given."""
        notes = [f"{each.name} was left out: {each.reason}" for each in self._left_out if each.is_for_time]
        stopped = [result.candidate.name for result in results if result.candidate.is_stopped]
        notes += [f"{name} was stopped before its search ended: the time was up" for name in stopped]
        if self._has_fewer_samples():
            notes.append(self._counts.describe())
        return notes

    def _list_faster(self, results: Sequence[CandidateResult], evaluation: EvaluationResult) -> list[str]:
        """What may be faster than what was taken for its bits and keeps the limit."""
        if self._request.precision != AUTO or self._request.prefer == FASTEST:
            return []
        if evaluation.loss.points > self._request.limit:
            return []
        return describe_faster(results, self._request.limit, self._times, self._failed)

    def _list_warnings(self, preflight: Preflight) -> list[Finding]:
        refused = [as_finding(each) for each in getattr(self._refusal, "errors", [self._refusal]) if each]
        return [*refused, *(finding for finding in preflight.findings if finding.grade == "warning")]

    def _list_doubts(self, preflight: Preflight, evaluation: EvaluationResult) -> tuple[str, ...]:
        """Why a loss proves nothing, whatever it is."""
        random = ("random numbers in place of samples prove nothing",) if self._samples.is_random else ()
        scales = [finding.what for finding in preflight.findings if finding.kind == SCALE]
        return (*random, *scales, *evaluation.doubts)

    @staticmethod
    def _warn_of_float_model(evaluation: EvaluationResult) -> list[Finding]:
        """A float model that is mostly wrong: the most frequent mistake is in its samples."""
        what = "; ".join(evaluation.poor)
        do = "check --metric, --mean, --std, --layout and --color, the arrays, and that labels count from 0"
        return [Finding("warning", "float-model", what, do=do)] if what else []

    def _report(self, record: BuildRecord, graph: Graph) -> None:
        """The last files; once all are in place nothing is left to resume."""
        folder = self._locate_files(record.chosen)
        write_whole(folder / REPORT, self._render(record, graph))
        write_whole(folder / RECORD, [to_json(record)])
        remove_stale(self._request, record.artifacts)
        publish(folder, self._request.output, last=(REPORT, RECORD))
        self._ledger.close()

    def _locate_graph(self, name: str) -> Path:
        return self._ledger.folder / f"graph_{_spell_for_files(name)}"

    def _locate_files(self, name: str) -> Path:
        """What becomes of a candidate; the files of the chosen one are published."""
        return self._ledger.folder / f"files_{_spell_for_files(name)}"


def _spell_for_files(name: str) -> str:
    return name.replace(" ", "_").replace("+", "_")


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
