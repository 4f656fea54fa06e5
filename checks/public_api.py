"""Prints what the package promises to its users, and fails when it differs from the recorded promise."""

from __future__ import annotations

import argparse
import ast
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["list_promise", "main"]

PACKAGE = "edgewright"


def list_promise(source: Path) -> list[str]:
    """The public names with signatures, methods and fields: read from the source, so nothing is imported."""
    stub = ast.parse((source / PACKAGE / "__init__.pyi").read_text("utf-8"))
    return [
        line
        for name, home in sorted(_list_names(stub))
        for line in _describe(f"{PACKAGE}.{name}", name, source / home)
    ]


def _list_names(stub: ast.Module) -> Iterator[tuple[str, Path]]:
    """The names of the stub, each with the file that defines it."""
    for node in stub.body:
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((alias.name, Path(*module.split(".")).with_suffix(".py")) for alias in names)


def _describe(public: str, name: str, path: Path) -> Iterator[str]:
    if not path.is_file():
        yield from _describe_module(public, path.with_suffix("") / f"{name}.py")
        return
    for node in ast.parse(path.read_text("utf-8")).body:
        match node:
            case ast.FunctionDef(name=defined) if defined == name:
                yield f"{public}{_signature(node)}"
                return
            case ast.ClassDef(name=defined) if defined == name:
                yield f"{public}({', '.join(map(ast.unparse, node.bases))})"
                yield from _members(public, node)
                return
    sys.exit(f"public api: {public} is not defined in {path}")


def _describe_module(public: str, path: Path) -> Iterator[str]:
    """The functions of a module that is a public name itself."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield f"{public}.{node.name}{_signature(node)}"


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
    parser.add_argument("--check", type=Path, metavar="FILE", help="compare with a recorded promise")
    parser.add_argument("--write", type=Path, metavar="FILE", help="record the promise")
    options = parser.parse_args(arguments)
    lines = list_promise(options.source)
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
        print(f"public api: {recorded} is not there yet; 'make api' records the {len(lines)} lines")
        return 0
    before = recorded.read_text("utf-8").splitlines()
    changes = list(difflib.unified_diff(before, lines, str(recorded), "source", lineterm="", n=0))
    for change in changes:
        print(change)
    print("public api: changed; run 'make api' and commit it" if changes else "public api: as recorded")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
