"""Prints the public surface, and fails when it differs from the recorded one."""

from __future__ import annotations

import argparse
import ast
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["PUBLIC", "main", "surface"]

PACKAGE = "edgewright"

# What users import. The ops are recorded by the generated op tables instead.
PUBLIC = ("", "api", "ir", "config", "core.errors", "core.optional", "onnx_backend", "testing")


def surface(source: Path) -> list[str]:
    """One line for each public name, sorted: read from the source, so nothing is imported."""
    root = source / PACKAGE
    return [
        line
        for path in sorted(root.rglob("*.py"))
        if _is_public(module := ".".join(path.relative_to(root).with_suffix("").parts))
        for line in _module(path, f"{PACKAGE}.{module}".removesuffix(".__init__"))
    ]


def _is_public(module: str) -> bool:
    name = module.removesuffix("__init__").rstrip(".")
    if any(part.startswith("_") for part in name.split(".")):
        return False
    return any(name == prefix or (prefix and name.startswith(f"{prefix}.")) for prefix in PUBLIC)


def _module(path: Path, module: str) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    defined = {name: node for node in tree.body for name in _names(node)}
    for name in sorted(_exported(tree)):
        yield from _entry(f"{module}.{name}", defined.get(name))


def _exported(tree: ast.Module) -> list[str]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as value):
                return [ast.literal_eval(item) for item in value.elts if isinstance(item, ast.Constant)]
    return []


def _names(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ImportFrom(names=names):
            return [alias.asname or alias.name for alias in names]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _entry(name: str, node: ast.stmt | None) -> Iterator[str]:
    match node:
        case ast.FunctionDef():
            yield f"{name}{_signature(node)}"
        case ast.ClassDef():
            yield f"{name}({', '.join(map(ast.unparse, node.bases))})"
            yield from _members(name, node)
        case ast.AnnAssign():
            yield f"{name}: {ast.unparse(node.annotation)}"
        case ast.ImportFrom():
            yield f"{name} from {node.module}"
        case _:
            yield name


def _members(name: str, node: ast.ClassDef) -> Iterator[str]:
    for child in node.body:
        match child:
            case ast.FunctionDef(name=member) if not member.startswith("_") or member == "__init__":
                yield f"{name}.{member}{_signature(child)}"
            case ast.AnnAssign(target=ast.Name(id=member)) if not member.startswith("_"):
                default = " = ..." if child.value else ""
                yield f"{name}.{member}: {ast.unparse(child.annotation)}{default}"
            case ast.Assign(targets=[ast.Name(id=member)]) if not member.startswith("_"):
                yield f"{name}.{member}"


def _signature(node: ast.FunctionDef) -> str:
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({ast.unparse(node.args)}){result}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", nargs="?", type=Path, default=Path("src"))
    parser.add_argument("--check", type=Path, metavar="FILE", help="compare with a recorded surface")
    parser.add_argument("--write", type=Path, metavar="FILE", help="record the surface")
    options = parser.parse_args(arguments)
    lines = surface(options.source)
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    elif options.check:
        return _compare(lines, options.check)
    else:
        print("\n".join(lines))
    return 0


def _compare(lines: list[str], recorded: Path) -> int:
    if not recorded.exists():
        print(f"public api: {recorded} is not there yet; 'make api' records the {len(lines)} names")
        return 0
    before = recorded.read_text("utf-8").splitlines()
    changes = list(difflib.unified_diff(before, lines, str(recorded), "source", lineterm="", n=0))
    for change in changes:
        print(change)
    print("public api: changed; run 'make api' and commit it" if changes else "public api: as recorded")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
