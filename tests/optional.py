"""Packages and programs that some tests need and some machines lack; CI installs them for its second step."""

import importlib.util
import os
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

import pytest

NO_TORCH = "torch is not installed: pip install 'edgewright[pytorch]'"
NO_CLUSTER = "distributed is not installed: pip install 'edgewright[cluster]'"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
NEEDS_TORCH = (
    pytest.mark.torch,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason=NO_TORCH),
)
NEEDS_BROWSER = (
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="playwright is not installed"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium was found (CHROMIUM names one)"),
)


def page_params(pages: Iterable[Path], *, slow: Collection[str] = ()) -> list[object]:
    """Pages of documentation as parameters of a test; one whose examples import torch needs it."""
    return [pytest.param(page, id=page.stem, marks=_mark_page(page, slow)) for page in pages]


def _mark_page(page: Path, slow: Collection[str]) -> tuple[pytest.MarkDecorator, ...]:
    torch = NEEDS_TORCH if "import torch" in page.read_text("utf-8") else ()
    return (*torch, pytest.mark.slow) if page.stem in slow else torch
