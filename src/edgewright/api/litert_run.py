"""Runs a TFLite model itself in LiteRT, as anybody would: what a converted model is compared with."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgewright.api.compare import TensorError, compared
from edgewright.api.model import Model
from edgewright.core.errors import BackendCrash, UsageError, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.core.optional import require
from edgewright.ir.encodings import Encoding

__all__ = ["LitertRun"]


class LitertRun:
    """A TFLite model beside a model that was made from it."""

    def __init__(self, file: str, model: Model) -> None:
        if model.states:
            raise UsageError(
                f"'{shown(file)}' keeps variables from run to run, which LiteRT does not show",
                do="compare its runs one after the other in Python (model.states)",
            )
        module = require("ai_edge_litert.interpreter", to="compare with LiteRT")
        self.name = f"{file} in LiteRT"
        self._where = Where(file=file)
        try:
            self._interpreter: Any = module.Interpreter(file)
        except (RuntimeError, ValueError) as problem:
            raise BackendCrash(f"LiteRT cannot load the model: {shown(problem)}", self._where) from None

    def differences(
        self, feed: Mapping[str, Array], found: Mapping[str, Array], tolerance: float
    ) -> list[TensorError]:
        """How far the outputs of the other model are from those of the source on the same inputs."""
        wanted = self.run(feed)
        missing = [name for name in wanted if name not in found]
        if missing:
            raise UsageError(
                f"the model has no output '{shown(missing[0])}', which the file it is compared with has",
                do="compare with the model that was converted",
            )
        return compared({name: found[name] for name in wanted}, wanted, tolerance)

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the source as real numbers."""
        runner = self._interpreter
        try:
            for item in runner.get_input_details():
                runner.resize_tensor_input(item["index"], feed[item["name"]].shape)
            runner.allocate_tensors()
            for item in runner.get_input_details():
                runner.set_tensor(item["index"], _stored(feed[item["name"]], item))
            runner.invoke()
        except (RuntimeError, ValueError, KeyError) as problem:
            raise BackendCrash(f"LiteRT cannot run the model: {shown(problem)}", self._where) from None
        return {
            item["name"]: _real(runner.get_tensor(item["index"]), item)
            for item in runner.get_output_details()
        }


def _encoding(item: Mapping[str, Any]) -> Encoding | None:
    found = item["quantization_parameters"]
    if len(found["scales"]) != 1:
        return None
    bits = np.dtype(item["dtype"]).itemsize * 8
    return Encoding((float(found["scales"][0]),), (-int(found["zero_points"][0]),), bitwidth=bits)


def _stored(array: Array, item: Mapping[str, Any]) -> Array:
    encoding = _encoding(item)
    if encoding is None or array.dtype.kind != "f":
        return array.astype(item["dtype"], copy=False)
    return encoding.encode(array, DType.of(item["dtype"]))


def _real(array: Array, item: Mapping[str, Any]) -> Array:
    encoding = _encoding(item)
    return array if encoding is None or array.dtype.kind == "f" else encoding.decode(array)
