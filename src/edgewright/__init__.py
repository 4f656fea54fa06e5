"""Edgewright: from a trained network to an edge NPU, and proof that it arrived intact."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgewright.analyse.compare_models import compare
    from edgewright.api.build import build
    from edgewright.compat.debugger import QNNDebugger
    from edgewright.compat.dynamic_quantization import DynamicQuantization
    from edgewright.compat.inference import QNNInference
    from edgewright.compat.profiler import QNNProfiler
    from edgewright.compat.selector import BackendSelector, check_backend_support
    from edgewright.config.preprocessing import Preprocessing
    from edgewright.core.errors import EdgewrightError
    from edgewright.model.convert import convert
    from edgewright.model.model import Model, load
    from edgewright.model.profile.measure import profile
    from edgewright.model.quantize import quantize
    from edgewright.model.select_backend import select_backend
    from edgewright.quantize.encodings import validate_quantization_range
    from edgewright.run.compiled_model import CompiledModel, compile, load_context  # noqa: A004 - as in torch.compile
    from edgewright.run.python_ops import op_package

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
    "BackendSelector": "edgewright.compat.selector",
    "CompiledModel": "edgewright.run.compiled_model",
    "DynamicQuantization": "edgewright.compat.dynamic_quantization",
    "EdgewrightError": "edgewright.core.errors",
    "Model": "edgewright.model.model",
    "Preprocessing": "edgewright.config.preprocessing",
    "QNNDebugger": "edgewright.compat.debugger",
    "QNNInference": "edgewright.compat.inference",
    "QNNProfiler": "edgewright.compat.profiler",
    "build": "edgewright.api.build",
    "check_backend_support": "edgewright.compat.selector",
    "compare": "edgewright.analyse.compare_models",
    "compile": "edgewright.run.compiled_model",
    "convert": "edgewright.model.convert",
    "load": "edgewright.model.model",
    "load_context": "edgewright.run.compiled_model",
    "op_package": "edgewright.run.python_ops",
    "profile": "edgewright.model.profile.measure",
    "quantize": "edgewright.model.quantize",
    "select_backend": "edgewright.model.select_backend",
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
