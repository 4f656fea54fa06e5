"""A separate process for code that may crash: called over a socket, its end becomes an error."""

import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import IO, Any

from edgewright.abi.frames import Closed, Codec, receive, send
from edgewright.core.errors import BackendCrash, EdgewrightError, UsageError, Where, shown

TAIL = 1200


# How long a call of a library may take: seconds for all workers, in place of what each of them allows.
VARIABLE = "EDGEWRIGHT_WORKER_SECONDS"
# A worker that was stopped (SIGSTOP) computes nothing: it is waited for this long.
STOPPED_SECONDS = 15.0
_LOOK_SECONDS = 1.0
# On Windows a process inherits no sockets; a description of one comes over its input.
_OVER_INPUT = -1
_end_of_calls: ContextVar[float] = ContextVar("when calls of workers must end", default=math.inf)


class WorkerLate(BackendCrash):
    """A worker that gave no answer in its time, and was ended."""


class WorkerGone(BackendCrash):
    """The worker had ended before the request was sent: another one may be asked the same."""


@contextmanager
def end_calls_at(end: float) -> Iterator[None]:
    """Ends workers whose calls of this thread, in the block, take longer: ``end`` of ``time.monotonic()``."""
    token = _end_of_calls.set(end)
    try:
        yield
    finally:
        _end_of_calls.reset(token)


class WorkerProcess:
    """The caller's side: one request at a time, from any thread; requests and answers are numbered.

    A call that is stopped on the way, by ^C or by the exception of a timer, ends the worker: it does not go
    on computing, and an answer that is still to come cannot be taken for that of the next request.

    Args:
        module: what the process runs; its argument is the number of its socket.
        called: its name in errors, as in "the worker of libQnnHtp.so".
        codec: how messages are encoded.
        seconds: how long an answer may take.
        where: the file that errors are about.
    """

    def __init__(
        self, module: str, called: str, codec: Codec, seconds: float, where: Where | None = None
    ) -> None:
        self.seconds = read_worker_seconds() or seconds
        self._called, self._codec, self._where = called, codec, where
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._number = 0
        # The request that is on its way. It stays here where the call was stopped.
        self._unanswered = ""
        self._is_ended = False
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._line, theirs = socket.socketpair()
        with theirs:
            self.process = _start_with_socket(module, theirs, self._said)

    @property
    def is_alive(self) -> bool:
        """Whether it can be called from this process."""
        is_usable = not self._is_ended and not (self._unanswered and not self._lock.locked())
        return is_usable and self._owner == os.getpid() and self.process.poll() is None

    def exchange(self, request: str, arguments: dict[str, Any]) -> Any:
        """The answer to a request, as the worker gave it."""
        if self._owner != os.getpid():
            raise BackendCrash(
                f"{self._called} belongs to process {self._owner}, this is {os.getpid()}",
                do="prepare the model again after fork(), or start processes with spawn",
            )
        with self._lock:
            self._must_be_ready()
            # Whatever happens after this line, only a whole answer makes the worker usable again.
            self._unanswered = request
            try:
                answer = self._call(request, arguments)
            except BaseException:
                self._end()
                raise
            self._unanswered = ""
            return answer

    def stop(self) -> None:
        """Stops the process."""
        if self._owner != os.getpid():
            return
        self._end()
        self.process.wait()
        self._line.close()
        self._said.close()

    def _end(self) -> None:
        # First of all, because a process is still there for a moment after it was killed.
        self._is_ended = True
        self.process.kill()

    def _must_be_ready(self) -> None:
        """Refuses a worker that is gone, and ends one whose last call was stopped."""
        if self._unanswered:
            self._end()
            raise WorkerGone(
                f"{self._called} was ended: its request '{self._unanswered}' was not answered",
                self._where,
                do="prepare the model again",
            )
        if self._is_ended or self.process.poll() is not None:
            what = f"is gone (exit code {self.process.wait()})"
            raise self._make_crash_error(what, "prepare the model again", WorkerGone)

    def _call(self, request: str, arguments: dict[str, Any]) -> Any:
        self._number += 1
        seconds = min(self.seconds, max(0.0, _end_of_calls.get() - time.monotonic()))
        line = _PatientLine(self._line, self.process.pid, seconds)
        try:
            send(line.send_bytes, self._codec, (self._number, request, arguments))
            number, answer = receive(line.receive_bytes, self._codec)
        except _NoAnswer:
            what = f"gave no answer to '{request}' in {seconds:.3g} s"
            do = f"set {VARIABLE} to more seconds, or use a smaller graph"
            raise self._make_crash_error(what, do, WorkerLate) from None
        except _Stopped:
            what = f"was stopped by a signal during '{request}' and did not go on for {STOPPED_SECONDS:g} s"
            raise self._make_crash_error(what, "do not send it SIGSTOP; prepare the model again") from None
        except TimeoutError:
            raise  # the caller's own: handlers of signals raise it, too
        except (Closed, OSError):
            what = f"ended with {self._how()} during '{request}'"
            raise self._make_crash_error(what, "see its last output") from None
        if number != self._number:
            what = f"gave answer {number} to request {self._number}, '{request}'"
            raise self._make_crash_error(what, "prepare the model again")
        return answer

    def _how(self) -> str:
        """How it ended; one that closed its socket but still runs is killed here."""
        try:
            code = self.process.wait(timeout=min(self.seconds, 10))
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def _make_crash_error(self, what: str, do: str, kind: type[BackendCrash] = BackendCrash) -> BackendCrash:
        self.process.kill()
        self.process.wait()
        tail = " ".join(self._read_last_output().decode(errors="replace").split())
        said = f"; its last output: {tail}" if tail else "; it printed nothing"
        return kind(f"{self._called} {what}{said}", self._where, do=do)

    def _read_last_output(self) -> bytes:
        if self._said.closed:
            return b""
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - TAIL))
        return self._said.read()


