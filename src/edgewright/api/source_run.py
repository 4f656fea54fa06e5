"""Runs a source model itself in ONNX Runtime, as anybody would: what a converted model is compared with."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime

from edgewright.api.artifacts import is_stored
from edgewright.api.compare import TensorError, compared
from edgewright.api.model import Model
from edgewright.core.errors import BackendCrash, UsageError, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.frontends.onnx.tensors import dtype_of
from edgewright.frontends.pytorch.archive import kind_of

__all__ = ["SourceRun", "as_in_source"]

SPATIAL = frozenset({"NFC", "NHWC", "NDHWC"})


class SourceRun:
    """A source model beside a model that was made from it."""

    def __init__(self, file: str, model: Model) -> None:
        if is_stored(file):
            raise UsageError(
                f"'{shown(file)}' cannot be compared with itself", do="name its source: --compare model.onnx"
            )
        if kind_of(file) is not None:
            raise UsageError(
                f"'{shown(file)}' is a PyTorch file, the comparison runs ONNX files in ONNX Runtime",
                do="run the program with torch, and compare in Python",
            )
        self.name = f"{file} in ONNX Runtime {onnxruntime.__version__}"
        self._layouts = {item.name: item.layout for item in (*model.inputs, *model.outputs)}
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        providers = ["CPUExecutionProvider"]
        try:
            self._session = onnxruntime.InferenceSession(file, settings, providers=providers)
        except Exception as problem:  # ONNX Runtime's exceptions share no base of their own
            raise BackendCrash(
                f"ONNX Runtime cannot load the model: {shown(problem)}", Where(file=file)
            ) from None

    def differences(
        self, feed: Mapping[str, Array], found: Mapping[str, Array], tolerance: float
    ) -> list[TensorError]:
        """How far the outputs of the other model are from those of the source on the same inputs."""
        wanted = self.run(feed)
        missing = [name for name in wanted if name not in found]
        if missing:
            raise _not_the_source(f"output '{shown(missing[0])}'")
        turned = {name: self._turned(name, found[name], array.ndim) for name, array in wanted.items()}
        return compared(turned, wanted, tolerance)

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the source for inputs of the other model."""
        declared = self._session.get_inputs()
        missing = [item.name for item in declared if item.name not in feed]
        if missing:
            raise _not_the_source(f"input '{shown(missing[0])}'")
        arrays = {
            item.name: self._turned(item.name, feed[item.name], len(item.shape)).astype(_dtype(item).numpy)
            for item in declared
        }
        names = [item.name for item in self._session.get_outputs()]
        try:
            values = self._session.run(names, arrays)
        except Exception as problem:
            raise BackendCrash(f"ONNX Runtime cannot run the model: {shown(problem)}") from None
        return dict(zip(names, (np.asarray(value) for value in values), strict=True))

    def _turned(self, name: str, array: Array, rank: int) -> Array:
        return as_in_source(array, self._layouts.get(name), rank)


def as_in_source(array: Array, layout: str | None, rank: int) -> Array:
    """An array in the axes of the source: channels first where the model has them last."""
    if layout in SPATIAL:
        array = array.transpose((0, array.ndim - 1, *range(1, array.ndim - 1)))
    # QNN has no scalars: they come as one element.
    return array.reshape(()) if rank == 0 and array.size == 1 else array


def _dtype(item: Any) -> DType:
    word = item.type.removeprefix("tensor(").removesuffix(")").upper()
    return dtype_of(onnx.TensorProto.DataType.Value(word), Where(tensor=item.name))


def _not_the_source(what: str) -> UsageError:
    return UsageError(
        f"the model has no {what}, which the file it is compared with has",
        do="compare with the model that was converted",
    )
