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


class LitertLayers:
    """A TFLite model in LiteRT that keeps all its tensors."""

    def __init__(self, file: str) -> None:
        module = require("ai_edge_litert.interpreter", to="run the model in LiteRT")
        self.name = "LiteRT"
        self._where = Where(file=file)
        try:
            # A delegate computes several ops at once: what lies between them would never be written.
            self._interpreter: Any = module.Interpreter(
                file,
                experimental_preserve_all_tensors=True,
                experimental_op_resolver_type=module.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            )
        except (RuntimeError, ValueError) as problem:
            raise BackendCrash(f"LiteRT cannot load the model: {shown(problem)}", self._where) from None

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """What every op made, as real numbers, in the order of the model."""
        runner = self._interpreter
        try:
            for item in runner.get_input_details():
                runner.resize_tensor_input(item["index"], find_input(feed, _spell_name(item["name"])).shape)
            runner.allocate_tensors()
            for item in runner.get_input_details():
                array = find_input(feed, _spell_name(item["name"]))
                runner.set_tensor(item["index"], _encode_input(array, item))
            runner.invoke()
        except (RuntimeError, ValueError) as problem:
            raise BackendCrash(f"LiteRT cannot run the model: {shown(problem)}", self._where) from None
        tensors, made_by_ops = {}, self._list_made()
        for item in runner.get_tensor_details():
            if not item["name"] or item["index"] not in made_by_ops:
                continue
            made = self._read(item["index"])
            if made is not None and made.dtype.kind in "fiub":
                tensors[item["name"]] = _decode_output(made, item)
        return tensors

    def _list_made(self) -> frozenset[int]:
        # Without its own list of ops there is no telling constants from results.
        ops = self._interpreter._get_ops_details()  # noqa: SLF001 - LiteRT has no public one
        return frozenset(int(index) for op in ops for index in op["outputs"])

    def _read(self, index: int) -> Array | None:
        try:
            array: Array = self._interpreter.get_tensor(index)
        except (RuntimeError, ValueError):
            return None
        return array


def _spell_name(name: str) -> list[str]:
    return [name, f"{name}:0", name.removesuffix(":0")]


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
