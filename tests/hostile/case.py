"""One hostile file or command: what lies there, what is run, and how that must end."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.hostile.zygote import HANG, TRACEBACK

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
MOST_MEMORY = 2 << 30
# 3: bad input, 4: unsupported; what else is right, a case says itself.
REFUSED = (3, 4)

Content = bytes | str | Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """Files by their names in the folder `in`, and words that are run beside it; results go to `out`.

    A content that is a function is given its path and makes what it likes there.
    """

    name: str
    words: tuple[str, ...]
    files: Mapping[str, Content] = field(default_factory=dict)
    codes: tuple[int, ...] = REFUSED
    says: str = ""

    def lay_out(self, folder: Path) -> None:
        """Writes the files."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(content):
                content(path)
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    said: str
    seconds: float
    peak: int


class Runner:
    """A process that runs command lines in its forks."""

    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.hostile.zygote"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def run(self, words: tuple[str, ...], folder: Path, seconds: float = SECONDS) -> Outcome:
        """One command line, in a folder."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"words": words, "folder": str(folder), "seconds": seconds}) + "\n")
        stdin.flush()
        return Outcome(**json.loads(stdout.readline()))

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def check(case: Case, runner: Runner, folder: Path) -> Outcome:
    """Runs a case: one clean message, its exit code, its limits, and nothing written beside `out`."""
    case.lay_out(folder)
    before = _list_entries(folder)
    outcome = runner.run(case.words, folder)
    problem = _find_problem(case, outcome, _list_entries(folder), before)
    assert problem is None, f"{case.name}: {problem}\n{outcome.said[-3000:]}"
    return outcome


def _find_problem(case: Case, outcome: Outcome, after: dict[str, Any], before: dict[str, Any]) -> str | None:
    named = {HANG: f"it took more than {SECONDS} s", TRACEBACK: "a traceback"}
    ending = named.get(outcome.code, outcome.code)
    errors = outcome.said.count("error[")
    changed = [name for name in after if after[name] != before.get(name)]
    outside = [name for name in changed if name != "out" and not name.startswith("out/")]
    gone = before.keys() - after.keys()
    rules = {
        f"exit code {ending}, expected {case.codes}": outcome.code in case.codes,
        f"{outcome.peak >> 20} MiB were taken": outcome.peak <= MOST_MEMORY,
        "a traceback": "Traceback" not in outcome.said,
        f"{errors} errors are reported, expected one": not outcome.code or errors == 1,
        f"'{case.says}' is not said": case.says in outcome.said,
        f"outside of the output folder these changed: {outside or gone}": not (outside or gone),
        f"a failed run left {changed}": not (outcome.code and changed),
    }
    return next((problem for problem, holds in rules.items() if not holds), None)


def _list_entries(folder: Path) -> dict[str, Any]:
    """All there is in a folder, each with what would show a change."""
    entries = {}
    for path in sorted(folder.rglob("*")):
        if path.name == ".said":
            continue
        found = path.lstat()
        size = 0 if path.is_dir() else found.st_size
        entries[str(path.relative_to(folder))] = (
            found.st_mode,
            size,
            0 if path.is_dir() else found.st_mtime_ns,
        )
    return entries
