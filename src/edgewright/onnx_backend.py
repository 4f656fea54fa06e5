"""The ONNX backend interface on the CPU backend, so that ONNX's own test suites run on Edgewright."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep

from edgewright.api.convert import convert
from edgewright.core.errors import Problems, UnsupportedOp
from edgewright.model.model import Model


class EdgewrightRep(BackendRep):
    """A converted model that takes its inputs by position or by name."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Outputs in the model's order."""
        del kwargs
        names = [item.name for item in self.model.inputs]
        values: Sequence[Any] = list(inputs.values()) if isinstance(inputs, Mapping) else inputs
        given = inputs if isinstance(inputs, Mapping) else dict(zip(names, values, strict=False))
        results = self.model.run({name: np.asarray(array) for name, array in given.items()})
        return tuple(results.values())


class EdgewrightBackend(Backend):
    """Converts ONNX models to the IR and runs them on the CPU backend."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> EdgewrightRep:
        """Converts a model."""
        del device, kwargs
        return EdgewrightRep(convert(model))

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """Converts and runs a model."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether every op of a model is supported (its conversion is tried)."""
        del kwargs
        try:
            convert(model)
        except UnsupportedOp:
            return False
        except Problems as problems:
            return problems.code != UnsupportedOp.code and cls.supports_device(device)
        return cls.supports_device(device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Only the processor."""
        return device == "CPU"


is_compatible = EdgewrightBackend.is_compatible
prepare = EdgewrightBackend.prepare
run_node = EdgewrightBackend.run_node
run_model = EdgewrightBackend.run_model
supports_device = EdgewrightBackend.supports_device
