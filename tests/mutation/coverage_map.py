"""Which tests run which line, by one run of all of them under coverage."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from coverage import CoverageData

# A line that more tests run is tried with so many of them, spread evenly.
MOST_TESTS = 100
MARKS = "not (slow or torch or browser or exhaustive)"

Lines = Mapping[int, Sequence[str]]


def record(data: Path, source: Path, tests: Sequence[str], jobs: int) -> bool:
    """Runs tests under coverage; whether they pass."""
    words = ("-q", "-n", str(jobs), "-m", MARKS, f"--cov={source}", "--cov-context=test", "--cov-report=")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words, *tests],
        env={**os.environ, "COVERAGE_FILE": str(data), "PYTHONPATH": str(source.parent)},
        check=False,
    )
    return done.returncode == 0


class CoverageMap:
    """The tests of each line of each module."""

    def __init__(self, data: Path) -> None:
        self._data = CoverageData(str(data))
        self._data.read()

    def tests_of(self, module: Path, line: int, folders: Sequence[str]) -> list[str]:
        """Tests in some folders that run a line; for a line that runs at import, the first folder."""
        lines: Lines = self._data.contexts_by_lineno(str(module))
        return _spread(_names(lines.get(line, ()), folders)) or [folders[0]]


def _names(contexts: Sequence[str], folders: Sequence[str]) -> list[str]:
    names = {context.rpartition("|")[0] for context in contexts}
    return sorted(name for name in names if name.startswith(tuple(folders)))


def _spread(names: list[str]) -> list[str]:
    return names[:: len(names) // MOST_TESTS + 1]
