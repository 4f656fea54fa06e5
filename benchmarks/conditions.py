"""Under what conditions figures were measured: a line that every bench prints beside its table."""

import os
import sys
from datetime import UTC, datetime
from importlib.metadata import version

from edgewright.core.machine_use import count_cores
from edgewright.tasks.versions import list_versions

__all__ = ["describe_conditions"]


def describe_conditions(*packages: str) -> str:
    """Date, command, versions (also of the packages named), cores and how busy the machine is."""
    module = sys.modules["__main__"].__spec__
    command = " ".join(["python -m", module.name if module else "benchmarks", *sys.argv[1:]])
    known = [*list_versions(), *((name, version(name)) for name in packages)]
    versions = ", ".join(f"{name} {number}" for name, number in known)
    load = os.getloadavg()[0]
    return f"\n{datetime.now(UTC):%Y-%m-%d}, `{command}`, {versions}, {count_cores()} cores, load {load:.1f}"
