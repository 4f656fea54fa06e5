"""Definitions that ONNX itself gives for its composed ops: how an op without a translation is decomposed."""

import onnx

from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.tensors import ONNX_CODES

__all__ = ["function_body"]


def function_body(ctx: Context, node: SourceNode) -> onnx.FunctionProto | None:
    """The op's own definition for these inputs; None where ONNX has none."""
    domain = "" if node.proto.domain == "ai.onnx" else node.proto.domain
    try:
        schema = onnx.defs.get_schema(node.op_type, node.version, domain)
    except onnx.defs.SchemaError:
        return None
    if schema.has_function:
        return _fitting(schema, node.version)
    if schema.has_context_dependent_function:
        return _built(ctx, schema, node)
    return None


def _fitting(schema: onnx.defs.OpSchema, version: int) -> onnx.FunctionProto | None:
    versions = [v for v in schema.function_opset_versions if v <= version]
    if not versions:
        return None
    return onnx.FunctionProto.FromString(schema.get_function_with_opset_version(max(versions)))


def _built(ctx: Context, schema: onnx.defs.OpSchema, node: SourceNode) -> onnx.FunctionProto | None:
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= node.version]
    if not versions:
        return None
    types = [_type_proto(ctx, value) for value in node.inputs]
    body = schema.get_context_dependent_function_with_opset_version(
        max(versions), node.proto.SerializeToString(), [t.SerializeToString() for t in types]
    )
    return onnx.FunctionProto.FromString(body) if body else None


def _type_proto(ctx: Context, value: str) -> onnx.TypeProto:
    if not value:
        return onnx.TypeProto()
    tensor_type = ctx.type(value)
    dims = [dim if isinstance(dim, int) else str(dim) for dim in tensor_type.shape]
    return onnx.helper.make_tensor_type_proto(ONNX_CODES[tensor_type.dtype], dims)
