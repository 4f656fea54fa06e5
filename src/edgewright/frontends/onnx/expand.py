"""Definitions of composed ops, ONNX's own and the model's: how an op without a translation is decomposed."""

from typing import Any

import onnx

from edgewright.core.errors import BadInput
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.order import check_node_names
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.tensors import ONNX_CODES


def find_definition(ctx: Context, node: SourceNode) -> onnx.FunctionProto | None:
    """The op's own definition for these inputs; None where ONNX has none."""
    try:
        schema: Any = onnx.defs.get_schema(node.op_type, node.version, node.domain)
    except onnx.defs.SchemaError:
        return None
    if schema.has_function:
        return _choose_definition(schema, node.version)
    if schema.has_context_dependent_function:
        return _build_definition(ctx, schema, node)
    return None


def call_of(function: onnx.FunctionProto, node: SourceNode) -> SourceNode:
    """A call of the model's own function with its default attributes filled in."""
    for inner in function.node:
        check_node_names(inner)
    defaults = {attribute.name: attribute for attribute in function.attribute_proto}
    return SourceNode(node.proto, node.inputs, node.version, node.label, {**defaults, **node.attributes})


def bind_attributes(inner: onnx.NodeProto, call: SourceNode) -> onnx.NodeProto:
    """A function's node with the attributes that refer to the call's filled in."""
    if not any(attribute.ref_attr_name for attribute in inner.attribute):
        return inner
    bound = onnx.NodeProto()
    bound.CopyFrom(inner)
    del bound.attribute[:]
    for attribute in inner.attribute:
        if not attribute.ref_attr_name:
            bound.attribute.append(attribute)
        elif call.has(attribute.ref_attr_name):
            given = call.attributes[attribute.ref_attr_name]
            if given.ref_attr_name:
                raise BadInput(
                    f"attribute '{given.name}' refers to an attribute that no function has",
                    call.where,
                    do="export the model again",
                )
            copy = bound.attribute.add()
            copy.CopyFrom(given)
            copy.name = attribute.name
    return bound


def _choose_definition(schema: Any, version: int) -> onnx.FunctionProto | None:
    versions = [v for v in schema.function_opset_versions if v <= version]
    if not versions:
        return None
    data: bytes = schema.get_function_with_opset_version(max(versions))
    return _parse_function(data)


def _build_definition(ctx: Context, schema: Any, node: SourceNode) -> onnx.FunctionProto | None:
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= node.version]
    if not versions:
        return None
    types = [_type_proto(ctx, value) for value in node.inputs]
    try:
        body = schema.get_context_dependent_function_with_opset_version(
            max(versions), node.proto.SerializeToString(), [t.SerializeToString() for t in types]
        )
    except RuntimeError:  # onnx gives up on attributes it cannot combine
        return None
    return _parse_function(body) if body else None


def _parse_function(data: bytes) -> onnx.FunctionProto:
    function = onnx.FunctionProto()
    function.ParseFromString(data)
    return function


def _type_proto(ctx: Context, value: str) -> onnx.TypeProto:
    if not value:
        return onnx.TypeProto()
    tensor_type = ctx.type(value)
    dims = [dim if isinstance(dim, int) else str(dim) for dim in tensor_type.shape]
    return onnx.helper.make_tensor_type_proto(ONNX_CODES[tensor_type.dtype], dims)
