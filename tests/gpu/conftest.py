"""Tests on a GPU, or on a Vulkan driver in software: skipped, with the reason, where there is neither."""

import os

import pytest

from edgewright.backends.gpu.backend import make_gpu
from edgewright.backends.gpu.provider import SOFTWARE_SWITCH, start_device
from edgewright.config.gpu_settings import GpuSettings
from edgewright.core.errors import EnvironmentProblem

# Read when the plug-in is loaded, which happens once in a process.
os.environ.setdefault(SOFTWARE_SWITCH, "1")


@pytest.fixture(autouse=True, scope="session")
def _gpu() -> None:
    try:
        start_device(make_gpu().provider, GpuSettings())
    except EnvironmentProblem as problem:
        pytest.skip(f"no GPU and no Vulkan driver in software was found: {problem.what}")
