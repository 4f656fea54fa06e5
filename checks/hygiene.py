"""Fails when a text file of the repository names a place that only one machine has."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["FORBIDDEN", "find_words", "main", "text_files"]

# The patterns are written so that they do not match themselves.
FORBIDDEN: dict[str, str] = {
    r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+)/": "an absolute path of one machine",
    r"\.\./share[d]\b": "a folder beside the clone",
    r"\bshare[d]/(?:facts|design|spec|models|checks|hooks)\b": "a folder beside the clone",
    r"\bpypi\.or[g]\b|\bfiles\.pythonhoste[d]\b|\btest\.pypi\b": "a package registry host",
}
SKIPPED_FOLDERS = frozenset({".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"})


def find_words(path: Path) -> list[str]:
    """Each forbidden word of a file as 'file:line: sentence'."""
    raw = path.read_bytes()
    if b"\0" in raw[:8192]:
        return []
    return [
        f"{path}:{number}: '{match.group()}' is {what}"
        for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), start=1)
        for pattern, what in FORBIDDEN.items()
        if (match := re.search(pattern, line))
    ]


def text_files(root: Path) -> Iterator[Path]:
    """What git tracks or would track; every file where there is no git, as in an unpacked archive."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (root / ".git").exists():
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        paths = [root / name for name in listed if name]
    else:
        paths = [p for p in root.rglob("*") if not SKIPPED_FOLDERS & set(p.relative_to(root).parts)]
    return (path for path in sorted(paths) if path.is_file() and not path.is_symlink())


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path()
    problems = [problem for path in text_files(root) for problem in find_words(path)]
    print("\n".join(problems) if problems else "hygiene: no machine's own places are named")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
