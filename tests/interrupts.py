"""Exceptions in the middle of a call, as from ^C or a timer: at a line of our code, or after a time."""

import linecache
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import edgewright

OURS = str(Path(edgewright.__file__).parent)


class Stop(BaseException):
    """What the handler of a signal raises."""


class LineStop:
    """Raises at the n-th line that our code runs in this thread; 0 never."""

    def __init__(self, line: int = 0) -> None:
        self.line, self.count = line, 0

    def __enter__(self) -> "LineStop":
        self._before = sys.gettrace()
        sys.settrace(self._enter_frame)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _enter_frame(self, frame: FrameType, _event: str, _about: Any) -> Any:
        return self._step if frame.f_code.co_filename.startswith(OURS) else None

    def _step(self, frame: FrameType, event: str, _about: Any) -> Any:
        if event == "line" and not _is_with(frame):
            self.count += 1
            if self.count == self.line:
                raise Stop
        return self._step


def _is_with(frame: FrameType) -> bool:
    """Python runs no handler between a block and its __exit__, but does trace that line."""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


@contextmanager
def stop_after(seconds: float, problem: type[BaseException] = Stop) -> Iterator[None]:
    """Raises when the time is up, wherever the code is then."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise problem

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
