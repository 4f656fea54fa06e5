"""Runs vulture with a whitelist made from the source: fields, enum members, entry points, the promise."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from vulture import Vulture

__all__ = ["find_dead_code", "main", "whitelist"]

HAND_KEPT = "checks/vulture_whitelist.py"
FOLDERS = ("src", "tests", "checks", "benchmarks", "examples", "docs")


class _Finder(Vulture):
    """Vulture for which a name in ``__all__`` is not in use: someone must import it."""

    def visit_Assign(self, node: ast.Assign) -> None:  # noqa: N802 - vulture's name
        """Leaves out what vulture does with ``__all__``."""


def find_dead_code(root: Path) -> list[str]:
    """Vulture's findings below a project folder, one sentence each."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    settings = project.get("tool", {}).get("vulture", {})
    finder = _Finder(ignore_decorators=settings.get("ignore_decorators", []))
    with tempfile.TemporaryDirectory() as folder:
        generated = Path(folder, "whitelist.py")
        generated.write_text("".join(f"{name}\n" for name in whitelist(root)), "utf-8")
        paths = [*(p for name in (*FOLDERS, HAND_KEPT) if (p := root / name).exists()), generated]
        finder.scavenge(paths)
    if finder.exit_code:
        return ["vulture could not read every file: it says which above"]
    return [item.get_report() for item in finder.get_unused_code(settings.get("min_confidence", 0))]


def whitelist(root: Path) -> list[str]:
    """Names used by something vulture cannot see: getattr, QNN's tables, console scripts, users."""
    names = {*_entry_points(root / "pyproject.toml"), *_public_names(root / "src")}
    for path in sorted((root / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                names.update(_fields(node))
    return sorted(names)


def _entry_points(pyproject: Path) -> Iterator[str]:
    scripts = tomllib.loads(pyproject.read_text("utf-8")).get("project", {}).get("scripts", {})
    return (target.rpartition(":")[2] for target in scripts.values())


def _public_names(source: Path) -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).with_name("public_api.py")), str(source)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return (re.split(r"[(: ]", line, maxsplit=1)[0].rpartition(".")[2] for line in lines if line)


def _fields(node: ast.ClassDef) -> Iterator[str]:
    is_enum = any(ast.unparse(base).endswith(("Enum", "Flag")) for base in node.bases)
    for child in node.body:
        match child:
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) if is_enum:
                yield name


def main(arguments: list[str]) -> int:
    problems = find_dead_code(Path(arguments[0]) if arguments else Path())
    print("\n".join(problems) if problems else "dead code: none")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
