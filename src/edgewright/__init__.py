"""Edgewright: from a trained network to an edge NPU, and proof that it arrived intact."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgewright.api.convert import convert
    from edgewright.api.model import Model, load
    from edgewright.api.quantize import quantize
    from edgewright.core.errors import EdgewrightError

__all__ = ["EdgewrightError", "Model", "convert", "load", "quantize"]

_HOMES = {
    "EdgewrightError": "edgewright.core.errors",
    "Model": "edgewright.api.model",
    "convert": "edgewright.api.convert",
    "load": "edgewright.api.model",
    "quantize": "edgewright.api.quantize",
}


def __getattr__(name: str) -> Any:
    """Loads a public name when it is first used: importing the package must stay cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module 'edgewright' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
