"""Fails when ops are listed, or asked for their class, where a trait of theirs would tell."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["count_class_checks", "find_op_lists", "main", "op_classes"]

ROOT = Path("src/edgewright")
# Two classes are a pattern, three are a list of what has a property.
FEWEST = 3
# Asked of an op: "is it one of these?" May only get smaller: ask a trait (edgewright/ir/op.py) instead.
MOST_CLASS_CHECKS = 90
# Ops define traits, frontends write ops, passes and the rules of an architecture match patterns of them.
FREE = ("ops/", "frontends/", "passes/", "analyse/architecture/")
# Where a list is no property of the ops in it.
EXCEPTIONS = {
    "analyse/metric.py": "the layers that classifiers end with",
    "artifacts/dlc/": "the spelling of another format",
    "artifacts/qdq_onnx/opset.py": "ops of ONNX that have the names of QNN's",
    "backends/cpu/": "the kernels of the engine",
    "backends/htp/arithmetic.py": "which rounding rule is for which op",
    "backends/htp/halves.py": "which ops are others in half precision",
    "backends/htp/library_kernels.py": "the kernels of the library that are special",
    "backends/htp/products.py": "which axis of the weights is that of the output",
    "quantize/calibrate.py": "what is measured: least, largest, sum",
    "quantize/lift_moves.py": "the chain that exporters write",
}


def op_classes(root: Path = ROOT) -> frozenset[str]:
    """The names of all op classes and their families."""
    bases: dict[str, set[str]] = {}
    for path in sorted((root / "ops").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    known = {"Op"}
    while grown := {name for name, parents in bases.items() if parents & known} - known:
        known |= grown
    return frozenset(known)


def find_op_lists(path: Path, names: frozenset[str]) -> Iterator[str]:
    """Each list of op classes or of their names in a file, as 'file:line: sentence'."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        listed = [name for item in _items(node) if (name := _name(item)) in names]
        if len(listed) >= FEWEST:
            yield f"{path}:{node.lineno}: lists {', '.join(listed)}; give them a trait and ask the op"  # type: ignore[attr-defined]


def count_class_checks(path: Path, names: frozenset[str]) -> int:
    """How often a file asks whether something is of an op's class."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    asked = [call.args[1] for call in calls if ast.unparse(call.func) == "isinstance"]
    return sum(any(_name(item) in names for item in ast.walk(kinds)) for kinds in asked)


def _items(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return items
        case ast.Dict(keys=keys):
            return [key for key in keys if key is not None]
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return [*(_items(left) or [left]), right]
    return []


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
    return ""


def main(arguments: list[str]) -> int:
    """Print the lists and, with --count, the class checks of each file."""
    names, problems, checks = op_classes(), list[str](), dict[str, int]()
    for path in sorted(ROOT.rglob("*.py")):
        inside = path.relative_to(ROOT).as_posix()
        if inside.startswith(FREE):
            continue
        checks[inside] = count_class_checks(path, names)
        if not inside.startswith(tuple(EXCEPTIONS)):
            problems += find_op_lists(path, names)
    total = sum(checks.values())
    if "--count" in arguments:
        print("\n".join(f"{count:4} {file}" for file, count in checks.items() if count))
    if total > MOST_CLASS_CHECKS:
        problems.append(f"{total} class checks of ops, at most {MOST_CLASS_CHECKS} are allowed: ask a trait")
    print("\n".join(problems) or f"op lists: none, and {total} class checks of ops")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
