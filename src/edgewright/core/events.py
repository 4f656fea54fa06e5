"""Progress of long work: the library reports it, and listeners may draw it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol


@dataclass
class Work:
    """One piece of long work and how far it has got."""

    title: str
    total: int | None = None
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    # What all of it will take, where that was estimated.
    expected: float | None = None
    # An error or an interruption has ended it.
    is_stopped: bool = False

    @property
    def seconds(self) -> float:
        """The time since the work started."""
        return time.monotonic() - self.started

    @property
    def seconds_left(self) -> float | None:
        """What the rest will take, by the estimate or at this rate; None where nothing tells."""
        if self.expected is not None:
            return max(0.0, self.expected - self.seconds)
        if self.total is None or not self.done:
            return None
        return self.seconds / self.done * (self.total - self.done)


class Listener(Protocol):
    """Receives progress, in the thread that does the work."""

    def start_work(self, work: Work) -> None:
        """The work starts."""

    def advance_work(self, work: Work) -> None:
        """Another step of the work is done."""

    def end_work(self, work: Work) -> None:
        """The work is over, finished or not: see `done` and `is_stopped`."""


@contextmanager
def announce_progress(
    title: str, total: int | None = None, expected: float | None = None
) -> Iterator[Callable[..., None]]:
    """Announce long work; call what it yields after each step (with a count for several steps)."""
    work = Work(title, total, expected=expected)
    # Looked up once, so that a listener sees the start of all work whose steps it sees.
    listener = _listeners[-1] if _listeners else None

    def step(count: int = 1) -> None:
        work.done += count
        if listener is not None:
            listener.advance_work(work)

    if listener is not None:
        listener.start_work(work)
    try:
        yield step
    except BaseException:
        work.is_stopped = True
        raise
    finally:
        if listener is not None:
            listener.end_work(work)


@contextmanager
def listen_to_progress(listener: Listener) -> Iterator[None]:
    """Send progress to this listener inside the block; the innermost block wins."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def has_listener() -> bool:
    """Whether progress is sent to anyone."""
    return bool(_listeners)


_listeners: list[Listener] = []
