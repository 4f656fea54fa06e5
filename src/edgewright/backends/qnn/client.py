"""The caller's end of a worker process: starts it, asks it, and turns its end into an error."""

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from edgewright.abi.codes import LogLevel
from edgewright.abi.frames import Closed, receive, send
from edgewright.abi.versions import TESTED_SDKS, LibraryVersion
from edgewright.backends.qnn.messages import CODEC
from edgewright.backends.qnn.options import HtpOptions
from edgewright.core.errors import BackendCrash, EdgewrightError
from edgewright.core.log import VERBOSE

__all__ = ["Worker"]

log = logging.getLogger(__name__)

TAIL = 1200
_LEVELS: dict[int, int] = {
    LogLevel.ERROR: logging.INFO,  # the call went well all the same: the library complains of itself
    LogLevel.WARN: logging.INFO,
    LogLevel.INFO: logging.INFO,
    LogLevel.VERBOSE: logging.DEBUG,
    LogLevel.DEBUG: VERBOSE,
}


class Worker:
    """A process with one library, opened for one chip."""

    def __init__(self, folder: Path, library: str, options: HtpOptions, saved_to: str = "") -> None:
        self._library = library
        self._options = options
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._dropped: list[int] = []
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "edgewright.backends.qnn.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
            )
        self._line = ours
        self.version: LibraryVersion = self.ask(
            "start",
            folder=str(folder),
            library=library,
            options=options,
            log_level=_wanted_level(),
            saved_to=saved_to,
        )
        if not self.version.is_tested:
            log.warning("%s is SDK %s, tested are %s", library, self.version.sdk, sorted(TESTED_SDKS))

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked from this process."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, request: str, /, **arguments: Any) -> Any:
        """The answer to a request; the library's errors are raised here."""
        self._must_be_ours()
        with self._lock:
            dropped, self._dropped = self._dropped, []
            if dropped:
                self._exchange("free", {"contexts": dropped})
            value, problem, said = self._exchange(request, arguments)
        for level, text in said:
            # What led to an error is told by the error itself.
            shown_at = logging.DEBUG if problem is not None else _LEVELS.get(level, logging.DEBUG)
            log.log(shown_at, "%s: %s", self._library, text)
        if isinstance(problem, EdgewrightError):
            raise problem
        return value

    def drop(self, context: int) -> None:
        """Lets a context go at the next request: this may be called by the garbage collector."""
        self._dropped.append(context)

    def stop(self) -> None:
        """Ends the process."""
        if self._owner != os.getpid():
            return
        self._line.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._said.close()

    def _exchange(self, request: str, arguments: dict[str, Any]) -> Any:
        self._line.settimeout(self._options.worker.timeout)
        try:
            send(self._line, CODEC, (request, arguments))
            return receive(self._line, CODEC)
        except TimeoutError:
            raise self._ended(
                f"gave no answer to '{request}' in {self._options.worker.timeout:g} s",
                "raise the timeout, or use a smaller graph",
            ) from None
        except (Closed, OSError):
            raise self._ended(*self._cause(request)) from None

    def _cause(self, request: str) -> tuple[str, str]:
        code = self._process.wait(timeout=self._options.worker.timeout)
        if code < 0:
            return f"ended with {signal.Signals(-code).name} during '{request}'", "see what it said last"
        return f"ended with exit code {code} during '{request}'", "see what it said last"

    def _ended(self, what: str, do: str) -> BackendCrash:
        self._process.kill()
        self._process.wait()
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - TAIL))
        tail = " ".join(self._said.read().decode(errors="replace").split())
        said = f"; it said last: {tail}" if tail else "; it said nothing"
        return BackendCrash(f"the worker of {self._library} {what}{said}", do=do)

    def _must_be_ours(self) -> None:
        if self._owner != os.getpid():
            raise BackendCrash(
                f"the worker of {self._library} belongs to process {self._owner}, this is {os.getpid()}",
                do="prepare the model again after fork(), or start processes with spawn",
            )
        if self._process.poll() is not None:
            raise self._ended(f"is gone (exit code {self._process.returncode})", "prepare the model again")


def _wanted_level() -> int:
    """What the library is asked to log: as much as somebody reads."""
    wanted = [level for level, ours in _LEVELS.items() if ours < logging.WARNING and log.isEnabledFor(ours)]
    return int(max(wanted, default=LogLevel.ERROR))
