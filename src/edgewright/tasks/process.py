"""The caller's side of a process that computes tasks: one for each thread, started again when it crashes."""

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress

from edgewright.core.errors import BackendCrash, shown
from edgewright.tasks.outcome import Outcome, TaskError
from edgewright.tasks.task import Task
from edgewright.tasks.worker import IDLE_CODE

log = logging.getLogger(__name__)

# How often a task may end its process before it is to blame.
ATTEMPTS = 2
# What Dask's nannies set: every array of 64 KiB that is freed goes back to the system, which clears the pages
# of the next one. It is for workers that hold results; products of small matrices take 2.5 times as long.
TRIM, TRIM_OF_DASK = "MALLOC_TRIM_THRESHOLD_", "65536"
TAIL = 600


class ProcessEnded(Exception):
    """The process ended before it answered."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(code, said)
        self.code, self.said = code, said


class TaskProcess:
    """A process that computes one task at a time."""

    def __init__(self) -> None:
        # Appended to, so that it can be emptied while the process writes.
        self._said = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed with the process
        # Of its own, so that nothing of a task stays behind that is killed.
        self._folder = tempfile.TemporaryDirectory(prefix="edgewright-task-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "edgewright.tasks.worker"],
            env={**_choose_environment(), "TMPDIR": self._folder.name},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            encoding="utf-8",
        )

    def perform(self, message: str) -> str:
        """The outcome of a task, as text."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = ""
        with suppress(BrokenPipeError, ValueError):  # ValueError: it was closed by another thread
            self._process.stdin.write(message + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        if not answer.endswith("\n"):
            raise ProcessEnded(self._process.wait(), self._read_last_output())
        with suppress(OSError):
            self._said.truncate(0)
        return answer

    def kill(self) -> None:
        """Ends it now; whoever waits for an answer is told."""
        self._process.kill()

    def close(self) -> None:
        """Ends it and frees what it holds."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._said):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._folder.cleanup()

    def _read_last_output(self) -> str:
        with suppress(OSError, ValueError):
            self._said.seek(0, os.SEEK_END)
            self._said.seek(max(0, self._said.tell() - TAIL))
            return " ".join(self._said.read().decode(errors="replace").split())
        return ""


class TaskProcesses:
    """One process for each thread that asks; all of them end together."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._lock = threading.Lock()
        self._all: list[TaskProcess] = []
        self._is_closed = False

    def perform(self, message: str) -> str:
        """The outcome of a task, as text; one that crashes its process each time has an error."""
        problem: ProcessEnded | None = None
        attempts = 0
        while attempts < ATTEMPTS:
            process = self._find()
            try:
                return process.perform(message)
            except ProcessEnded as ended:
                self._forget(process)
                if self._is_closed:
                    raise
                # One that had nothing to do for long ended on its own.
                if ended.code != IDLE_CODE:
                    problem, attempts = ended, attempts + 1
                    log.warning("a worker process ended with %s", _describe_end(ended.code))
        assert problem is not None
        return _describe_crash(message, problem)

    def stop(self) -> None:
        """Ends all of them, whatever they do; threads that wait for them are told."""
        with self._lock:
            self._is_closed = True
            for process in self._all:
                process.kill()

    def close(self) -> None:
        """Frees what they hold, once no thread waits any more."""
        for process in self._all:
            process.close()

    def _find(self) -> TaskProcess:
        process: TaskProcess | None = getattr(self._own, "process", None)
        if process is None:
            with self._lock:
                if self._is_closed:
                    raise ProcessEnded(0, "")
                process = self._own.process = TaskProcess()
                self._all.append(process)
        return process

    def _forget(self, process: TaskProcess) -> None:
        process.close()
        self._own.process = None
        with self._lock:
            self._all.remove(process)


def perform_in_process(messages: list[str]) -> list[str]:
    """What a worker of a cluster is asked to do: a task that crashes takes its own process along only."""
    return [_of_this_process.perform(message) for message in messages]


def _choose_environment() -> dict[str, str]:
    """That of this process, without what Dask sets for its own workers."""
    environment = dict(os.environ)
    if environment.get(TRIM) == TRIM_OF_DASK:
        del environment[TRIM]
    return environment


def _describe_crash(message: str, ended: ProcessEnded) -> str:
    task = Task(**json.loads(message)["task"])
    last = f"; its last output: {shown(ended.said, TAIL)}" if ended.said else "; it printed nothing"
    error = BackendCrash(
        f"the process that computed it ended with {_describe_end(ended.code)}, {ATTEMPTS} times{last}",
        do="look at its memory, or run it alone to see more",
    )
    return Outcome(task.key, error=TaskError.of(error)).to_json().decode()


def _describe_end(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


_of_this_process = TaskProcesses()
