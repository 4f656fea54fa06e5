"""TFLite operators that an op package describes; custom ones carry their attributes as a map."""

from typing import TYPE_CHECKING, Any

from flatbuffers import flexbuffers

from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.frontends._common.package_ops import make_package_op
from edgewright.frontends.tflite.encoded import type_in_graph
from edgewright.ir.types import TensorType
from edgewright.ops.package import definition_of

if TYPE_CHECKING:
    from edgewright.frontends.tflite.context import Context
    from edgewright.frontends.tflite.source import SourceNode


def is_of_package(name: str) -> bool:
    """Whether a package describes the op."""
    return definition_of(name) is not None


def keep_as_package_op(ctx: "Context", node: "SourceNode") -> list[str]:
    """Emits the operator as an op of its package, on real numbers."""
    definition = definition_of(node.op)
    assert definition is not None

    def declared(index: int) -> TensorType:
        found = type_in_graph(node.results[index])
        return TensorType(found.shape, DType.FLOAT_32) if found.dtype.is_fixed_point else found

    attributes = dict(node.operator.options) | _map(node)
    inputs = [ctx.type(value) if value else None for value in node.inputs]
    op = make_package_op(definition, attributes, inputs, declared, node.where, len(node.results))
    return ctx.emit_all(op, *node.inputs)


def _map(node: "SourceNode") -> dict[str, Any]:
    data = bytes(node.operator.custom_options)
    if not data:
        return {}
    try:
        found = flexbuffers.Loads(data)
    except Exception as problem:  # whatever damaged bytes make the package raise
        raise BadInput(
            f"the custom op's options cannot be read ({type(problem).__name__})",
            node.where,
            do="export the model again",
        ) from None
    if not isinstance(found, dict):
        raise BadInput(f"the custom op's options are a {type(found).__name__}, expected a map", node.where)
    return found
