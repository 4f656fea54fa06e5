"""Benches are run by hand: what they import from the package and from each other must be there."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
# They import torch or timm themselves, which not everyone has.
WITH_TORCH = {"benchmarks.architecture", "benchmarks.made_models", "benchmarks.vision_ops"}


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_what_a_bench_imports_is_there(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module not in WITH_TORCH:
            package = node.module.partition(".")[0]
            if package in {"edgewright", "benchmarks"}:
                module = import_module(node.module)
                for alias in node.names:
                    assert hasattr(module, alias.name) or import_module(f"{node.module}.{alias.name}")
