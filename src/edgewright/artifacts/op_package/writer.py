"""The source of an op package: a skeleton for each backend, ready to build and to be filled in."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from edgewright.artifacts.cpp.literals import comment
from edgewright.artifacts.op_package.records import OpDef, PackageDef

__all__ = ["BACKENDS", "folder_of", "to_files"]

# Backends that a skeleton exists for.
BACKENDS = ("CPU", "HTP")
_TEMPLATES = Path(__file__).parent / "_data"


def folder_of(package: PackageDef, backend: str) -> str:
    """The package's folder: its name, and the backend if there are several."""
    several = len([known for known in BACKENDS if known in package.backends]) > 1
    return f"{package.name}{backend.capitalize()}" if several else package.name


def to_files(package: PackageDef, xml: bytes, *, with_converter: bool = False) -> dict[str, bytes]:
    """The files of all folders by path. Every name in them is an identifier: the reader checks it."""
    files: dict[str, bytes] = {}
    for backend in BACKENDS:
        ops = package.for_backend(backend)
        if ops:
            folder = folder_of(package, backend)
            files[f"{folder}/config/{package.name}.xml"] = xml
            for name, text in _FOLDERS[backend](package, ops):
                files[f"{folder}/{name}"] = text.encode()
    if with_converter:
        folder = f"{package.name}/ConverterOpPackage"
        files[f"{folder}/ConverterOpPackage.cpp"] = _filled("converter.cpp", package=package).encode()
        files[f"{folder}/Makefile"] = _filled("converter_makefile", package=package).encode()
    return files


def _cpu(package: PackageDef, ops: tuple[OpDef, ...]) -> Iterator[tuple[str, str]]:
    yield "Makefile", _filled("cpu_makefile", package=package)
    yield "makefiles/Android.mk", _filled("android.mk", package=package)
    yield "makefiles/Application.mk", _filled("application.mk")
    yield f"src/{package.name}Interface.cpp", _filled("cpu_interface.cpp", package=package)
    yield "src/utils/CpuOpRegistry.hpp", _filled("cpu_registry.hpp")
    yield "src/utils/CpuOpRegistry.cpp", _filled("cpu_registry.cpp")
    for op in ops:
        yield f"src/ops/{op.name}.cpp", _filled("cpu_op.cpp", op=op, about=_about(op))


def _htp(package: PackageDef, ops: tuple[OpDef, ...]) -> Iterator[tuple[str, str]]:
    yield "Makefile", _filled("htp_makefile", package=package)
    yield f"src/{package.name}Interface.cpp", _filled("htp_interface.cpp", package=package, ops=ops)
    for op in ops:
        yield f"src/ops/{op.name}.cpp", _filled("htp_op.cpp", op=op, about=_about(op))


_FOLDERS: Mapping[str, Any] = {"CPU": _cpu, "HTP": _htp}


def _about(op: OpDef) -> str:
    """The description as a comment that its text cannot close."""
    return comment(f"Op {op.name}. {op.description}".strip())


def _filled(template: str, **values: Any) -> str:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(f"{template}.jinja").render(**values)
