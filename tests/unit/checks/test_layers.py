from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from checks.layers import PACKAGE, ROWS, check, imports_of

ARCHITECTURE = Path(__file__).parents[3] / "ARCHITECTURE.md"
SOURCE = ARCHITECTURE.with_name("src")


@dataclass(frozen=True)
class Planted:
    id: str
    path: str
    code: str
    says: str


VIOLATIONS = [
    Planted(
        "up",
        "ir/graph.py",
        "from edgewright.passes import fold",
        "'ir.graph' imports 'passes.fold', which is above it",
    ),
    Planted(
        "row",
        "quantize/a.py",
        "import edgewright.lower.names",
        "'quantize.a' imports 'lower.names', a stranger",
    ),
    Planted(
        "root", "core/a.py", "from edgewright import convert", "'core.a' imports 'convert', which is above it"
    ),
    Planted("tool", "__init__.py", "from edgewright.tools import umbrella", "which is above it"),
    Planted(
        "frontend", "frontends/tflite/a.py", "from edgewright.frontends import onnx", "strangers share only"
    ),
    Planted(
        "shared", "frontends/_common/a.py", "import edgewright.frontends.onnx.load", "strangers share only"
    ),
    Planted(
        "torch", "frontends/pytorch/a.py", "import torch.nn", "use core.optional.require('torch', to=...)"
    ),
    Planted("typing", "api/a.py", "if TYPE_CHECKING:\n    import torch", "a.py:2: 'api.a' imports torch"),
    Planted(
        "function", "ops/a.py", "def f():\n    from onnx import helper", "a.py:2: 'ops.a' imports onnx, "
    ),
    Planted(
        "call",
        "lower/a.py",
        "importlib.import_module('onnxruntime')",
        "imports onnxruntime, which is allowed",
    ),
    Planted(
        "argparse", "api/a.py", "import argparse", "imports argparse, which is allowed in tools, config only"
    ),
    Planted("ctypes", "backends/cpu/a.py", "import ctypes", "'backends.cpu.a' imports ctypes"),
    Planted(
        "relative", "ir/a.py", "from ..api import convert", "'ir.a' imports 'api.convert', which is above it"
    ),
    Planted("folder", "helpers/a.py", "", "helpers: not in the list of layers"),
    Planted("file", "misc.py", "", "misc.py: not in the list of layers"),
]


@pytest.mark.parametrize("case", VIOLATIONS, ids=lambda case: case.id)
def test_a_planted_violation_is_named(tmp_path: Path, case: Planted):
    plant(tmp_path, case.path, case.code)
    (problem,) = check(tmp_path)
    assert case.says in problem


ALLOWED = [
    Planted("down", "api/a.py", "from edgewright.ir.graph import Graph", ""),
    Planted("far", "tools/a.py", "import edgewright.core.errors", ""),
    Planted("common", "frontends/onnx/a.py", "from edgewright.frontends._common import builder", ""),
    Planted("itself", "frontends/onnx/a.py", "from edgewright.frontends.onnx import load", ""),
    Planted("registry", "frontends/registry.py", "import edgewright.frontends.onnx", ""),
    Planted("onnx", "frontends/onnx/a.py", "import onnx", ""),
    Planted("engine", "backends/cpu/a.py", "import onnxruntime", ""),
    Planted("ctypes", "abi/structs.py", "import ctypes", ""),
    Planted("argparse", "config/option.py", "def f():\n    import argparse", ""),
    Planted("door", "frontends/pytorch/a.py", "torch = require('torch', to='read .pt2 models')", ""),
    Planted("data", "_data/generate.py", "import argparse", ""),
    Planted("module", "onnx_backend.py", "import onnx\nfrom edgewright.api import convert", ""),
]


@pytest.mark.parametrize("case", ALLOWED, ids=lambda case: case.id)
def test_an_import_that_points_down_passes(tmp_path: Path, case: Planted):
    plant(tmp_path, case.path, case.code)
    assert check(tmp_path) == []


def test_a_folder_without_the_package_passes(tmp_path: Path):
    assert check(tmp_path) == []


def test_relative_imports_are_resolved_from_their_package():
    found = imports_of("from . import a\nfrom ..b import c", "edgewright.ir.text")
    assert [i.module for i in found] == ["edgewright.ir.text.a", "edgewright.ir.b.c"]


def plant(root: Path, path: str, code: str) -> None:
    file = root / "edgewright" / path
    file.parent.mkdir(parents=True)
    file.write_text(code)


def test_the_architecture_shows_the_rows_as_they_are() -> None:
    rows = "\n".join(" | ".join(name or PACKAGE for name in row) for row in ROWS)
    assert f"```\n{rows}\n```" in ARCHITECTURE.read_text("utf-8")


def test_every_folder_has_its_line_in_the_architecture() -> None:
    page = ARCHITECTURE.read_text("utf-8")
    folders = [name for row in ROWS for name in row if name and (SOURCE / PACKAGE / name).is_dir()]
    assert [name for name in folders if not re.search(rf"^\|.*`{name}[`/].*\|", page, re.MULTILINE)] == []
