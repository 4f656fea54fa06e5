"""The source code in a TorchScript archive, parsed as text: classes and functions by their full names."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.frontends.pytorch.archive import Archive

# Brackets and blocks: what torch writes is far flatter, and a parser of what is deeper needs much stack.
DEEPEST_NESTING = 200
_TEXT = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_TEXTS = re.compile(_TEXT)
_BRACKETS = re.compile(rf"[(\[{{]|[)\]}}]|{_TEXT}|^ +", re.MULTILINE)
# A chain of operators or attributes is nested as deeply as it is long.
_CHAINS = re.compile(r"(?:[-+~]\s*){50}|(?:\.\s*\w+\s*){50}|(?:\bnot\s+){50}")


@dataclass(frozen=True)
class Argument:
    """An argument of a function: its type as written, and the expression of its default."""

    name: str
    annotation: ast.expr | None
    default: ast.expr | None


@dataclass(frozen=True, eq=False)
class Function:
    """A function or a method."""

    name: str
    arguments: Sequence[Argument]
    body: Sequence[ast.stmt]


@dataclass(eq=False)
class Class:
    """A class: a module, a plain object, a tuple with names or an enumeration, as ``base`` tells."""

    name: str
    base: str
    methods: dict[str, Function] = field(default_factory=dict)
    # Names with the expressions of their values.
    constants: dict[str, ast.expr] = field(default_factory=dict)
    fields: list[str] = field(default_factory=list)


Definition = Function | Class


class Code:
    """All source files of an archive; each is parsed when something of it is asked for."""

    def __init__(self, archive: Archive) -> None:
        self._file = archive.name
        self._texts = archive.read_code()
        self._parsed: dict[str, dict[str, Definition]] = {}

    def has_text(self, text: str) -> bool:
        """Whether any file holds the text."""
        return any(text in code for code in self._texts.values())

    def list_trees(self) -> list[ast.AST]:
        """The bodies of all functions."""
        trees: list[ast.AST] = []
        for name in self._texts:
            for item in self._parse(name).values():
                functions = item.methods.values() if isinstance(item, Class) else [item]
                trees += [statement for function in functions for statement in function.body]
        return trees

    def find(self, parts: Sequence[str]) -> tuple[Definition, Sequence[str]] | None:
        """What a dotted name begins with, and the parts behind it."""
        for length in range(len(parts) - 1, 0, -1):
            file = f"code/{'/'.join(parts[:length])}.py"
            if file in self._texts and parts[length] in self._parse(file):
                return self._parse(file)[parts[length]], parts[length + 1 :]
        return None

    def find_class(self, name: str) -> Class | None:
        """A class by its full name; None where the archive has no code for it."""
        place = self.find(name.split("."))
        return place[0] if place is not None and not place[1] and isinstance(place[0], Class) else None

    def _parse(self, name: str) -> dict[str, Definition]:
        if name not in self._parsed:
            where = Where(file=self._file, detail=name)
            self._parsed[name] = _read_definitions(self._texts[name], name, where)
        return self._parsed[name]


def _read_definitions(text: str, name: str, where: Where) -> dict[str, Definition]:
    _check_nesting(text, where)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as problem:
        raise BadInput(
            f"the program's code cannot be parsed: {type(problem).__name__} {shown(problem, 80)}",
            where,
            do="save the model again with torch.jit.save",
        ) from None
    prefix = name.removeprefix("code/").removesuffix(".py").replace("/", ".")
    definitions: dict[str, Definition] = {}
    for item in tree.body:
        if isinstance(item, ast.ClassDef):
            definitions[item.name] = _read_class(item, f"{prefix}.{item.name}")
        elif isinstance(item, ast.FunctionDef):
            definitions[item.name] = _read_function(item, f"{prefix}.{item.name}")
        elif not _is_header(item):
            raise BadInput(
                f"line {item.lineno} of the program's code is no class and no function",
                where,
                do="check where the file comes from",
            )
    return definitions


def _is_header(item: ast.stmt) -> bool:
    """What old files begin with: imports of each other, and the version of the ops."""
    if isinstance(item, ast.Assign):
        return isinstance(item.targets[0], ast.Name) and item.targets[0].id == "op_version_set"
    return isinstance(item, ast.Import)


def _read_class(item: ast.ClassDef, name: str) -> Class:
    bases = [base.id for base in item.bases if isinstance(base, ast.Name)]
    result = Class(name, bases[0] if bases else "")
    for line in item.body:
        if isinstance(line, ast.FunctionDef):
            result.methods[line.name] = _read_function(line, f"{name}.{line.name}")
        elif isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            result.fields.append(line.target.id)
            if line.value is not None:
                result.constants[line.target.id] = line.value
        elif isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            result.constants[line.targets[0].id] = line.value
    return result


def _read_function(item: ast.FunctionDef, name: str) -> Function:
    plain = item.args.args
    defaults: list[Any] = [None] * (len(plain) - len(item.args.defaults)) + list(item.args.defaults)
    named = zip(item.args.kwonlyargs, item.args.kw_defaults, strict=True)
    pairs = [*zip(plain, defaults, strict=True), *named]
    arguments = [Argument(arg.arg, arg.annotation, default) for arg, default in pairs]
    return Function(name, arguments, item.body)


def _check_nesting(text: str, where: Where) -> None:
    """Refuses what is nested so deeply that parsing or walking it would use up the stack."""
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        sign = match.group()
        if sign[0] == " ":
            deepest = max(deepest, len(sign) // 2)
        elif sign in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in ")]}":
            depth -= 1
    if deepest > DEEPEST_NESTING:
        raise LimitExceeded(
            f"the program's code is nested {deepest} levels deep, at most {DEEPEST_NESTING} are read",
            where,
            do="check where the file comes from",
        )
    # Texts may hold anything.
    if _CHAINS.search(text) and _CHAINS.search(_TEXTS.sub("''", text)):
        raise LimitExceeded(
            "the program's code has a chain of more than 50 operators or attributes",
            where,
            do="check where the file comes from",
        )
