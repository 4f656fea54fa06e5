"""Progress as tools show it: a bar on a terminal, occasional lines elsewhere, nothing for short work."""

import html
import importlib
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from edgewright.core.errors import shown
from edgewright.core.events import Listener, Work, has_listener, listen_to_progress

SHORT = 1.0  # seconds: work that ends sooner is not worth drawing
EVERY = 60.0  # seconds between two plain lines: they end up in logs


@contextmanager
def draw_progress() -> Iterator[None]:
    """Draw the progress of what happens inside the block on stderr."""
    listener: Listener = Bars() if sys.stderr.isatty() else PlainLines()
    with listen_to_progress(listener):
        yield


@contextmanager
def draw_in_notebook() -> Iterator[None]:
    """The same in a notebook, where nobody else draws; in other programs nothing is drawn."""
    if has_listener() or "ipykernel" not in sys.modules:
        yield
        return
    with listen_to_progress(NotebookLine(_open_display())):
        yield


class PlainLines:
    """A line after the first second, one a minute, and one at the end of what was not part of other work."""

    def __init__(self, short: float = SHORT, every: float = EVERY) -> None:
        self._short = short
        self._every = every
        self._last = -math.inf
        # What is under way, the outermost first.
        self._works: list[Work] = []

    def start_work(self, work: Work) -> None:
        """Nothing yet: the work may be short."""
        self._works.append(work)

    def advance_work(self, work: Work) -> None:
        """A line, if the last one is long enough ago."""
        now = time.monotonic()
        if work.seconds >= self._short and now - self._last >= self._every:
            self._last = now
            self._say(work, _share(work), self._describe_rest(work))

    def end_work(self, work: Work) -> None:
        """A last line, if the work was long and no part of other work."""
        self._works = [each for each in self._works if each is not work]
        if work.seconds >= self._short and not self._works:
            state = "stopped" if work.is_stopped else "done"
            self._say(work, _share(work) if work.total and work.done < work.total else state)

    def _say(self, work: Work, state: str, left: str = "") -> None:
        titles = [each.title for each in self._works if each is not work] + [work.title]
        print(
            f"{' > '.join(map(shown, titles))}: {state}, {work.seconds:.0f} s{left}",
            file=sys.stderr,
            flush=True,
        )

    def _describe_rest(self, work: Work) -> str:
        """The time that is left of the outermost work that tells, or of this one."""
        rests = [each.seconds_left for each in (*self._works, work)]
        seconds = next((rest for rest in rests if rest is not None), 0.0)
        return f", {seconds:.0f} s left" if seconds >= 1 else ""


class NotebookLine:
    """One line below a cell that changes in place, and is empty when all work has ended.

    Args:
        show: puts HTML in the place of what it put there before.
        short: seconds of work that is not worth a line.
        every: seconds between two changes of it.
    """

    def __init__(self, show: Callable[[str], None], short: float = SHORT, every: float = 0.5) -> None:
        self._show, self._short, self._every = show, short, every
        self._last = -math.inf
        self._is_shown = False
        # What is under way, the outermost first.
        self._works: list[Work] = []

    def start_work(self, work: Work) -> None:
        """The line says what begins, once the outermost work has proved long."""
        self._works.append(work)
        self._change()

    def advance_work(self, work: Work) -> None:
        """The line says how far it is."""
        del work
        self._change()

    def end_work(self, work: Work) -> None:
        """Nothing is left of it in the end."""
        self._works = [each for each in self._works if each is not work]
        if self._works:
            self._change()
        elif self._is_shown:
            self._show("")
            self._is_shown = False

    def _change(self) -> None:
        now = time.monotonic()
        if self._works[0].seconds < self._short or now - self._last < self._every:
            return
        self._last, self._is_shown = now, True
        self._show(self._draw())

    def _draw(self) -> str:
        """The titles from the outermost on, a bar of the innermost that counts, and the time."""
        first = self._works[0]
        counted = next((work for work in reversed(self._works) if work.total), None)
        bar = ""
        if counted is not None:
            bar = f' <progress value="{counted.done}" max="{counted.total}"></progress> {_share(counted)}'
        titles = " &gt; ".join(html.escape(shown(work.title)) for work in self._works)
        rests = (work.seconds_left for work in self._works)
        rest = next((seconds for seconds in rests if seconds is not None), 0.0)
        left = f", about {rest:.0f} s left" if rest >= 1 else ""
        return f"<span>{titles}{bar}, {first.seconds:.0f} s{left}</span>"


def _open_display() -> Callable[[str], None]:
    """A place below the cell that runs; it appears with the first text."""
    display: Any = importlib.import_module("IPython.display")
    place: Any = None

    def show(text: str) -> None:
        nonlocal place
        if place is None:
            place = display.display(display.HTML(text), display_id=True)
        else:
            place.update(display.HTML(text))

    return show


class Bars:
    """One bar for each work that takes longer than a second, removed when it ends."""

    def __init__(self, short: float = SHORT, console: Any = None) -> None:
        self._short = short
        self._console = console
        self._display: Any = None
        self._tasks: dict[int, Any] = {}
        self._timers: dict[int, threading.Timer] = {}
        # The timer's thread draws the bar even if the work makes no step for a long time.
        self._lock = threading.RLock()

    def start_work(self, work: Work) -> None:
        """Start waiting: the bar appears once the work proves long."""
        timer = threading.Timer(self._short, self._draw, [work])
        timer.daemon = True
        with self._lock:
            self._timers[id(work)] = timer
        timer.start()

    def advance_work(self, work: Work) -> None:
        """Move the bar, if there is one."""
        task = self._tasks.get(id(work))
        if task is not None:
            with self._lock:
                self._display.update(task, completed=work.done)

    def end_work(self, work: Work) -> None:
        """Remove the bar, and the display with the last one."""
        with self._lock:
            self._timers.pop(id(work)).cancel()
            task = self._tasks.pop(id(work), None)
            if task is not None:
                self._display.remove_task(task)
            if self._display is not None and not self._tasks:
                self._display.stop()
                self._display = None

    def _draw(self, work: Work) -> None:
        display = _make_bars(self._console)  # a heavy import: outside the lock, so that steps continue
        with self._lock:
            if id(work) not in self._timers:
                return  # it ended meanwhile
            if self._display is None:
                self._display = display
                self._display.start()
            self._tasks[id(work)] = self._display.add_task(
                shown(work.title), total=work.total, completed=work.done, work=work
            )


def _make_bars(console: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed
    from rich.text import Text

    class Left(ProgressColumn):
        """The time that is left, where that is known."""

        def render(self, task: Task) -> Text:
            seconds = task.fields["work"].seconds_left
            return Text("" if seconds is None else f"{seconds:.0f} s left", style="progress.remaining")

    # markup off: a title may hold brackets from a name in the model.
    columns = (
        TextColumn("{task.description}", markup=False),
        *(BarColumn(), MofNCompleteColumn(), Elapsed(), Left()),
    )
    return Progress(*columns, console=console or Console(stderr=True), transient=True)


def _share(work: Work) -> str:
    return f"{work.done} of {work.total}" if work.total is not None else str(work.done)
