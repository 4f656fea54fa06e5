"""Fails when more than 2 % of the lines stand in six-line runs that occur twice."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Copies", "find_copies", "main"]

RUN = 6
BUDGET = 0.02
EXEMPT = frozenset({"_generated", "__pycache__"})


@dataclass(frozen=True)
class Line:
    path: Path
    number: int
    text: str


@dataclass(frozen=True)
class Copies:
    total: int
    lines: frozenset[tuple[Path, int]]
    runs: tuple[tuple[Line, Line], ...]

    @property
    def share(self) -> float:
        return len(self.lines) / self.total if self.total else 0.0


def find_copies(folder: Path) -> Copies:
    """The lines of a folder that stand in a run found elsewhere: names are compared as they are."""
    files = [_code_lines(path) for path in sorted(folder.rglob("*.py")) if not EXEMPT & set(path.parts)]
    places: dict[tuple[str, ...], list[list[Line]]] = defaultdict(list)
    for lines in files:
        for start in range(len(lines) - RUN + 1):
            window = lines[start : start + RUN]
            places[tuple(line.text for line in window)].append(window)
    repeated = [windows for windows in places.values() if _apart(windows)]
    covered = {(line.path, line.number) for windows in repeated for window in windows for line in window}
    return Copies(sum(map(len, files)), frozenset(covered), _first_of_each(repeated))


def _apart(windows: list[list[Line]]) -> bool:
    """Whether two of the windows share no line: a run of equal lines is no copy of itself."""
    first, last = windows[0], windows[-1]
    return first[0].path != last[0].path or last[0].number > first[-1].number


def _first_of_each(repeated: Iterable[list[list[Line]]]) -> tuple[tuple[Line, Line], ...]:
    """One pair for each run, however many windows long it is."""
    pairs = {(windows[0][0], windows[-1][0]): (windows[0][1], windows[-1][1]) for windows in repeated}
    continued = set(pairs.values())
    return tuple(pair for pair in pairs if pair not in continued)


def _code_lines(path: Path) -> list[Line]:
    """Lines that carry code; equal import blocks are the price of explicit imports, not copies."""
    text = path.read_text("utf-8")
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    numbered = enumerate(text.splitlines(), start=1)
    return [Line(path, n, line.strip()) for n, line in numbered if line.strip() and n not in skipped]


def main(arguments: list[str]) -> int:
    copies = find_copies(Path(arguments[0]) if arguments else Path("src"))
    for one, other in copies.runs:
        print(f"{one.path}:{one.number}: the same {RUN} or more lines as {other.path}:{other.number}")
    print(f"duplicates: {copies.share:.1%} of {copies.total} lines, the budget is {BUDGET:.0%}")
    return 1 if copies.share > BUDGET else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
