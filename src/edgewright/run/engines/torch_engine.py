"""Computes a PyTorch program op by op in torch: what a converted model is compared with."""

from collections.abc import Mapping
from typing import Any

from edgewright.core.errors import BackendCrash, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.core.optional import require
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.pytorch.archive import Kind, identify_file
from edgewright.frontends.torch_source import TorchSource
from edgewright.model.model import Model
from edgewright.run.engines.source_engine import SourceRun, find_input


class TorchRun(SourceRun):
    """A PyTorch program next to the model converted from it."""

    def __init__(self, file: str, model: Model, values: Mapping[str, Any]) -> None:
        torch = require("torch", to="compare with PyTorch")
        super().__init__(f"{file} in torch {torch.__version__}", model)
        self._file = file
        self._values = values

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the source; state that it keeps between calls is reset for each."""
        turned = {
            name: self._turn_to_source(name, a, a.ndim)
            for name, a in feed.items()
            if name not in self._values
        }
        source = TorchSource.open(self._file, self._make_input_spec(turned))
        source.decide()
        source.build({})
        given = {
            name: find_input(turned, [name]).astype(tensor_type.dtype.numpy)
            for name, tensor_type in source.inputs.items()
        }
        try:
            arrays = source.execute(given)
        except RuntimeError as problem:
            raise BackendCrash(
                f"torch cannot run the program: {shown(problem, 300)}", Where(file=self._file)
            ) from None
        return dict(zip(source.outputs, arrays, strict=True))

    def _make_input_spec(self, feed: Mapping[str, Array]) -> InputSpec:
        """Shapes, and types for TorchScript, which stores none: converters narrow 64-bit integers."""
        is_script = identify_file(self._file) is Kind.SCRIPT
        whole = [name for name, array in feed.items() if array.dtype.kind == "i"] if is_script else []
        return InputSpec(
            input_shapes={name: array.shape for name, array in feed.items()},
            input_values=self._values,
            dtype_hints=dict.fromkeys(whole, DType.INT_64),
        )
