"""Fails when an import points up, strangers meet, or a package is used outside its home."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PACKAGE", "ROWS", "Import", "check", "imports_of", "main"]

PACKAGE = "edgewright"

# A row may import any row below it; names on one row do not know each other.
ROWS: tuple[tuple[str, ...], ...] = (
    ("tools", "onnx_backend"),
    ("",),  # edgewright/__init__.pyi: the door that users come through
    ("compat",),
    ("api",),
    ("reports",),
    ("view",),
    ("build", "sdk", "llm"),
    ("analyse",),
    ("estimate", "evaluate"),
    ("run",),
    ("model",),
    ("data",),
    ("frontends", "backends", "artifacts"),
    ("quantize", "lower"),
    ("abi",),
    ("passes",),
    ("targets",),
    ("ops",),
    ("ir",),
    ("tasks",),
    ("config",),
    ("core",),
)
DEPTH = {name: depth for depth, row in enumerate(ROWS) for name in row}

# Beside the rows: not layers, so nothing to order.
NOT_LAYERS = frozenset({"_data", "__pycache__", "__init__.py", "__init__.pyi", "py.typed"})

# Folders whose members are strangers to each other; what they share is in _common.
STRANGERS = frozenset({"frontends"})

# Packages that come through the door only: core.optional.require("torch", to="read .pt2 models").
BEHIND_THE_DOOR = frozenset(
    "torch tensorflow openvino plotly transformers aimet_onnx dask distributed fsspec".split()  # noqa: SIM905
)

# Where a package may be imported. A home is a module prefix below edgewright.
_ABOVE_THE_MIDDLE = tuple(name for row in ROWS[: DEPTH["frontends"] + 1] for name in row if name)
HOMES: dict[str, tuple[str, ...]] = {
    "onnx": _ABOVE_THE_MIDDLE,
    "onnxruntime": _ABOVE_THE_MIDDLE,
    "argparse": ("tools", "config"),
    "ctypes": ("abi", "backends.qnn", "artifacts.model_library", "artifacts.op_package"),
}


@dataclass(frozen=True)
class Import:
    line: int
    module: str


def check(source: Path) -> list[str]:
    """All violations below a folder that holds the package, as 'file:line: sentence'."""
    root = source / PACKAGE
    problems = [
        f"{entry}: not in the list of layers; give it a row in checks/layers.py"
        for entry in sorted(root.iterdir() if root.is_dir() else [])
        if entry.name not in NOT_LAYERS and entry.name.removesuffix(".py") not in DEPTH
    ]
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.pyi")]):
        home = _home(path, root)
        if home.split(".")[0] not in DEPTH:
            continue
        found = imports_of(path.read_text("utf-8"), _package_of(path, root))
        problems += [f"{path}:{i.line}: {why}" for i in found if (why := _violation(home, i.module))]
    return problems


def _home(path: Path, root: Path) -> str:
    folder = path.parent.relative_to(root).parts
    # A file directly beside the strangers, such as a registry, may know them all.
    is_the_folder = path.stem == "__init__" or (len(folder) == 1 and folder[0] in STRANGERS)
    return ".".join(folder if is_the_folder else (*folder, path.stem))


def imports_of(text: str, package: str = PACKAGE) -> list[Import]:
    """Every import of a module, inside functions and TYPE_CHECKING blocks too."""
    found = {i for node in ast.walk(ast.parse(text)) for i in _imports(node, package)}
    return sorted(found, key=lambda i: (i.line, i.module))


def _imports(node: ast.AST, package: str) -> Iterator[Import]:
    match node:
        case ast.Import(names=names):
            yield from (Import(node.lineno, alias.name) for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            base = _absolute(module or "", level, package)
            yield from (Import(node.lineno, f"{base}.{alias.name}") for alias in names)
        case ast.Call(
            func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(name)), *_]
        ):
            if called in {"import_module", "__import__"}:
                yield Import(node.lineno, name)


def _absolute(module: str, level: int, package: str) -> str:
    if not level:
        return module
    parents = package.split(".")[: len(package.split(".")) - level + 1]
    return ".".join([*parents, module] if module else parents)


def _package_of(path: Path, root: Path) -> str:
    return ".".join((PACKAGE, *path.parent.relative_to(root).parts))


def _violation(home: str, module: str) -> str | None:
    top, _, rest = module.partition(".")
    if top == PACKAGE:
        return _violation_inside(home, rest)
    if top in BEHIND_THE_DOOR:
        return f"{_name(home)} imports {top}; use core.optional.require({top!r}, to=...)"
    homes = HOMES.get(top)
    if homes is not None and not any(home == h or home.startswith(f"{h}.") for h in homes):
        return f"{_name(home)} imports {top}, which is allowed in {', '.join(homes)} only"
    return None


def _violation_inside(home: str, target: str) -> str | None:
    here, there = home.partition(".")[0], target.partition(".")[0]
    # 'from edgewright import convert' names an attribute of the package itself.
    there = there if there in DEPTH else ""
    if here == there:
        return _meeting_strangers(home, target) if here in STRANGERS else None
    if DEPTH[there] < DEPTH[here]:
        return f"{_name(home)} imports {_name(target)}, which is above it"
    if DEPTH[there] == DEPTH[here]:
        return f"{_name(home)} imports {_name(target)}, a stranger on the same row"
    return None


def _meeting_strangers(home: str, target: str) -> str | None:
    here, there = (f"{name}..".split(".")[1] for name in (home, target))
    if here == there or not here or not there or there == "_common":
        return None
    return f"{_name(home)} imports {_name(target)}; strangers share only what is in _common"


def _name(module: str) -> str:
    return f"'{module or PACKAGE}'"


def main(arguments: list[str]) -> int:
    source = Path(arguments[0]) if arguments else Path("src")
    problems = check(source)
    print("\n".join(problems) if problems else "layers: imports point down")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
