"""Notes files over 400 lines and functions over 40, and fails at 800 and 80."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Size", "main", "measure"]

FILE_NOTE, FILE_LIMIT = 400, 800
FUNCTION_NOTE, FUNCTION_LIMIT = 40, 80
FOLDERS = ("src", "checks", "tests", "benchmarks", "examples", "docs")
EXEMPT = frozenset({"_generated", "__pycache__"})


@dataclass(frozen=True)
class Size:
    where: str
    lines: int
    note: int
    limit: int

    @property
    def fails(self) -> bool:
        return self.lines >= self.limit

    def __str__(self) -> str:
        verdict = f"the limit is {self.limit}, split it" if self.fails else f"normal is below {self.note}"
        return f"{self.where}: {self.lines} lines, {verdict}"


def measure(folder: Path) -> list[Size]:
    """Every file and function that is long enough to be worth a word, longest first."""
    sizes = [
        size
        for path in sorted(folder.rglob("*.py"))
        if not EXEMPT & set(path.parts)
        for size in _sizes(path)
        if size.lines >= size.note
    ]
    return sorted(sizes, key=lambda size: -size.lines / size.limit)


def _sizes(path: Path) -> Iterator[Size]:
    text = path.read_text("utf-8")
    yield Size(str(path), len(text.splitlines()), FILE_NOTE, FILE_LIMIT)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Size(f"{path}:{node.lineno}: function '{node.name}'", length, FUNCTION_NOTE, FUNCTION_LIMIT)


def main(arguments: list[str]) -> int:
    sizes = [size for folder in arguments or FOLDERS for size in measure(Path(folder))]
    for size in sizes:
        print(f"{'error' if size.fails else 'note'}: {size}")
    failed = sum(size.fails for size in sizes)
    print(f"sizes: {failed} over the limit, {len(sizes) - failed} noted")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
