"""Who computes tasks: this process, or processes of this machine."""

import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Protocol

from edgewright.core.machine_use import count_cores
from edgewright.tasks.perform import perform_message
from edgewright.tasks.process import TaskProcesses

# Seconds of work from which on processes are started for it: each takes two to import what tasks need.
WORTH_PROCESSES = 10.0
# What libraries take their number of threads from.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Executor(Protocol):
    """Computes tasks, in any order."""

    @property
    def is_local(self) -> bool:
        """Whether files of this machine are found where they are."""

    @property
    def dashboard(self) -> str:
        """Where to watch it; empty where there is no such page."""

    def iterate_outcomes(self, messages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The outcome of each task by its key, as they become known."""

    def close(self) -> None:
        """Ends what it started."""


class InlineExecutor:
    """This process, one task at a time."""

    is_local, dashboard = True, ""

    def iterate_outcomes(self, messages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """In the order of the tasks."""
        for key, message in messages.items():
            yield key, perform_message(message)

    def close(self) -> None:
        """Nothing was started."""


class LocalExecutor:
    """Processes of this machine, each with a thread here that waits for it; they stay until it is closed."""

    is_local, dashboard = True, ""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._start()

    def iterate_outcomes(self, messages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """As they become known; whoever stops listening stops the processes."""
        is_whole = False
        try:
            with share_processor(self._workers):
                futures = {
                    self._pool.submit(self._processes.perform, message): key
                    for key, message in messages.items()
                }
                for future in as_completed(futures):
                    yield futures.pop(future), future.result()
            is_whole = True
        finally:
            if not is_whole:
                self.close()
                self._start()

    def close(self) -> None:
        """Ends the processes, whatever they do."""
        self._processes.stop()
        self._pool.shutdown(cancel_futures=True)
        self._processes.close()

    def _start(self) -> None:
        """Threads and processes start when they are needed."""
        self._processes = TaskProcesses()
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="task")


class GrowingExecutor:
    """This process for the first tasks; processes for the rest where that takes longer than to start them."""

    is_local, dashboard = True, ""

    def __init__(self, workers: int) -> None:
        self._processes = LocalExecutor(workers)
        self._is_grown = False

    def iterate_outcomes(self, messages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """In the order of the tasks as long as this process computes, then as they become known."""
        waiting = dict(messages)
        for key, message in messages.items():
            if self._is_grown:
                break
            del waiting[key]
            started = time.monotonic()
            yield key, perform_message(message)
            self._is_grown = len(waiting) * (time.monotonic() - started) > WORTH_PROCESSES
        yield from self._processes.iterate_outcomes(waiting)

    def close(self) -> None:
        """Ends the processes, whatever they do."""
        self._processes.close()


@contextmanager
def share_processor(workers: int) -> Iterator[None]:
    """Processes that start inside have their part of the threads of this machine, unless the user decided."""
    threads = str(max(1, count_cores() // workers))
    chosen = {name: threads for name in THREADS if name not in os.environ}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name in chosen:
            os.environ.pop(name, None)
