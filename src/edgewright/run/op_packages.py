"""The op packages that a tool is given: descriptions for converters, libraries and Python files for runs."""

import logging
import re
import runpy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from edgewright.artifacts.model_library.composer import check_library
from edgewright.artifacts.op_package.reader import read
from edgewright.backends.op_package.packages import load_package, shape_rule
from edgewright.core.errors import BackendCrash, BadInput, EdgewrightError, UsageError, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.words import did_you_mean
from edgewright.ir.op import REGISTRY
from edgewright.ops.package import PackageOpDefinition, using_definitions

log = logging.getLogger(__name__)

_PACKAGE = re.compile(r"(?P<path>.+?\.(?:so|py))(?::(?P<provider>[A-Za-z_]\w*))?(?::(?P<target>\w+))?")
TARGETS = ("CPU", "HTP")


def load_op_packages(named: Sequence[str]) -> list[str]:
    """Registers packages given as 'lib.so:PROVIDER[:TARGET]' or as a Python file; returns notes."""
    notes = []
    for text in named:
        notes += _load(text)
    return notes


@contextmanager
def use_converter_packages(configs: Sequence[str], libraries: Sequence[str]) -> Iterator[None]:
    """Lets a source use the ops that XML files describe, with shapes from libraries in the same order.

    Python files among the libraries register functions, whose output shapes are found by running them.
    """
    compiled = []
    for name in libraries:
        if name.endswith(".py"):
            _run_python(Path(name))
        else:
            check_library(Path(name))
            _say(Path(name))
            compiled.append(Path(name))
    if compiled and len(compiled) != len(configs):
        raise UsageError(
            f"--converter_op_package_lib names {len(compiled)} libraries, --op_package_config {len(configs)}",
            do="give a library for each XML file, in the same order",
        )
    definitions: list[PackageOpDefinition] = []
    for index, config in enumerate(configs):
        ops = read(config).definitions()
        definitions += [_with_shapes(item, compiled[index]) for item in ops] if compiled else ops
    with using_definitions(definitions) as asked:
        yield
    for item in definitions:
        if item.type not in asked:
            log.warning("op '%s' of package '%s' was not found in the model", item.type, item.package)


def map_ops_to_packages(configs: Sequence[str]) -> dict[str, str]:
    """QNN's own ops that packages implement: op -> package (UseDefaultTranslation in the XML)."""
    packages: dict[str, str] = {}
    for config in configs:
        package = read(config)
        for op in package.ops:
            if not op.is_default_translation:
                continue
            if op.name not in REGISTRY:
                raise BadInput(
                    f"op '{op.name}' has UseDefaultTranslation, but QNN has no op of that name",
                    Where(file=str(config), op=op.name),
                    do=did_you_mean(op.name, sorted(REGISTRY), "leave UseDefaultTranslation out"),
                )
            packages[op.name] = package.name
    return packages


def _with_shapes(definition: PackageOpDefinition, library: Path) -> PackageOpDefinition:
    return replace(definition, shapes=shape_rule(library, definition.type, len(definition.outputs)))


def _load(text: str) -> list[str]:
    match = _PACKAGE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"op package '{shown(text)}' is not spelled as expected",
            do="write path.so:PROVIDER or path.so:PROVIDER:CPU, such as libMyOps.so:MyOpsInterfaceProvider",
        )
    path, provider, target = Path(match["path"]), match["provider"], match["target"] or "CPU"
    if path.suffix == ".py":
        _run_python(path)
        return []
    if target not in TARGETS:
        raise UsageError(
            f"op package target is '{shown(target)}', expected CPU or HTP", do="name one of them"
        )
    if target == "HTP":
        measure_file(path)
        return [f"op package {shown(path.name)} is for HTP devices: here its CPU library or a function runs"]
    check_library(path)
    _say(path)
    load_package(path, provider or f"{path.stem.removeprefix('lib')}InterfaceProvider")
    return []


def _say(path: Path) -> None:
    log.warning("'%s' is an op package: it is code, and it runs in a separate process", shown(path.name))


def _run_python(path: Path) -> None:
    """Runs a file that registers functions with @edgewright.op_package."""
    measure_file(path)
    log.warning("'%s' is a Python file: it is code, and it runs in this process", shown(path.name))
    try:
        runpy.run_path(str(path))
    except EdgewrightError:
        raise
    except Exception as problem:
        raise BackendCrash(
            f"the Python file failed: {type(problem).__name__}: {shown(problem)}",
            Where(file=str(path)),
            do="run it by itself with python",
        ) from problem
