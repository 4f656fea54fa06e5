import pytest

from edgewright.core.events import Work, announce_progress, listen_to_progress


class Notes:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, int, int | None]] = []

    def _note(self, what: str, work: Work) -> None:
        self.seen.append((what, work.title, work.done, work.total))

    def start_work(self, work: Work) -> None:
        self._note("started", work)

    def advance_work(self, work: Work) -> None:
        self._note("advanced", work)

    def end_work(self, work: Work) -> None:
        self._note("ended", work)


def test_a_listener_hears_the_start_every_step_and_the_end():
    notes = Notes()
    with listen_to_progress(notes), announce_progress("calibrating", total=5) as step:
        step()
        step(3)
    assert notes.seen == [
        ("started", "calibrating", 0, 5),
        ("advanced", "calibrating", 1, 5),
        ("advanced", "calibrating", 4, 5),
        ("ended", "calibrating", 4, 5),
    ]


def test_the_library_is_silent_by_default(capsys):
    with announce_progress("calibrating", total=2) as step:
        step()
    assert capsys.readouterr() == ("", "")


def test_the_end_is_heard_when_the_work_fails():
    notes = Notes()
    with pytest.raises(ZeroDivisionError), listen_to_progress(notes), announce_progress("reading") as step:
        step(1 // (step() or 0))
    assert notes.seen[-1] == ("ended", "reading", 1, None)


def test_nobody_hears_after_the_block():
    notes = Notes()
    with listen_to_progress(notes):
        pass
    with announce_progress("reading") as step:
        step()
    assert notes.seen == []


def test_the_innermost_listener_wins():
    outer, inner = Notes(), Notes()
    with listen_to_progress(outer), listen_to_progress(inner), announce_progress("reading"):
        pass
    assert (len(outer.seen), len(inner.seen)) == (0, 2)


def test_work_that_began_unheard_stays_unheard():
    notes = Notes()
    with announce_progress("reading") as step, listen_to_progress(notes):
        step()
    assert notes.seen == []


def test_work_knows_how_long_it_took():
    work = Work("reading")
    assert 0 <= work.seconds < 5
