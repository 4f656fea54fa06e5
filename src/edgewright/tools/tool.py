"""What all command lines share: options, help, errors as text, exit codes, signals."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType

from edgewright.config.group import OptionGroup
from edgewright.config.rules import Rule
from edgewright.config.spelling import spell_options
from edgewright.config.umbrella import Report
from edgewright.core.errors import AccuracyGate, BadInput, EdgewrightError, EnvironmentProblem, shown
from edgewright.core.log import is_debugging, log_to_stderr, set_level
from edgewright.core.memory_limit import enable_memory_limit
from edgewright.core.version import VERSION
from edgewright.reports.progress import draw_progress
from edgewright.tools.command_line import read_words, write_help
from edgewright.tools.name_option import name_option

BROKEN_PIPE = 128 + 13
# What printing to a full disk ends in.
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
# Signals that stop a process; with the default action it would stop without cleaning up.
_STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@dataclass(frozen=True)
class Tool:
    """A command line: its options and the function that does the work.

    `run` gets the groups in their order and returns an exit code, or None for 0.
    """

    name: str
    summary: str
    groups: tuple[type[OptionGroup], ...]
    run: Callable[..., int | None]
    examples: tuple[tuple[str, str], ...] = ()
    rules: tuple[Rule, ...] = ()
    # Brings other spellings of the command line into the one that the options have.
    adapt_words: Callable[[Sequence[str]], list[str]] = list

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run the command line and return the exit code."""
        words = self.adapt_words(sys.argv[1:] if argv is None else argv)
        is_json = "--json" in words and Report in self.groups
        return run_guarded(lambda: self._answer(words), is_json=is_json)

    def help(self) -> str:
        """The answer to --help."""
        return write_help(self.name, self.summary, self.groups, self.examples)

    def spellings(self) -> dict[str, str]:
        """Its flags by the request fields that they fill."""
        return {field: flag for group in self.groups for field, flag in group.spellings().items()}

    def _answer(self, words: list[str]) -> int:
        if "-h" in words or "--help" in words:
            print(self.help())
            return 0
        if "--version" in words:
            print(f"{self.name} (edgewright) {VERSION}")
            return 0
        with spell_options(self.spellings()):
            return self._work(read_words(words, self.groups, self.rules))

    def _work(self, groups: tuple[OptionGroup, ...]) -> int:
        from logging import getLogger

        levels = [group.loudness for group in groups if group.loudness is not None]
        for level in levels:
            set_level(level)
        for text in self._list_warnings(groups):
            getLogger(__name__).warning("%s", text)
        try:
            # Whoever asks for errors alone does not want to see bars either.
            with nullcontext() if "error" in levels else draw_progress():
                return self.run(*groups) or 0
        except EdgewrightError as error:
            raise name_option(error, groups) from error.__cause__

    def _list_warnings(self, groups: tuple[OptionGroup, ...]) -> list[str]:
        given = {name: value for group in groups for name, value in group.given().items()}
        across = [text for rule in self.rules if (text := rule.warning(given)) is not None]
        return across + [text for group in groups for text in group.warnings()]


def run_guarded(answer: Callable[[], int], *, is_json: bool = False) -> int:
    """Run a tool: expected failures become text (and JSON on stdout) and an exit code, not a traceback."""
    enable_memory_limit()
    _open_closed_streams()
    with _stop_on_signals() as signals, log_to_stderr():
        try:
            code = _limit_memory(answer)
            sys.stdout.flush()
        except EdgewrightError as error:
            # If only a limit was missed, the record of the work is on stdout already.
            if is_json and not isinstance(error, AccuracyGate):
                print(_as_json(error))
            return _tell(error)
        except KeyboardInterrupt:
            return _report_stop(signals)
        except BrokenPipeError:
            _forget_stdout()
            return BROKEN_PIPE
        except Exception as problem:
            # Native code that is interrupted, for example while it is imported, raises errors of its own.
            if signals:
                return _report_stop(signals)
            if not isinstance(problem, OSError) or not (problem.filename or problem.errno in _FULL):
                raise
            if not problem.filename:
                _forget_stdout()
            code = _tell(_explain_system_error(problem))
        return code


@contextmanager
def _stop_on_signals() -> Iterator[list[int]]:
    """The same exit and clean-up for all of them; yields the numbers of those received."""
    signals: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    # Python allows handlers in the main thread only; a tool called from another thread does without.
    watched = _STOPPING if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, stop) for number in watched if _is_default(number)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_default(number: int) -> bool:
    # A signal that is ignored (nohup) stays ignored.
    return signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}


def _report_stop(signals: list[int]) -> int:
    print("stopped", file=sys.stderr)
    return 128 + (signals[0] if signals else signal.SIGINT)


def _explain_system_error(problem: OSError) -> EdgewrightError:
    """What the system says about a file that was named: too long a name, a loop of links, a lost disk."""
    text = problem.strerror or type(problem).__name__
    if not problem.filename:
        return EnvironmentProblem(
            f"what is printed cannot be written: {text[:1].lower()}{text[1:]}",
            do="write it to another place",
        )
    kind = BadInput if problem.errno in {errno.ENAMETOOLONG, errno.ELOOP} else EnvironmentProblem
    return kind(
        f"cannot use '{shown(problem.filename)}': {text[:1].lower()}{text[1:]}", do="name another file"
    )


def _tell(error: EdgewrightError) -> int:
    if is_debugging():
        import traceback

        traceback.print_exception(error)
    # Results printed so far come before the message about what went wrong.
    sys.stdout.flush()
    print(error, file=sys.stderr)
    return error.exit_code


def _as_json(error: EdgewrightError) -> str:
    import json

    single = getattr(error, "errors", (error,))
    errors = [
        {"code": e.code, "what": e.what, "where": str(e.where) if e.where else "", "do": e.do} for e in single
    ]
    return json.dumps({"exit_code": error.exit_code, "errors": errors}, indent=2)


def _limit_memory(answer: Callable[[], int]) -> int:
    try:
        return answer()
    except MemoryError as error:
        raise EnvironmentProblem(
            "there is not enough memory", do="use a smaller batch or a machine with more memory"
        ) from error


def _open_closed_streams() -> None:
    """A process may be started without output (`>&-`); what it says goes nowhere then."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - until the end


def _forget_stdout() -> None:
    # The reader is gone, or the disk is full; flushing what is left at exit would fail again.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
