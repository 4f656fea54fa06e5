"""ONNX ops without a QNN meaning: kept as they are, with the types that ONNX infers for them."""

from collections.abc import Hashable
from typing import Any

import onnx

from edgewright.config.spelling import advise_cut
from edgewright.core.errors import LimitExceeded, UnsupportedOp, Where
from edgewright.core.numbers import Array, DType
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.tensors import DTYPES, ONNX_CODES
from edgewright.ir.dims import Dim, symbol
from edgewright.ir.types import TensorType
from edgewright.ops.source import SourceOp

SIMPLE_ATTRIBUTES = frozenset(
    {
        onnx.AttributeProto.INT,
        onnx.AttributeProto.FLOAT,
        onnx.AttributeProto.STRING,
        onnx.AttributeProto.INTS,
        onnx.AttributeProto.FLOATS,
        onnx.AttributeProto.STRINGS,
    }
)
# Engines go through every one of these.
COUNTED = {"TfIdfVectorizer": ("max_skip_count", "max_gram_length")}
LARGEST_COUNT = 1 << 16
# ONNX knows these, but neither the engine nor a plain installation can run them.
NOT_RUNNABLE = {"ImageDecoder": "decoding image files is not part of a network"}


def keep_as_source_op(ctx: Context, node: SourceNode) -> list[str]:
    """Emits the node as a SourceOp, or refuses it where its types cannot be told."""
    if node.domain or not onnx.defs.has(node.op_type, node.version, node.domain):
        raise make_unknown_op_error(node.op_type, node.domain, node.version, node.where)
    if node.op_type in NOT_RUNNABLE:
        raise ctx.refuse(node, NOT_RUNNABLE[node.op_type])
    if any(a.type not in SIMPLE_ATTRIBUTES for a in node.attributes.values()):
        raise ctx.refuse(node, "it holds a subgraph, a tensor or a type as attribute")
    results = _infer_result_types(ctx, node)
    attributes = tuple((name, _freeze_value(node.attr(name))) for name in sorted(node.attributes))
    too_many = [name for name in COUNTED.get(node.op_type, ()) if node.attr(name, 0) > LARGEST_COUNT]
    if too_many:
        raise LimitExceeded(
            f"attribute '{too_many[0]}' is {node.attr(too_many[0])}, expected at most {LARGEST_COUNT}",
            node.where,
            do="lower it",
        )
    empty = [name for name, value in attributes if value == ()]
    if empty:
        raise ctx.refuse(node, f"attribute '{empty[0]}' is empty")
    op = SourceOp(
        package="ai.onnx", type=node.op_type, version=node.version, attributes=attributes, results=results
    )
    return ctx.emit_all(op, *node.inputs)


def make_unknown_op_error(op_type: str, domain: str, version: int, where: Where) -> UnsupportedOp:
    """The error for an op that neither ONNX nor the model defines."""
    return UnsupportedOp(
        f"ONNX op '{op_type}' is not known in domain '{domain or 'ai.onnx'}', opset {version}",
        where,
        do=advise_cut(),
    )


def _freeze_value(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value


def _infer_result_types(ctx: Context, node: SourceNode) -> tuple[TensorType, ...]:
    names = [f"in{i}" if value else "" for i, value in enumerate(node.inputs)]
    single = onnx.helper.make_node(
        node.op_type,
        names,
        [f"out{i}" if name else "" for i, name in enumerate(node.outputs)],
        domain=node.proto.domain,
    )
    single.attribute.extend(node.attributes.values())
    graph = onnx.helper.make_graph([single], "single", [], [])
    for name, value in zip(names, node.inputs, strict=True):
        if value:
            _declare(ctx, graph, name, value)
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid(node.proto.domain, node.version)]
    )
    try:
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as problem:
        raise ctx.refuse(node, f"ONNX cannot infer its types ({str(problem).splitlines()[0]})") from None
    found = {item.name: item.type for item in inferred.graph.value_info}
    if any(name and not found[name].tensor_type.HasField("shape") for name in single.output if name in found):
        _need_parameters(ctx, node)
    return tuple(_type(ctx, node, found.get(name), index) for index, name in enumerate(single.output))


def _need_parameters(ctx: Context, node: SourceNode) -> None:
    """The shape of a result may follow from a vector of integers: then that must be known."""
    for value in node.inputs:
        if value and ctx.dtype(value) == DType.INT_64 and ctx.rank(value) <= 1:
            ctx.read_array(value)


def _declare(ctx: Context, graph: onnx.GraphProto, name: str, value: str) -> None:
    known: Array | None = ctx.find_array(value) if ctx.type(value).count in range(1025) else None
    tensor_type = ctx.type(value)
    code = ONNX_CODES.get(tensor_type.dtype, onnx.TensorProto.FLOAT)
    if known is not None and code != onnx.TensorProto.STRING:
        graph.initializer.append(onnx.numpy_helper.from_array(known, name))
    dims = [dim if isinstance(dim, int) else str(dim) for dim in tensor_type.shape]
    graph.input.append(onnx.helper.make_tensor_value_info(name, code, dims))


def _type(ctx: Context, node: SourceNode, found: onnx.TypeProto | None, index: int) -> TensorType:
    if not node.outputs[index]:
        return TensorType((0,))
    if found is None or not found.HasField("tensor_type") or not found.tensor_type.HasField("shape"):
        raise ctx.refuse(node, f"the type of output {index} cannot be told")
    dims: list[Dim] = []
    for axis, dim in enumerate(found.tensor_type.shape.dim):
        dims.append(dim.dim_value if dim.HasField("dim_value") else symbol(f"{node.label}_{index}_{axis}"))
    return TensorType(tuple(dims), DTYPES[found.tensor_type.elem_type])
