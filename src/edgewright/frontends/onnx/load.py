"""From an ONNX file and the user's wishes for its inputs to an import."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from edgewright.core.errors import Problems, UnsupportedFeature, UsageError, Where
from edgewright.core.numbers import Array
from edgewright.frontends.onnx.importer import Imported, Importer, InputSpec
from edgewright.frontends.onnx.reader import OnnxFile
from edgewright.frontends.onnx.tensors import dtype_of
from edgewright.ir.dims import Dim, symbol
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType, type_of

__all__ = ["OnnxSource"]


class OnnxSource:
    """An opened model with the types of its inputs decided."""

    def __init__(self, file: OnnxFile, input_shapes: Mapping[str, Sequence[int]]) -> None:
        self._file = file
        stored = {tensor.name for tensor in file.graph.initializer}
        declared = [item for item in file.graph.input if item.name not in stored]
        unknown = sorted(set(input_shapes) - {item.name for item in declared})
        if unknown:
            raise UsageError(
                f"input '{unknown[0]}' is not in the model",
                Where(file=file.name),
                do=f"use one of {[i.name for i in declared]}",
            )
        self.inputs = {
            item.name: _input_type(item, file.name, input_shapes.get(item.name)) for item in declared
        }
        self.outputs = [item.name for item in file.graph.output]

    @classmethod
    def open(
        cls, source: str | Path | onnx.ModelProto, *, input_shapes: Mapping[str, Sequence[int]]
    ) -> "OnnxSource":
        """From a path, or from a model in memory."""
        file = OnnxFile(source) if isinstance(source, onnx.ModelProto) else OnnxFile.open(Path(source))
        return cls(file, input_shapes)

    def build(self, values: Mapping[str, Array]) -> Imported:
        """Imports the graph with some inputs bound to values."""
        specs = {
            name: InputSpec(type_of(values[name]), values[name]) if name in values else InputSpec(t)
            for name, t in self.inputs.items()
        }
        return Importer(self._file, specs, self.outputs).run()

    def specialise(self, values: Mapping[str, Array], bound: tuple[str, ...]) -> Graph:
        """The graph for one set of inputs: bound ones become constants, the others get their shapes."""
        names = set(bound)
        while True:
            specs = {
                name: InputSpec(type_of(values[name]), values[name] if name in names else None)
                for name in self.inputs
            }
            imported = Importer(self._file, specs, self.outputs).run()
            if imported.problems:
                raise Problems(imported.problems)
            if not imported.bound:
                return imported.graph
            names |= set(imported.bound)

    def declared_outputs(self) -> list[Any]:
        """Names of the outputs; their types follow from the values of the bound inputs."""
        return list(self.outputs)


def _input_type(item: onnx.ValueInfoProto, file: str, wanted: Sequence[int] | None) -> TensorType:
    where = Where(file=file, tensor=item.name)
    if not item.type.HasField("tensor_type"):
        kind = item.type.WhichOneof("value") or "nothing"
        raise UnsupportedFeature(
            f"input '{item.name}' is a {kind}, not a tensor",
            where,
            do="export a model whose inputs are tensors",
        )
    dtype = dtype_of(item.type.tensor_type.elem_type, where)
    if wanted is not None:
        return TensorType(tuple(wanted), dtype)
    dims: list[Dim] = []
    for axis, dim in enumerate(item.type.tensor_type.shape.dim):
        named = dim.dim_param or f"{item.name}_{axis}"
        dims.append(dim.dim_value if dim.HasField("dim_value") else symbol(named))
    return TensorType(tuple(dims), dtype)
