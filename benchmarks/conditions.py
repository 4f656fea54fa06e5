"""Under what conditions figures were measured: a line that every bench prints beside its table."""

import os
import sys
from datetime import UTC, datetime

from edgewright.core.machine_use import count_cores
from edgewright.tasks.versions import list_versions

__all__ = ["describe_conditions"]


def describe_conditions() -> str:
    """Date, command, versions, cores and how busy the machine is."""
    module = sys.modules["__main__"].__spec__
    command = " ".join(["python -m", module.name if module else "benchmarks", *sys.argv[1:]])
    versions = ", ".join(f"{name} {version}" for name, version in list_versions())
    load = os.getloadavg()[0]
    return f"\n{datetime.now(UTC):%Y-%m-%d}, `{command}`, {versions}, {count_cores()} cores, load {load:.1f}"
