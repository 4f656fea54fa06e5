"""Runs ssh and adb themselves: within a time limit, with bounded output, and to their end."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from edgewright.core.errors import EnvironmentProblem, LimitExceeded, shown

# What is kept of the texts that a device says, and the most that it may send as files.
LONGEST_TEXT = 1 << 20
LARGEST_ANSWER = 64 << 30
_PAUSE = 0.02


@dataclass(frozen=True)
class Finished:
    """How a program ended: its exit code, and the end of what it said."""

    code: int
    output: str
    errors: str

    def last_words(self) -> str:
        """The last line that it said, errors first."""
        lines = (self.errors.strip() or self.output.strip()).splitlines()
        return lines[-1].strip() if lines else f"exit code {self.code}"


def find_program(name: str, do: str) -> str:
    """The path of a program of this machine."""
    path = shutil.which(name)
    if path is None:
        raise EnvironmentProblem(f"the program '{shown(name)}' was not found", do=do)
    return path


def run_program(
    command: Sequence[str],
    limit: float,
    what: str,
    *,
    source: Path | None = None,
    target: Path | None = None,
    step: Callable[[], None] = lambda: None,
) -> Finished:
    """Runs a program of this machine to its end, or until the limit.

    Args:
        command: its words; no shell reads them.
        limit: seconds.
        what: what it does, for the message.
        source: a file that it reads from its standard input, which otherwise stays open until it ends.
        target: a file for its standard output, which is otherwise kept as text.
        step: called while it runs.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        into = output if target is None else target.open("wb")
        given = subprocess.PIPE if source is None else source.open("rb")
        try:
            process = subprocess.Popen(list(command), stdin=given, stdout=into, stderr=errors)
            try:
                code = _wait(process, limit, what, into, step)
            finally:
                _end(process)
        finally:
            for file in (into, given):
                if file is not output and not isinstance(file, int):
                    file.close()
        return Finished(code, _read_end(output), _read_end(errors))


def _wait(
    process: subprocess.Popen[bytes], limit: float, what: str, output: IO[bytes], step: Callable[[], None]
) -> int:
    end = time.monotonic() + limit
    while True:
        try:
            return process.wait(_PAUSE)
        except subprocess.TimeoutExpired:
            step()
        if time.monotonic() > end:
            raise EnvironmentProblem(
                f"{what} did not end within {limit:g} s", do="allow more: add limit=SECONDS to the address"
            )
        if os.fstat(output.fileno()).st_size > LARGEST_ANSWER:
            raise LimitExceeded(f"{what} sent more than {LARGEST_ANSWER >> 30} GB")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program where it still runs; its connection closes, and the device ends what it began."""
    if process.poll() is None:
        process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _read_end(file: IO[bytes]) -> str:
    size = file.seek(0, 2)
    file.seek(max(size - LONGEST_TEXT, 0))
    return file.read().decode("utf-8", "replace")
