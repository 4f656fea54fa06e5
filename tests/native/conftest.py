"""Tests of the genuine libraries: skipped, with the reason, where their wheel is not installed."""

import pytest

from edgewright.abi.libraries import find_libraries


@pytest.fixture(autouse=True, scope="session")
def _wheel() -> None:
    if find_libraries() is None:
        pytest.skip("the wheel onnxruntime-qnn is not installed")
