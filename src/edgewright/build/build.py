"""The main job: pre-flight, convert, quantize, compile, evaluate, analyse, report."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from edgewright.build.analyse_choice import ChoiceAnalysis
from edgewright.build.compile_and_judge import CandidateJudge
from edgewright.build.deploy import publish, remove_stale
from edgewright.build.ledger import take_fingerprint
from edgewright.build.make_record import RecordMaker
from edgewright.build.plan import describe_late_compiler
from edgewright.build.precision_search import PrecisionSearch
from edgewright.build.records import RECORD, REPORT, BuildRecord, Preflight
from edgewright.build.request import BuildRequest
from edgewright.build.session import BuildSession
from edgewright.build.shared_build import identify_work, take_shared_build
from edgewright.build.stages import AnalysisResult
from edgewright.core.events import announce_progress
from edgewright.core.files import write_whole
from edgewright.core.folder_lock import FolderHeld, hold_folder, is_folder_held
from edgewright.core.plain import to_json
from edgewright.ir.graph import Graph

log = logging.getLogger(__name__)

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
        # Waiting for another build is no part of this one.
        request = replace(request, started=time.monotonic())
    session = BuildSession(request)
    fingerprint = take_fingerprint(request)
    try:
        with hold_folder(request.output, request.command, identify_work(request, fingerprint)):
            return _run_stages(session, fingerprint, render)
    except FolderHeld:
        # Both began at the same moment.
        shared = take_shared_build(request)
        if shared is None:
            raise
        return shared


def _run_stages(session: BuildSession, fingerprint: Mapping[str, str], render: Render) -> BuildRecord:
    """All stages, in order, in a folder that no one else writes."""
    preflight = session.prepare(fingerprint)
    _announce(session)
    # What is left of the estimate, for every stage to come.
    expected = max(0.0, session.known.expected_seconds - session.budget.seconds)
    with announce_progress("build", expected=expected):
        return _finish(session, preflight, render)


def _announce(session: BuildSession) -> None:
    """What the build takes over and will take."""
    taken = session.ledger.resumed
    if taken:
        session.notes.append(f"taken over from an interrupted build: {', '.join(taken)}")
        log.info("%s", session.notes[-1])
    expected, limit = session.known.expected_seconds, session.request.time_limit
    log.info("the build will take about %.0f s", expected)
    if late := describe_late_compiler(expected, limit):
        session.notes.append(late)
        log.warning("%s", late)


def _finish(session: BuildSession, preflight: Preflight, render: Render) -> BuildRecord:
    session.plan()
    search = PrecisionSearch(session)
    judgement = CandidateJudge(session, search).settle(search.run())
    graph = session.load_graph(judgement.chosen.candidate.name)
    analyse = partial(ChoiceAnalysis(session, search, judgement).run, graph)
    analysis = session.ledger.run_stage("analyse", AnalysisResult, analyse)
    record = RecordMaker(session, search, judgement).make(preflight, graph, analysis)
    _publish(session, record, render(record, graph))
    if judgement.refusal is not None:
        log.warning("all files but the binary are in %s", session.request.output)
        raise judgement.refusal
    return record


def _publish(session: BuildSession, record: BuildRecord, page: Iterable[bytes]) -> None:
    """The last files; once all are in place nothing is left to resume."""
    folder = session.locate_files(record.chosen)
    write_whole(folder / REPORT, page)
    write_whole(folder / RECORD, [to_json(record)])
    remove_stale(session.request, record.artifacts)
    publish(folder, session.request.output, last=(REPORT, RECORD))
    session.ledger.close()
