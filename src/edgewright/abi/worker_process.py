"""A separate process for code that may crash: called over a socket, its end becomes an error."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from edgewright.abi.frames import Closed, Codec, receive, send
from edgewright.core.errors import BackendCrash, Where

TAIL = 1200


class WorkerProcess:
    """The caller's side. Requests are not guarded against each other: that is up to the caller.

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
        self.seconds = seconds
        self._called, self._codec, self._where = called, codec, where
        self._owner = os.getpid()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._line, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
            )

    @property
    def is_alive(self) -> bool:
        """Whether it can be called from this process."""
        return self._owner == os.getpid() and self.process.poll() is None

    def exchange(self, request: str, arguments: dict[str, Any]) -> Any:
        """The answer to a request, as the worker gave it."""
        self._line.settimeout(self.seconds)
        try:
            send(self._line, self._codec, (request, arguments))
            return receive(self._line, self._codec)
        except TimeoutError:
            raise self._make_crash_error(
                f"gave no answer to '{request}' in {self.seconds:g} s",
                "raise the timeout, or use a smaller graph",
            ) from None
        except (Closed, OSError):
            raise self._make_crash_error(
                f"ended with {self._how()} during '{request}'", "see its last output"
            ) from None

    def must_be_ours(self) -> None:
        """Refuses a worker of another process, and one that is gone."""
        if self._owner != os.getpid():
            raise BackendCrash(
                f"{self._called} belongs to process {self._owner}, this is {os.getpid()}",
                do="prepare the model again after fork(), or start processes with spawn",
            )
        if self.process.poll() is not None:
            raise self._make_crash_error(
                f"is gone (exit code {self.process.returncode})", "prepare the model again"
            )

    def stop(self) -> None:
        """Stops the process."""
        if self._owner != os.getpid():
            return
        self._line.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._said.close()

    def _how(self) -> str:
        """How it ended; one that closed its socket but still runs is killed here."""
        try:
            code = self.process.wait(timeout=min(self.seconds, 10))
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def _make_crash_error(self, what: str, do: str) -> BackendCrash:
        self.process.kill()
        self.process.wait()
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - TAIL))
        tail = " ".join(self._said.read().decode(errors="replace").split())
        said = f"; its last output: {tail}" if tail else "; it printed nothing"
        return BackendCrash(f"{self._called} {what}{said}", self._where, do=do)


def serve(descriptor: int, codec: Codec, answer: Callable[[str, dict[str, Any]], Any]) -> None:
    """The worker's side: answers requests until the caller is gone."""
    with socket.socket(fileno=descriptor) as line:
        while True:
            try:
                name, arguments = receive(line, codec)
            except Closed:
                return
            send(line, codec, answer(name, arguments))
