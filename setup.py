"""All settings are in pyproject.toml; only the text for a package index is computed."""

import sys
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "docs"))

from index_readme import make_index_readme  # noqa: E402 - from the folder above

setup(
    long_description=make_index_readme((ROOT / "README.md").read_text("utf-8")),
    long_description_content_type="text/markdown",
)
