"""Fails when a function's name is not a verb phrase, or a variable is called by a word that says nothing."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["count_names", "find_vague_names", "main"]

ROOT = Path("src/edgewright")
VERBS = frozenset(Path(__file__).with_name("verbs.txt").read_text("utf-8").split())
# ruff: noqa: SIM905 - lists of words read best as words

# Questions, conversions and copies: is_float, has_bias, to_json, from_file, as_text, with_batch.
OPENINGS = frozenset("is has can may must needs to from as of with without".split())
# What a reader meets first keeps the rule; these folders have so many names to mend and may only get better.
CEILINGS = {
    "abi": 14,
    "artifacts": 60,
    "backends": 204,
    "config": 40,
    "core": 25,
    "frontends": 399,
    "ir": 99,
    "lower": 3,
    "ops": 212,
    "targets": 2,
}
STRICT_INSIDE = ("frontends/_common",)
# Decorators that leave a function a function; under any other one, it has the name of what it registers.
PLAIN_DECORATORS = frozenset(
    "staticmethod classmethod contextmanager abstractmethod cache lru_cache override wraps overload".split()
)
# Words that could stand for anything.
VAGUE = frozenset("found seen told done wanted wishes wish ends rung tmp stuff thing things".split())
# Names that users know (of models and of the course's classes), that a library calls, or that stand beside
# type, shape and rank of a value.
EXCEPTIONS = frozenset(
    "main error fits supports_device op_package inference postprocess_output encodings fixed_graph"
    " graph_for dtype".split()
)


def find_vague_names(path: Path) -> Iterator[str]:
    """Each name of a file that breaks a rule, as 'file:line: sentence'."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and _is_misnamed(node):
            yield f"{path}:{node.lineno}: function '{node.name}' does not begin with a verb"
        elif name := _vague_variable(node):
            yield f"{path}:{node.lineno}: '{name}' could be anything; say what it holds"


def _is_misnamed(node: ast.FunctionDef) -> bool:
    if node.name.startswith("__") or node.name in EXCEPTIONS or not _is_plain(node):
        return False
    first = node.name.strip("_").split("_")[0]
    if _is_accessor(node):
        return first.endswith("ed") and first not in VERBS
    return first not in VERBS | OPENINGS


def _is_accessor(node: ast.FunctionDef) -> bool:
    """Whether it is a method without arguments: what it gives may be named, as with dict.items."""
    arguments = node.args
    return [item.arg for item in (*arguments.args, *arguments.kwonlyargs)] in (["self"], ["cls"])


def _is_plain(node: ast.FunctionDef) -> bool:
    names = (ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list)
    return all(name.rpartition(".")[2] in PLAIN_DECORATORS for name in names)


def _vague_variable(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name.strip("_") in VAGUE:
            return name
    return ""


def count_names(root: Path) -> dict[str, list[str]]:
    """The problems by folder of the package."""
    problems: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root).as_posix()
        strict = next((name for name in STRICT_INSIDE if inside.startswith(f"{name}/")), None)
        problems.setdefault(strict or inside.partition("/")[0], []).extend(find_vague_names(path))
    return problems


def main(arguments: list[str]) -> int:
    """Print what breaks the rules; with --count, only how often each folder does."""
    problems = count_names(ROOT)
    if "--count" in arguments:
        print("\n".join(f"{folder}: {len(lines)}" for folder, lines in problems.items() if lines))
        return 0
    refused = [line for folder, lines in problems.items() for line in _refuse(folder, lines)]
    print("\n".join(refused) if refused else "names: functions are verbs, variables say what they hold")
    return 1 if refused else 0


def _refuse(folder: str, lines: list[str]) -> list[str]:
    """What makes the check fail: a name in a strict folder, or a count that is not the ceiling."""
    ceiling = CEILINGS.get(folder, 0)
    if len(lines) > ceiling:
        return [*lines, f"{folder}: {len(lines)} names break the rules, at most {ceiling} may"]
    if len(lines) < ceiling:
        return [f"{folder}: {len(lines)} names break the rules now; lower its ceiling in checks/names.py"]
    return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
