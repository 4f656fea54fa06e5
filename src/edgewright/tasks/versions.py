"""The versions that results depend on: a result of others must not be found under the same name."""

import sys
from collections.abc import Sequence
from importlib import metadata

from edgewright.core.errors import EnvironmentProblem
from edgewright.core.version import VERSION

PACKAGES = ("numpy", "onnx", "onnxruntime", "onnxruntime-qnn")


def list_versions() -> tuple[tuple[str, str], ...]:
    """Packages that have a say in the result, and their versions."""
    python = ".".join(map(str, sys.version_info[:3]))
    return ("edgewright", VERSION), *((name, _find_version(name)) for name in PACKAGES), ("python", python)


def check_versions(expected: Sequence[Sequence[str]]) -> None:
    """Raises where a worker has others than those that were asked for."""
    here = dict(list_versions())
    others = [f"{name} {here[name]} and not {version}" for name, version in expected if here[name] != version]
    if others:
        raise EnvironmentProblem(
            f"a worker has {', '.join(others)}", do="install the same versions where workers run"
        )


def _find_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
