"""One node of an ONNX file as its translation sees it."""

from dataclasses import dataclass
from typing import Any

import onnx

from edgewright.core.errors import BadInput, Where, shown

_KIND = onnx.AttributeProto
_FIELDS = {
    "f": _KIND.FLOAT,
    "i": _KIND.INT,
    "s": _KIND.STRING,
    "t": _KIND.TENSOR,
    "g": _KIND.GRAPH,
    "sparse_tensor": _KIND.SPARSE_TENSOR,
    "floats": _KIND.FLOATS,
    "ints": _KIND.INTS,
    "strings": _KIND.STRINGS,
}


@dataclass(frozen=True)
class SourceNode:
    """Inputs are names of graph values ("" where left out); attributes are read by name."""

    proto: onnx.NodeProto
    inputs: list[str]
    version: int
    label: str
    attributes: dict[str, onnx.AttributeProto]

    @property
    def op_type(self) -> str:
        """Name of the op in ONNX."""
        return self.proto.op_type

    @property
    def domain(self) -> str:
        """Where the op is defined; "" for ONNX's own."""
        return "" if self.proto.domain == "ai.onnx" else self.proto.domain

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs in the source; "" where one is not wanted."""
        return list(self.proto.output)

    @property
    def where(self) -> Where:
        """The place of this node for error messages."""
        return Where(op=self.proto.op_type, node=self.label)

    def input(self, index: int) -> str:
        """The input at ``index``; "" where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def has(self, name: str) -> bool:
        """Whether an attribute is given."""
        return name in self.attributes

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute's value: int, float, str, list of these, or a proto."""
        if name not in self.attributes:
            return default
        return read_attribute(self.attributes[name])

    def need(self, name: str) -> Any:
        """An attribute that must be given."""
        if name not in self.attributes:
            raise BadInput(f"attribute '{name}' is missing", self.where, do="export the model again")
        return read_attribute(self.attributes[name])


def label_of(proto: onnx.NodeProto) -> str:
    """How messages call a node: by its name, or by its first output."""
    return proto.name or next((name for name in proto.output if name), "")


def read_attribute(attribute: onnx.AttributeProto) -> Any:
    """The value of an attribute: int, float, str, list of these, or a proto."""
    if attribute.type == onnx.AttributeProto.UNDEFINED:
        return _read_untyped(attribute)
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [item.decode("utf-8", "replace") for item in value]
    if attribute.type in {onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS}:
        return list(value)
    return value


def _read_untyped(attribute: onnx.AttributeProto) -> Any:
    """The value of an attribute that does not say its type, as in the oldest models: whatever it holds."""
    typed = onnx.AttributeProto()
    typed.CopyFrom(attribute)
    for field, kind in _FIELDS.items():
        content = getattr(attribute, field)
        if len(content) if field.endswith("s") and field != "s" else attribute.HasField(field):
            typed.type = kind
            return read_attribute(typed)
    raise BadInput(
        f"attribute '{shown(attribute.name)}' has neither a type nor a value", do="export the model again"
    )
