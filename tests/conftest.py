"""What every test shares: seeded property tests and golden files."""

from __future__ import annotations

import difflib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

from tests.optional import NO_TORCH

GOLDEN = Path(__file__).parent / "golden"


def pytest_configure() -> None:
    # What a shell starts in the background ignores ^C, and so would every process that tests start and stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Seeded, so that a failure on one machine is a failure on every machine; the time of one
    # example on a busy machine says nothing, so there is no deadline.
    settings.register_profile(
        "seeded",
        derandomize=True,
        deadline=None,
        max_examples=50,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("seeded")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Before -m chooses: what asks for torch needs no second word for it.
    for item in items:
        if "torch" in getattr(item, "fixturenames", ()):
            item.add_marker("torch")


@pytest.fixture
def torch() -> ModuleType:
    """The package torch; a test that asks for it is marked ``torch``."""
    return pytest.importorskip("torch", reason=NO_TORCH)


@pytest.fixture
def golden() -> Callable[[str, str | bytes], None]:
    """Compare with tests/golden/NAME; UPDATE_GOLDEN=1 records it instead."""
    return _compare_with_golden


def _compare_with_golden(name: str, found: str | bytes) -> None:
    path = GOLDEN / name
    raw = found.encode() if isinstance(found, str) else found
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        return
    if not path.exists():
        pytest.fail(f"{path} is not there; record it with UPDATE_GOLDEN=1 and look at it before committing")
    wanted = path.read_bytes()
    if raw != wanted:
        pytest.fail(_difference(name, wanted, raw), pytrace=False)


def _difference(name: str, wanted: bytes, found: bytes) -> str:
    try:
        recorded, new = wanted.decode().splitlines(), found.decode().splitlines()
    except UnicodeDecodeError:
        sizes = f"{len(wanted)} bytes recorded, {len(found)} found"
        pairs = enumerate(zip(wanted, found, strict=False))
        first = next((i for i, (a, b) in pairs if a != b), min(len(wanted), len(found)))
        return f"{name} differs from byte {first} on: {sizes}"
    changes = difflib.unified_diff(recorded, new, "recorded", "found", lineterm="")
    return "\n".join([f"{name} differs:", *changes])
