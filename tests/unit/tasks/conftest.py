"""What tests of tasks share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch):
    """Workers import the functions of these tests."""
    given = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *([given] if given else [])]))
