"""Edgewright: from a trained network to an edge NPU, and proof that it arrived intact."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgewright.api.compare_models import compare
    from edgewright.api.compile import CompiledModel, compile, load_context  # noqa: A004 - as in torch.compile
    from edgewright.api.convert import convert
    from edgewright.api.course.debugger import QNNDebugger
    from edgewright.api.course.dynamic_quantization import DynamicQuantization
    from edgewright.api.course.inference import QNNInference
    from edgewright.api.course.profiler import QNNProfiler
    from edgewright.api.course.selector import BackendSelector, check_backend_support
    from edgewright.api.model import Model, load
    from edgewright.api.op_package import op_package
    from edgewright.api.profile import profile
    from edgewright.api.quantize import quantize
    from edgewright.api.select_backend import select_backend
    from edgewright.config.preprocessing import Preprocessing
    from edgewright.core.errors import EdgewrightError
    from edgewright.quantize.encodings import validate_quantization_range
    from edgewright.reports.building import build

__all__ = [
    "BackendSelector",
    "CompiledModel",
    "DynamicQuantization",
    "EdgewrightError",
    "Model",
    "Preprocessing",
    "QNNDebugger",
    "QNNInference",
    "QNNProfiler",
    "build",
    "check_backend_support",
    "compare",
    "compile",
    "convert",
    "load",
    "load_context",
    "op_package",
    "profile",
    "quantize",
    "select_backend",
    "validate_quantization_range",
]

_HOMES = {
    "BackendSelector": "edgewright.api.course.selector",
    "CompiledModel": "edgewright.api.compile",
    "DynamicQuantization": "edgewright.api.course.dynamic_quantization",
    "EdgewrightError": "edgewright.core.errors",
    "Model": "edgewright.api.model",
    "Preprocessing": "edgewright.config.preprocessing",
    "QNNDebugger": "edgewright.api.course.debugger",
    "QNNInference": "edgewright.api.course.inference",
    "QNNProfiler": "edgewright.api.course.profiler",
    "build": "edgewright.reports.building",
    "check_backend_support": "edgewright.api.course.selector",
    "compare": "edgewright.api.compare_models",
    "compile": "edgewright.api.compile",
    "convert": "edgewright.api.convert",
    "load": "edgewright.api.model",
    "load_context": "edgewright.api.compile",
    "op_package": "edgewright.api.op_package",
    "profile": "edgewright.api.profile",
    "quantize": "edgewright.api.quantize",
    "select_backend": "edgewright.api.select_backend",
    "validate_quantization_range": "edgewright.quantize.encodings",
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
