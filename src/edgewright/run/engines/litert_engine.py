"""Runs a TFLite model itself in LiteRT: what a converted model is compared with."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgewright.core.errors import BackendCrash, UsageError, Where, shown
from edgewright.core.numbers import Array, DType
from edgewright.core.optional import require
from edgewright.ir.encodings import Encoding
from edgewright.model.model import Model
from edgewright.run.engines.source_engine import SourceRun, find_input


class LitertRun(SourceRun):
    """A TFLite model next to the model converted from it."""

    def __init__(self, file: str, model: Model) -> None:
        if model.states:
            raise UsageError(
                f"'{shown(file)}' keeps variables from run to run, which LiteRT does not expose",
                do="compare its runs one after the other in Python (model.states)",
            )
        module = require("ai_edge_litert.interpreter", to="compare with LiteRT")
        super().__init__(f"{file} in LiteRT", model)
        self._where = Where(file=file)
        try:
            self._interpreter: Any = module.Interpreter(file)
        except (RuntimeError, ValueError) as problem:
            raise BackendCrash(f"LiteRT cannot load the model: {shown(problem)}", self._where) from None

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the source as real numbers."""
        runner = self._interpreter
        given = {item["index"]: find_input(feed, [item["name"]]) for item in runner.get_input_details()}
        try:
            for index, array in given.items():
                runner.resize_tensor_input(index, array.shape)
            runner.allocate_tensors()
            for item in runner.get_input_details():
                runner.set_tensor(item["index"], _encode_input(given[item["index"]], item))
            runner.invoke()
        except (RuntimeError, ValueError) as problem:
            raise BackendCrash(f"LiteRT cannot run the model: {shown(problem)}", self._where) from None
        return {
            item["name"]: _decode_output(runner.get_tensor(item["index"]), item)
            for item in runner.get_output_details()
        }


def _read_encoding(item: Mapping[str, Any]) -> Encoding | None:
    parameters = item["quantization_parameters"]
    if len(parameters["scales"]) != 1:
        return None
    bits = np.dtype(item["dtype"]).itemsize * 8
    return Encoding((float(parameters["scales"][0]),), (-int(parameters["zero_points"][0]),), bitwidth=bits)


def _encode_input(array: Array, item: Mapping[str, Any]) -> Array:
    encoding = _read_encoding(item)
    if encoding is None or array.dtype.kind != "f":
        return array.astype(item["dtype"], copy=False)
    return encoding.encode(array, DType.of(item["dtype"]))


def _decode_output(array: Array, item: Mapping[str, Any]) -> Array:
    encoding = _read_encoding(item)
    return array if encoding is None or array.dtype.kind == "f" else encoding.decode(array)
