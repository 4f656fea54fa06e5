"""The caller's side of a worker with a QNN library: starts it, calls it, and forwards its log."""

import logging
from pathlib import Path
from typing import Any

from edgewright.abi.codes import LogLevel
from edgewright.abi.versions import TESTED_SDKS, LibraryVersion
from edgewright.abi.worker_process import WorkerProcess
from edgewright.backends.qnn.messages import CODEC
from edgewright.backends.qnn.options import HtpOptions
from edgewright.core.errors import EdgewrightError
from edgewright.core.log import VERBOSE

log = logging.getLogger(__name__)

_LEVELS: dict[int, int] = {
    LogLevel.ERROR: logging.INFO,  # the call succeeded anyway: errors are returned separately
    LogLevel.WARN: logging.INFO,
    LogLevel.INFO: logging.INFO,
    LogLevel.VERBOSE: logging.DEBUG,
    LogLevel.DEBUG: VERBOSE,
}


class Worker:
    """A process with one library, opened for one chip."""

    def __init__(self, folder: Path, library: str, options: HtpOptions, saved_to: str = "") -> None:
        self._library = library
        self._dropped: list[int] = []
        self._child = WorkerProcess(
            "edgewright.backends.qnn.worker", f"the worker of {library}", CODEC, options.worker.timeout
        )
        try:
            self.version: LibraryVersion = self.ask(
                "start",
                folder=str(folder),
                library=library,
                options=options,
                log_level=_wanted_level(),
                saved_to=saved_to,
            )
        except BaseException:
            self._child.stop()
            raise
        if not self.version.is_tested:
            log.warning("%s is SDK %s, tested are %s", library, self.version.sdk, sorted(TESTED_SDKS))

    @property
    def is_alive(self) -> bool:
        """Whether it can be called from this process."""
        return self._child.is_alive

    def ask(self, request: str, /, **arguments: Any) -> Any:
        """The answer to a request; the library's errors are raised here."""
        dropped, self._dropped = self._dropped, []
        if dropped:
            self._child.exchange("free", {"contexts": dropped})
        value, problem, said = self._child.exchange(request, arguments)
        for level, text in said:
            # The error itself says what led to it.
            shown_at = logging.DEBUG if problem is not None else _LEVELS.get(level, logging.DEBUG)
            log.log(shown_at, "%s: %s", self._library, text)
        if isinstance(problem, EdgewrightError):
            raise problem
        return value

    def drop(self, context: int) -> None:
        """Frees a context at the next request: this may be called by the garbage collector."""
        self._dropped.append(context)

    def stop(self) -> None:
        """Stops the process."""
        self._child.stop()


def _wanted_level() -> int:
    """The log level for the library: as much as is shown."""
    wanted = [level for level, ours in _LEVELS.items() if ours < logging.WARNING and log.isEnabledFor(ours)]
    return int(max(wanted, default=LogLevel.ERROR))
