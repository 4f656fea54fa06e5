"""ONNX casts."""

from edgewright.core.errors import BadInput
from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.foreign import keep_as_source_op
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.tensors import find_dtype
from edgewright.ops.cast import ROUND_MODES, Cast


@onnx_op("Cast", since=6)
def cast(ctx: Context, node: SourceNode) -> str | list[str]:
    """To the type that an attribute names; strings stay ONNX's."""
    code = node.need("to")
    if not isinstance(code, int):
        raise BadInput(f"attribute 'to' is {code!r}, expected a type code", node.where)
    return _cast(ctx, node, find_dtype(code, node.where))


@onnx_op("CastLike", since=15)
def cast_like(ctx: Context, node: SourceNode) -> str | list[str]:
    """To the type of another value."""
    return _cast(ctx, node, ctx.dtype(node.inputs[1]))


@onnx_op("BitCast", since=26)
def bit_cast(ctx: Context, node: SourceNode) -> str | list[str]:
    """Integers of one width are their own bits; other types stay ONNX's."""
    before, after = ctx.dtype(node.inputs[0]), find_dtype(node.need("to"), node.where)
    is_plain = all(t.is_integer or t == DType.BOOL_8 for t in (before, after)) and after != DType.BOOL_8
    if before.bits != after.bits or not is_plain:
        return keep_as_source_op(ctx, node)
    return cast_to(ctx, node.inputs[0], after)


def _cast(ctx: Context, node: SourceNode, dtype: DType) -> str | list[str]:
    x = node.inputs[0]
    if DType.STRING in {ctx.dtype(x), dtype}:
        return keep_as_source_op(ctx, node)
    mode = node.attr("round_mode", "up")
    if mode not in ROUND_MODES:
        raise BadInput(f"round_mode is '{mode}', expected one of {list(ROUND_MODES)}", node.where)
    if ctx.dtype(x) == dtype:
        return x
    if not dtype.is_float or dtype.bits > 8:  # only there the two options have a meaning
        return cast_to(ctx, x, dtype)
    return ctx.emit(Cast(dtype=dtype, saturate=bool(node.attr("saturate", 1)), round_mode=mode), x)
