import logging

import pytest

from edgewright.core.errors import UsageError
from edgewright.core.log import LEVELS, VERBOSE, find_level, is_debugging, log_to_stderr, set_level

log = logging.getLogger("edgewright.some.module")


def lines_at(level, capsys):
    with log_to_stderr(level):
        for number in (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, VERBOSE):
            log.log(number, "message")
    return [line.split(":")[0] for line in capsys.readouterr().err.splitlines()]


@pytest.mark.parametrize(
    ("level", "count"), [("error", 1), ("warn", 2), ("warning", 2), ("info", 3), ("debug", 4), ("verbose", 5)]
)
def test_each_level_lets_itself_and_the_graver_ones_through(level, count, capsys):
    assert lines_at(level, capsys) == ["error", "warning", "info", "debug", "verbose"][:count]


def test_an_unknown_level_names_the_known_ones():
    with pytest.raises(UsageError) as caught:
        find_level("verbos")
    assert str(caught.value) == (
        "error[usage]: log level 'verbos' is unknown, "
        "expected one of: error, warn, warning, info, debug, verbose\n"
        "  do:    did you mean 'verbose'?"
    )


def test_names_of_a_model_are_made_printable(capsys):
    with log_to_stderr("info"):
        log.info("node '%s'", "a\x1b[2J\nb")
    assert capsys.readouterr().err == "info: node 'a\\x1b[2J\\nb'\n"


def test_tracebacks_keep_their_lines(capsys):
    with log_to_stderr("info"):
        try:
            {}["inner"]
        except KeyError:
            log.exception("it failed")
    err = capsys.readouterr().err.splitlines()
    assert err[:2] == ["error: it failed", "Traceback (most recent call last):"]


def test_logging_is_as_before_after_the_block():
    root = logging.getLogger("edgewright")
    before = (root.level, root.propagate, list(root.handlers))
    with log_to_stderr("verbose"):
        assert is_debugging()
    assert (root.level, root.propagate, list(root.handlers)) == before


def test_the_level_can_change_inside_the_block(capsys):
    with log_to_stderr("error"):
        assert not is_debugging()
        set_level("debug")
        assert is_debugging()
        log.debug("now")
    assert capsys.readouterr().err == "debug: now\n"


def test_every_level_has_a_number():
    assert sorted(set(LEVELS.values())) == [5, 10, 20, 30, 40]