def _start_with_socket(module: str, line: socket.socket, output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Starts a module that is given one end of a line, as its argument or, on Windows, over its input."""
    words = [sys.executable, "-P", "-m", module]
    if sys.platform != "win32":
        number = line.fileno()
        return subprocess.Popen(
            [*words, str(number)],
            pass_fds=[number],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    process = subprocess.Popen(
        [*words, str(_OVER_INPUT)], stdin=subprocess.PIPE, stdout=output, stderr=output
    )
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write(line.share(process.pid))
    return process


class _NoAnswer(Exception):
    """The time for an answer is up."""


class _Stopped(Exception):
    """The other process does not go on."""


class _PatientLine:
    """A socket that is waited for in short turns, each of which looks after the process behind it."""

    def __init__(self, line: socket.socket, process: int, seconds: float) -> None:
        self._line, self._process = line, process
        self._end = time.monotonic() + seconds
        self._stopped = 0.0

    def send_bytes(self, data: Any) -> None:
        """Sends all bytes."""
        rest = memoryview(data).cast("B")
        while len(rest):
            rest = rest[self._wait(partial(self._line.send, rest)) :]

    def receive_bytes(self, room: memoryview) -> int:
        """Receives what there is."""
        return self._wait(partial(self._line.recv_into, room))

    def _wait(self, transfer: Callable[[], int]) -> int:
        while True:
            left = self._end - time.monotonic()
            if left <= 0:
                raise _NoAnswer
            turn = min(_LOOK_SECONDS, left)
            self._line.settimeout(turn)
            started = time.monotonic()
            try:
                return transfer()
            except TimeoutError:
                if time.monotonic() - started < turn:
                    raise  # not of the socket: the caller's own
            self._look_after(turn)

    def _look_after(self, waited: float) -> None:
        # Turns are counted, not the clock: a computer that slept, or ^Z, stops both processes.
        self._stopped = self._stopped + waited if _is_stopped(self._process) else 0.0
        if self._stopped >= STOPPED_SECONDS:
            raise _Stopped


def _is_stopped(process: int) -> bool:
    """Whether a signal has stopped a process; False where the system does not say."""
    try:
        state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b") ")[2]
    except OSError:
        return False
    return state[:1] in {b"T", b"t"}


def read_worker_seconds() -> float | None:
    """The limit that a user set for all workers."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise UsageError(f"{VARIABLE} is '{shown(text, 60)}', expected a number of seconds above 0")
    return seconds


def serve(descriptor: int, codec: Codec, answer: Callable[[str, dict[str, Any]], Any]) -> None:
    """The worker's side: answers requests until the caller is gone."""
    with _take_socket(descriptor) as line:
        while True:
            try:
                number, name, arguments = receive(line.recv_into, codec)
            except Closed:
                return
            send(line.sendall, codec, (number, answer(name, arguments)))


def _take_socket(descriptor: int) -> socket.socket:
    if sys.platform == "win32" and descriptor == _OVER_INPUT:
        return socket.fromshare(sys.stdin.buffer.read())
    return socket.socket(fileno=descriptor)


def answer_by(host: object, name: str, arguments: dict[str, Any]) -> tuple[Any, EdgewrightError | None]:
    """What a host's method of that name gives, or its error; our own bugs keep their traceback in the log."""
    try:
        return getattr(host, name)(**arguments), None
    except EdgewrightError as problem:
        return None, problem
    except Exception as problem:
        traceback.print_exc()
        return None, BackendCrash(f"the worker failed: {type(problem).__name__}: {problem}")
