"""From an ONNX model and the user's spec for its inputs and outputs to an import."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import onnx

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import Array
from edgewright.frontends._common.faults import guard_reading
from edgewright.frontends._common.imported import BoundInput, Imported, NodeNames
from edgewright.frontends._common.input_spec import (
    InputSpec,
    bind_values,
    check_names,
    decide_types,
    shape_input,
)
from edgewright.frontends._common.source_model import SourceModel
from edgewright.frontends.onnx.declared import find_declared_type, read_input_type
from edgewright.frontends.onnx.importer import Importer, list_node_names
from edgewright.frontends.onnx.reader import OnnxFile
from edgewright.frontends.onnx.source import read_attribute
from edgewright.ir.types import TensorType


class OnnxSource(SourceModel):
    """An opened model with the types of its inputs decided."""

    framework = "ONNX"
    has_named_dims = True

    def __init__(self, file: OnnxFile, spec: InputSpec | None = None) -> None:
        spec = spec or InputSpec()
        self.file = file
        self._keep_all = spec.keep_disconnected
        with guard_reading(file.name):
            declared = _choose_input_types(file, spec)
            known = bind_values(file.name, spec, declared)
            self._known = {name: BoundInput(t, value) for name, (t, value) in known.items()}
            inputs = {name: t for name, t in declared.items() if name not in self._known}
            super().__init__(file.name, inputs, _choose_outputs(file, spec))

    @classmethod
    def open(
        cls,
        source: str | Path | bytes | onnx.ModelProto,
        spec: InputSpec | None = None,
        *,
        folder: str | Path | None = None,
    ) -> "OnnxSource":
        """From a path, or from a model in memory with the folder of its external data."""
        beside = Path(folder) if folder is not None else None
        if isinstance(source, onnx.ModelProto):
            return cls(OnnxFile(source, folder=beside), spec)
        if isinstance(source, bytes):
            return cls(OnnxFile.from_bytes(source, beside), spec)
        return cls(OnnxFile.open(Path(source)), spec)

    @property
    def tensors(self) -> frozenset[str]:
        """Names of all tensors of the main graph."""
        made = {name for node in self.file.graph.node for name in node.output if name}
        stored = {tensor.name for tensor in self.file.graph.initializer}
        return frozenset(made | stored | self.inputs.keys())

    @property
    def format(self) -> str:
        """ONNX and its opset."""
        return f"ONNX, opset {self.file.opset('')}"

    @property
    def own_outputs(self) -> Sequence[str]:
        """The graph's outputs."""
        return [item.name for item in self.file.graph.output]

    def nodes(self) -> list[NodeNames]:
        """All nodes of the main graph."""
        return [list_node_names(node, self.file.captures) for node in self.file.graph.node]

    def find_declared_type(self, name: str) -> TensorType | None:
        """As the file's value_info or its outputs have it."""
        return find_declared_type(self.file, name)

    def list_parameters(self) -> list[dict[str, Any]]:
        """The attributes of all nodes."""
        return [{item.name: read_attribute(item) for item in node.attribute} for node in self.file.graph.node]

    def read_stored(self, name: str) -> Array | None:
        """An initializer, or what a node of the kind Constant holds."""
        stored = self._stored.get(name)
        return None if stored is None else self.file.array(stored, Where(file=self.file.name, tensor=name))

    @cached_property
    def _stored(self) -> dict[str, onnx.TensorProto]:
        graph = self.file.graph
        nodes = [node for node in graph.node if node.op_type == "Constant" and node.output]
        inside = {node.output[0]: item.t for node in nodes for item in node.attribute if item.name == "value"}
        return {**inside, **{tensor.name: tensor for tensor in graph.initializer}}

    def _import(self, bindings: Mapping[str, BoundInput]) -> Imported:
        given = {**bindings, **self._known}
        return Importer(self.file, given, self.outputs, keep_all=self._keep_all).run()


def _choose_input_types(file: OnnxFile, spec: InputSpec) -> dict[str, TensorType]:
    stored = {tensor.name for tensor in file.graph.initializer}
    stored |= {sparse.values.name for sparse in file.graph.sparse_initializer}
    listed = [item for item in file.graph.input if item.name not in stored]
    declared = {item.name: item for item in listed}
    if len(declared) < len(listed):
        twice = next(item.name for item in reversed(listed) if declared[item.name] is not item)
        raise BadInput(
            f"input '{shown(twice)}' is there twice, expected unique names",
            Where(file=file.name),
            do="export the model again",
        )
    for field, names in (("input_shapes", spec.input_shapes), ("input_dtypes", spec.input_dtypes)):
        check_names(file.name, field, names, list(declared), "input")
    types = {
        name: shape_input(name, read_input_type(_with_shape(item, spec), file.name), file.name, spec)
        for name, item in declared.items()
    }
    return decide_types(types, file.name, spec)


def _with_shape(item: onnx.ValueInfoProto, spec: InputSpec) -> onnx.ValueInfoProto:
    """An input that the model gives no rank, in the rank of the user's shape."""
    wanted = spec.input_shapes.get(item.name)
    if wanted is None or not item.type.HasField("tensor_type") or item.type.tensor_type.HasField("shape"):
        return item
    copy = onnx.ValueInfoProto()
    copy.CopyFrom(item)
    for dim in wanted:
        copy.type.tensor_type.shape.dim.add(dim_value=dim)
    return copy


def _choose_outputs(file: OnnxFile, spec: InputSpec) -> list[str]:
    if not spec.outputs:
        if not file.graph.output:
            raise BadInput(
                "the model has no outputs" if file.graph.node else "not an ONNX model: it holds no graph",
                Where(file=file.name),
                do=f"check the file, or name outputs with {spell_option('outputs')}",
            )
        return [item.name for item in file.graph.output]
    made = {name for node in file.graph.node for name in node.output if name}
    made |= {item.name for item in file.graph.input} | {item.name for item in file.graph.initializer}
    check_names(file.name, "outputs", spec.outputs, sorted(made), "value")
    return list(dict.fromkeys(spec.outputs))
