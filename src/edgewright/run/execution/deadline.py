"""Work that is abandoned when its time is up."""

import atexit
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeVar

from edgewright.core.errors import BackendCrash, Where

Result = TypeVar("Result")
# How long the process waits for abandoned work before it exits.
GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Deadline:
    """How long work may take, in microseconds (0 and None: no limit), and the option that sets it."""

    microseconds: int | None
    option: str
    what: str

    def run(self, work: Callable[[], Result]) -> Result:
        """The result of the work, or the error that it raised; taking too long is an error."""
        if not self.microseconds:
            return work()
        answers: SimpleQueue[tuple[list[Result], BaseException | None]] = SimpleQueue()

        def serve() -> None:
            try:
                answers.put(([work()], None))
            except BaseException as problem:
                answers.put(([], problem))

        end = time.monotonic() + self.microseconds / 1e6
        # A daemon: abandoned work must not keep the process alive.
        thread = threading.Thread(target=serve, daemon=True, name=self.option)
        thread.start()
        try:
            results, problem = answers.get(timeout=self.microseconds / 1e6)
        except BaseException as stopped:
            # Native code that returns while Python shuts down aborts the process.
            atexit.register(thread.join, GRACE_SECONDS)
            if isinstance(stopped, Empty):
                raise self._make_error() from None
            raise
        if problem is not None:
            raise problem
        if time.monotonic() > end:  # finished late, but the waiting thread could not run before
            raise self._make_error()
        return results[0]

    def _make_error(self) -> BackendCrash:
        return BackendCrash(
            f"{self.what} took more than {self.microseconds} microseconds and was abandoned",
            Where(detail=self.option),
            do=f"raise {self.option}, or leave it out",
        )
