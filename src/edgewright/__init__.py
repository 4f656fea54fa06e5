"""Edgewright: from a trained network to an edge NPU, and proof that it arrived intact.

The public names and their homes are the lines of ``__init__.pyi``, which editors and type checkers read too.
"""

import importlib
import os
import pkgutil
import re
import sys
from types import ModuleType
from typing import Any

from edgewright.core import version as _version

# ONNX Runtime writes a file of its telemetry when it is imported. A value that a user set stays.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

_STUB = (pkgutil.get_data(__name__, "__init__.pyi") or b"").decode()
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as", _STUB, re.MULTILINE)}
__all__ = list(_HOMES)
__version__ = _version.VERSION


def __getattr__(name: str) -> Any:
    """Loads a public name when it is first used: importing the package must stay cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module 'edgewright' has no attribute '{name}'")
    home = importlib.import_module(_HOMES[name])
    # `llm` is a module, which its package does not know before it is imported.
    return getattr(home, name) if hasattr(home, name) else importlib.import_module(f"{_HOMES[name]}.{name}")


def __dir__() -> list[str]:
    return sorted(_HOMES)


class _Package(ModuleType):
    """Keeps the function ``quantize`` where the import system would put the package of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        """Leaves out what ``import edgewright.quantize`` sets; the package stays in ``sys.modules``."""
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
