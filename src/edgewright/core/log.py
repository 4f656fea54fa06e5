"""The log levels of the tools, and the handler that prints log lines for them."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from edgewright.core.errors import UsageError, shown
from edgewright.core.words import did_you_mean

VERBOSE = 5
# The guide writes "warn" for some tools and "warning" for others: both are the same level.
LEVELS: dict[str, int] = {
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "verbose": VERBOSE,
}
LONGEST_LINE = 2000
_ROOT = logging.getLogger("edgewright")


def find_level(name: str) -> int:
    """The number that Python's logging uses for a level of the tools."""
    if name not in LEVELS:
        expected = ", ".join(LEVELS)
        raise UsageError(
            f"log level '{shown(name)}' is unknown, expected one of: {expected}",
            do=did_you_mean(name, LEVELS),
        )
    return LEVELS[name]


def set_level(name: str) -> None:
    """Let lines of this level and above through, from every part of Edgewright."""
    _ROOT.setLevel(find_level(name))


def is_debugging() -> bool:
    """Whether debugging details are shown, such as tracebacks of expected failures."""
    return _ROOT.isEnabledFor(logging.DEBUG)


@contextmanager
def log_to_stderr(level: str = "warning") -> Iterator[None]:
    """Print log lines to stderr inside the block; afterwards logging is as it was before."""
    handler = _ToStderr()
    before = (_ROOT.level, _ROOT.propagate)
    _ROOT.addHandler(handler)
    _ROOT.propagate = False
    try:
        set_level(level)
        yield
    finally:
        _ROOT.removeHandler(handler)
        _ROOT.setLevel(before[0])
        _ROOT.propagate = before[1]


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        # sys.stderr is looked up for each line: a progress bar or a test may have replaced it.
        try:
            print(self._format_line(record), file=sys.stderr)  # noqa: T201 - the one place where log lines come out
        except BrokenPipeError:
            raise
        except Exception:  # logging must not break the work it is about
            self.handleError(record)

    def _format_line(self, record: logging.LogRecord) -> str:
        # Names from a model reach log lines: they are made printable here, once for all callers.
        text = f"{record.levelname.lower()}: {shown(record.getMessage(), LONGEST_LINE)}"
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        return text


logging.addLevelName(VERBOSE, "VERBOSE")
