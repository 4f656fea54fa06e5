"""A sample of small changes to a module, the same one each time; cosmic-ray makes the changes."""

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.ast.ast_query import ASTQuery
from cosmic_ray.mutating import mutate_code

SEED = 12
LINES_PER_MUTANT = 100
KINDS = ("AddNot", "Number", "ReplaceAnd", "ReplaceOr", "ReplaceBinary", "ReplaceComparison", "ReplaceFalse")
KINDS += ("ReplaceTrue", "ReplaceUnary", "ReplaceBreak", "ReplaceContinue", "ZeroIteration")
# What no writer would mistake for the other, or what is never true: the first test would fall over it.
UNLIKELY = ("Is", "IsNot", "BitAnd", "BitOr", "BitXor", "LShift", "RShift", "Invert", "UAdd", "Pow")
# Data of tests that stand beside their ops.
DATA = frozenset({"samples"})

Place = tuple[int, int]


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    module: Path
    line: int
    definition: str
    before: str
    after: str
    code: str

    def describe(self, root: Path) -> str:
        """Where and what, without line numbers, which would change with every edit."""
        return f"{self.module.relative_to(root)} {self.definition}: {self.before} -> {self.after}"


@cache
def operators() -> dict[str, Any]:
    """Changes that a writer could make by mistake."""
    names = [name.removeprefix("core/") for name in cosmic_ray.plugins.operator_names()]
    likely = [
        name
        for name in sorted(names)
        if name.startswith(KINDS) and not set(name.split("_")[1:]) & set(UNLIKELY)
    ]
    return {name: cosmic_ray.plugins.get_operator(f"core/{name}")() for name in likely}


def sample_mutants(module: Path, root: Path) -> list[Mutant]:
    """Some of the changes that a module can have, one for so many lines; at most one for each place."""
    code = module.read_text("utf-8")
    choice = random.Random(f"{SEED} {module.relative_to(root)}")
    by_place: dict[Place, list[tuple[str, int, str]]] = defaultdict(list)
    for name, occurrence, place, definition in _changes(code):
        by_place[place].append((name, occurrence, definition))
    places = sorted(by_place)
    count = min(len(places), ceil(len(code.splitlines()) / LINES_PER_MUTANT))
    picked = sorted(choice.sample(places, count))
    return [_apply(module, code, place, *choice.choice(by_place[place])) for place in picked]


def _changes(code: str) -> Iterator[tuple[str, int, Place, str]]:
    nodes, skipped = [*ast_nodes(get_ast(code))], _skipped_places(code)
    for name, operator in operators().items():
        places = [(node, start) for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, (node, start) in enumerate(places):
            if start not in skipped:
                yield name, occurrence, start, ASTQuery(node).get_definition_name() or "module"


def _skipped_places(code: str) -> set[Place]:
    """Places of annotations, decorators, messages and test data."""
    skipped: set[Place] = set()
    lines = code.splitlines()
    for node in ast.walk(ast.parse(code)):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        parts += getattr(node, "decorator_list", [])
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.FunctionDef) and node.name in DATA):
            parts.append(node)
        for part in (part for part in parts if part is not None):
            for line in range(part.lineno, part.end_lineno + 1):
                start = part.col_offset if line == part.lineno else 0
                stop = part.end_col_offset if line == part.end_lineno else len(lines[line - 1])
                skipped.update((line, column) for column in range(start, stop))
    return skipped


def _apply(module: Path, code: str, place: Place, name: str, occurrence: int, definition: str) -> Mutant:
    changed = mutate_code(code, operators()[name], occurrence)
    line = place[0] - 1
    before, after = code.splitlines()[line].strip(), changed.splitlines()[line].strip()
    return Mutant(module, place[0], definition, before, after, changed)
