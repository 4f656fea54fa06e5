"""Runs a throughput test: all threads at once, iteration after iteration, until the end or a signal."""

import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from edgewright.config.throughput_case import ThroughputCase, parse_case
from edgewright.core.events import announce_progress
from edgewright.core.files import is_there
from edgewright.core.machine_use import measure_memory, measure_processor_time
from edgewright.core.signals import note_signals
from edgewright.run.context.config import read_json
from edgewright.sdk.throughput.prepared import list_notes, prepare_all
from edgewright.sdk.throughput.records import Memory, ThroughputResult
from edgewright.sdk.throughput.thread_run import ThreadRun

MEGABYTE = 1 << 20


def read_case(file: str | Path) -> ThroughputCase:
    """The test that a JSON file describes; all errors in its keys are reported at once.

    Files that it names are relative to the current folder, else to the file's own.
    """
    path = Path(file)
    return parse_case(read_json(path), str(path), lambda name: _locate_file(name, path))


def run_throughput(case: ThroughputCase) -> ThroughputResult:
    """Runs a test. ^C stops it after the executions under way; what was measured is returned."""
    prepared = prepare_all(case.threads)
    stop = threading.Event()
    runs = [ThreadRun(thread, prepared[thread.name], stop) for thread in case.threads]
    ready, processor = measure_memory(), measure_processor_time()
    with note_signals(stop) as signals:
        started = time.perf_counter()
        iterations = _run_iterations(case, runs, stop)
        seconds = time.perf_counter() - started
        results = tuple(run.make_result() for run in runs)
    executions = sum(result.executions for result in results)
    return ThroughputResult(
        case.file,
        iterations,
        case.is_endless or not signals,
        signals[0] if signals else 0,
        seconds,
        executions,
        executions / seconds if seconds else 0.0,
        measure_processor_time() - processor,
        Memory(ready / MEGABYTE, measure_memory() / MEGABYTE),
        results,
        tuple(dict.fromkeys(list_notes(case.threads, prepared))),
    )


def _run_iterations(case: ThroughputCase, runs: Sequence[ThreadRun], stop: threading.Event) -> int:
    """How many iterations were finished before the end or the event."""
    finished = 0
    total = None if case.is_endless else case.iterations
    with announce_progress("iterations", total=total) as step:
        for _ in count() if total is None else range(total):
            _iterate(runs)
            if stop.is_set():
                break
            finished += 1
            step()
    return finished


def _iterate(runs: Sequence[ThreadRun]) -> None:
    threads = [threading.Thread(target=run.iterate, name=run.thread.name) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for run in runs:
        if run.problem is not None:
            raise run.problem


def _locate_file(name: str, case_file: Path) -> str:
    beside = case_file.parent / name
    is_beside = not is_there(name) and is_there(beside)
    return str(beside) if is_beside else name
