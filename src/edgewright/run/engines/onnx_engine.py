"""Runs an ONNX model itself in ONNX Runtime: what a converted model is compared with."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from edgewright.backends.cpu.onnx_runtime import onnxruntime
from edgewright.core.errors import BackendCrash, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.frontends.onnx.tensors import find_dtype
from edgewright.model.model import Model
from edgewright.run.engines.source_engine import SourceRun, find_input


class OnnxRun(SourceRun):
    """An ONNX model next to the model converted from it."""

    def __init__(self, file: str, model: Model) -> None:
        super().__init__(f"{file} in ONNX Runtime {onnxruntime.__version__}", model)
        self._file = file
        self._session = self._open(file)

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the source for the inputs of the converted model."""
        arrays = {
            item.name: self._turn_to_source(item.name, find_input(feed, [item.name]), len(item.shape)).astype(
                _read_dtype(item).numpy
            )
            for item in self._session.get_inputs()
        }
        if any(_is_other_shape(item.shape, arrays[item.name]) for item in self._session.get_inputs()):
            # The user gave the model other shapes than it has.
            self._session = self._open(_open_shapes(self._file, arrays))
        names = [item.name for item in self._session.get_outputs()]
        try:
            values = self._session.run(names, arrays)
        except Exception as problem:
            raise BackendCrash(f"ONNX Runtime cannot run the model: {shown(problem)}") from None
        return dict(zip(names, (np.asarray(value) for value in values), strict=True))

    def _open(self, model: str | bytes) -> Any:
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        try:
            return onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
        except Exception as problem:  # ONNX Runtime's exceptions have no common base class
            raise BackendCrash(
                f"ONNX Runtime cannot load the model: {shown(problem)}", Where(file=self._file)
            ) from None


def _is_other_shape(shape: Sequence[Any], array: Array) -> bool:
    return any(isinstance(dim, int) and dim != size for dim, size in zip(shape, array.shape, strict=False))


def _open_shapes(file: str, inputs: Collection[str]) -> bytes:
    """The model with every dimension of these inputs open, and of all that is computed from them."""
    model = onnx.load(file)
    for info in model.graph.input:
        if info.name in inputs:
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                dim.dim_param = f"{info.name}_{axis}"
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    content: bytes = model.SerializeToString()
    return content


def _read_dtype(item: Any) -> DType:
    word = item.type.removeprefix("tensor(").removesuffix(")").upper()
    return find_dtype(onnx.TensorProto.DataType.Value(word), Where(tensor=item.name))
