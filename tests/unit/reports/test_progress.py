import io
import threading
import time

import pytest
from rich.console import Console

from edgewright.core.events import Work, announce_progress, listen_to_progress
from edgewright.reports.progress import Bars, NotebookLine, PlainLines, draw_in_notebook, draw_progress


def test_short_work_prints_nothing_without_a_terminal(capsys):
    with draw_progress(), announce_progress("reading", total=2) as step:
        step()
        step()
    assert capsys.readouterr() == ("", "")


def test_long_work_prints_a_line_now_and_then_and_one_at_the_end(capsys):
    with listen_to_progress(PlainLines(short=0, every=0)), announce_progress("calibrating", total=2) as step:
        step()
        step()
    assert capsys.readouterr().err.splitlines() == [
        "calibrating: 1 of 2, 0 s",
        "calibrating: 2 of 2, 0 s",
        "calibrating: done, 0 s",
    ]


def test_a_line_tells_the_time_that_is_left(capsys):
    work = Work("calibrating", total=4, done=1, started=time.monotonic() - 10)
    PlainLines(short=0, every=0).advance_work(work)
    assert capsys.readouterr().err == "calibrating: 1 of 4, 10 s, 30 s left\n"


def test_a_line_names_what_the_work_is_part_of_and_the_time_left_of_all(capsys):
    with (
        listen_to_progress(PlainLines(short=0, every=0)),
        announce_progress("build", expected=100),
        announce_progress("quantize w8a8"),
        announce_progress("calibrating", total=2) as step,
    ):
        step()
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["build > quantize w8a8 > calibrating: 1 of 2, 0 s, 100 s left", "build: done, 0 s"]


def test_programs_that_are_no_notebooks_get_no_bars(capsys):
    with draw_in_notebook(), announce_progress("reading", total=1) as step:
        step()
    assert capsys.readouterr() == ("", "")


def test_lines_keep_their_distance(capsys):
    with (
        listen_to_progress(PlainLines(short=0, every=1000)),
        announce_progress("calibrating", total=9) as step,
    ):
        for _ in range(9):
            step()
    assert capsys.readouterr().err.splitlines() == ["calibrating: 1 of 9, 0 s", "calibrating: done, 0 s"]


def test_work_without_a_total_counts(capsys):
    with listen_to_progress(PlainLines(short=0, every=0)), announce_progress("reading") as step:
        step(7)
    assert capsys.readouterr().err.splitlines()[0] == "reading: 7, 0 s"


def test_work_that_fails_is_not_called_done(capsys):
    with (
        pytest.raises(ZeroDivisionError),
        listen_to_progress(PlainLines(short=0, every=1000)),
        announce_progress("x", total=5),
    ):
        1 // 0  # noqa: B018 - it is here to fail
    assert capsys.readouterr().err == "x: 0 of 5, 0 s\n"


def test_work_without_a_total_that_is_interrupted_is_not_called_done(capsys):
    with (
        pytest.raises(KeyboardInterrupt),
        listen_to_progress(PlainLines(short=0, every=0)),
        announce_progress("build"),
    ):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "build: stopped, 0 s\n"


def test_a_title_from_a_model_cannot_steer_the_terminal(capsys):
    with listen_to_progress(PlainLines(short=0)), announce_progress("a\x1b[2J"):
        pass
    assert capsys.readouterr().err == "a\\x1b[2J: done, 0 s\n"


def screen():
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def test_long_work_gets_a_bar_even_when_it_makes_no_step():
    console = screen()
    with (
        listen_to_progress(Bars(short=0.01, console=console)),
        announce_progress("reading [x]", total=10) as step,
    ):
        deadline = time.monotonic() + 30
        while "reading [x]" not in console.file.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        step(3)
    assert "reading [x]" in console.file.getvalue()


def test_short_work_gets_no_bar():
    console, others = screen(), threading.enumerate()
    with listen_to_progress(Bars(short=60, console=console)), announce_progress("reading", total=2) as step:
        step()
    assert console.file.getvalue() == ""
    waiting = [thread for thread in threading.enumerate() if thread not in others]
    for thread in waiting:
        thread.join(timeout=10)
    assert not any(thread.is_alive() for thread in waiting)


def test_bars_inside_bars_end_in_any_order():
    bars = Bars(short=0.0, console=screen())
    with listen_to_progress(bars), announce_progress("outer", total=2) as outer:
        with announce_progress("inner", total=2) as inner:
            time.sleep(0.2)
            inner()
        outer()
        with announce_progress("next"):
            pass
    assert (bars._display, bars._tasks, bars._timers) == (None, {}, {})


def test_a_notebook_has_one_line_that_changes_in_place_and_goes():
    texts = []
    with (
        listen_to_progress(NotebookLine(texts.append, short=0, every=0)),
        announce_progress("build", expected=100),
        announce_progress("evaluating <x>", total=4) as step,
    ):
        step(2)
    assert texts[0] == "<span>build, 0 s, about 100 s left</span>"
    bar = '<progress value="2" max="4"></progress>'
    assert texts[2] == f"<span>build &gt; evaluating &lt;x&gt; {bar} 2 of 4, 0 s, about 100 s left</span>"
    assert texts[-1] == ""


def test_a_notebook_line_changes_rarely_and_short_work_has_none():
    texts = []
    with (
        listen_to_progress(NotebookLine(texts.append, short=0, every=60)),
        announce_progress("x", total=900) as step,
    ):
        for _ in range(900):
            step()
    assert len(texts) == 2
    with listen_to_progress(NotebookLine(texts.append)), announce_progress("x", total=9) as step:
        step()
    assert len(texts) == 2
