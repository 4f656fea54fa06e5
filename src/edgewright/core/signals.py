"""Signals that stop the process, recorded where an exception would leave threads behind."""

import atexit
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

Handler = Callable[[int, FrameType | None], object]
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def note_signals(stop: threading.Event) -> Iterator[list[int]]:
    """Sets the event where a signal would raise KeyboardInterrupt; the list has the numbers of the signals.

    ``Thread.join`` of Python 3.11 considers a thread finished when an exception interrupts it.
    """
    found: list[int] = []
    before = _find_python_handlers() if threading.current_thread() is threading.main_thread() else {}

    def heard(number: int, frame: FrameType | None) -> None:
        try:
            before[number](number, frame)
        except KeyboardInterrupt:
            found.append(number)
            stop.set()

    for number in before:
        signal.signal(number, heard)
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def hold_signals() -> Iterator[None]:
    """Signals wait until the end of the block and raise KeyboardInterrupt there."""
    with note_signals(threading.Event()) as found:
        yield
    if found:
        raise KeyboardInterrupt


def close_at_exit(close: Callable[[], None]) -> None:
    """Registers what is done when the process ends, where ^C has nothing left to stop."""

    def close_undisturbed() -> None:
        with suppress(KeyboardInterrupt), hold_signals():
            close()

    atexit.register(close_undisturbed)


def leave_to_caller() -> None:
    """Ignores what a terminal sends to all its processes: the caller gets it too, and stops its workers."""
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _find_python_handlers() -> dict[int, Handler]:
    """The handlers written in Python; signals that are ignored or have the default action are left alone."""
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    handlers = {int(number): signal.getsignal(number) for number in numbers}
    return {number: handler for number, handler in handlers.items() if callable(handler)}
