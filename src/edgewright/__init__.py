"""Edgewright: from a trained network to an edge NPU, and proof that it arrived intact."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgewright.api.compare_models import compare
    from edgewright.api.compile import CompiledModel, compile, load_context  # noqa: A004 - as in torch.compile
    from edgewright.api.convert import convert
    from edgewright.api.model import Model, load
    from edgewright.api.quantize import quantize
    from edgewright.config.preprocessing import Preprocessing
    from edgewright.core.errors import EdgewrightError
    from edgewright.reports.building import build

__all__ = [
    "CompiledModel",
    "EdgewrightError",
    "Model",
    "Preprocessing",
    "build",
    "compare",
    "compile",
    "convert",
    "load",
    "load_context",
    "quantize",
]

_HOMES = {
    "CompiledModel": "edgewright.api.compile",
    "EdgewrightError": "edgewright.core.errors",
    "Model": "edgewright.api.model",
    "Preprocessing": "edgewright.config.preprocessing",
    "build": "edgewright.reports.building",
    "compare": "edgewright.api.compare_models",
    "compile": "edgewright.api.compile",
    "convert": "edgewright.api.convert",
    "load": "edgewright.api.model",
    "load_context": "edgewright.api.compile",
    "quantize": "edgewright.api.quantize",
}


def __getattr__(name: str) -> Any:
    """Loads a public name when it is first used: importing the package must stay cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module 'edgewright' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


class _Package(ModuleType):
    """Keeps the function ``quantize`` where the import system would put the package of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        """Leaves out what ``import edgewright.quantize`` sets; the package stays in ``sys.modules``."""
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
