"""The source of an op package: a skeleton for each backend, ready to build and to be filled in."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from edgewright.artifacts.cpp.literals import write_comment
from edgewright.artifacts.op_package.records import OpDef, PackageDef

# Backends that a skeleton exists for.
BACKENDS = ("CPU", "HTP", "GPU", "DSP")
_TEMPLATES = Path(__file__).parent / "_data"


def name_folder(package: PackageDef, backend: str) -> str:
    """The package's folder: its name, and the backend if there are several."""
    return f"{package.name}{backend.capitalize()}" if _has_several(package) else package.name


def _has_several(package: PackageDef) -> bool:
    return len([known for known in BACKENDS if known in package.backends]) > 1


def to_files(package: PackageDef, xml: bytes, *, with_converter: bool = False) -> dict[str, bytes]:
    """The files of all folders by path. Every name in them is an identifier: the reader checks it."""
    files: dict[str, bytes] = {}
    for backend in BACKENDS:
        ops = package.for_backend(backend)
        if ops:
            folder = name_folder(package, backend)
            files[f"{folder}/config/{package.name}.xml"] = xml
            for name, text in _FOLDERS[backend](package, ops):
                files[f"{folder}/{name}"] = text.encode()
    if with_converter:
        folder = f"{package.name}/ConverterOpPackage"
        files[f"{folder}/ConverterOpPackage.cpp"] = _fill_template("converter.cpp", package=package).encode()
        files[f"{folder}/Makefile"] = _fill_template("converter_makefile", package=package).encode()
        if _has_several(package):
            files[f"{package.name}/Makefile"] = _fill_template("all_makefile", package=package).encode()
    return files


def _write_cpu(package: PackageDef, ops: tuple[OpDef, ...]) -> Iterator[tuple[str, str]]:
    yield "Makefile", _fill_template("cpu_makefile", package=package)
    yield "makefiles/Android.mk", _fill_template("android.mk", package=package)
    yield "makefiles/Application.mk", _fill_template("application.mk")
    yield f"src/{package.name}Interface.cpp", _fill_template("cpu_interface.cpp", package=package)
    yield "src/utils/CpuOpRegistry.hpp", _fill_template("cpu_registry.hpp")
    yield "src/utils/CpuOpRegistry.cpp", _fill_template("cpu_registry.cpp")
    for op in ops:
        yield f"src/ops/{op.name}.cpp", _fill_template("cpu_op.cpp", op=op, about=_write_comment(op))


def _write_htp(package: PackageDef, ops: tuple[OpDef, ...]) -> Iterator[tuple[str, str]]:
    yield "Makefile", _fill_template("htp_makefile", package=package)
    yield f"src/{package.name}Interface.cpp", _fill_template("htp_interface.cpp", package=package, ops=ops)
    for op in ops:
        yield f"src/ops/{op.name}.cpp", _fill_template("htp_op.cpp", op=op, about=_write_comment(op))


def _write_gpu(package: PackageDef, ops: tuple[OpDef, ...]) -> Iterator[tuple[str, str]]:
    """Kernels are OpenCL's."""
    yield "Makefile", _fill_template("gpu_makefile", package=package)
    yield from _write_device(package, ops, "GPU", "GPU/QnnGpuOpPackage.h")


def _write_dsp(package: PackageDef, ops: tuple[OpDef, ...]) -> Iterator[tuple[str, str]]:
    """For Hexagon architectures without an HTP."""
    yield "Makefile", _fill_template("dsp_makefile", package=package)
    yield from _write_device(package, ops, "DSP", "DSP/QnnDspOpPackage.h")


def _write_device(
    package: PackageDef, ops: tuple[OpDef, ...], backend: str, header: str
) -> Iterator[tuple[str, str]]:
    values = {"package": package, "ops": ops, "backend": backend, "header": header}
    yield f"src/{package.name}Interface.cpp", _fill_template("device_interface.cpp", **values)
    yield f"src/{package.name}Ops.hpp", _fill_template("device_ops.hpp", **values)
    for op in ops:
        text = _fill_template(f"{backend.lower()}_op.cpp", package=package, op=op, about=_write_comment(op))
        yield f"src/ops/{op.name}.cpp", text


_FOLDERS: Mapping[str, Any] = {"CPU": _write_cpu, "HTP": _write_htp, "GPU": _write_gpu, "DSP": _write_dsp}


def _write_comment(op: OpDef) -> str:
    """The description as a comment that its text cannot close."""
    return write_comment(f"Op {op.name}. {op.description}".strip())


def _fill_template(template: str, **values: Any) -> str:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(f"{template}.jinja").render(**values)
