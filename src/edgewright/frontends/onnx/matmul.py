"""ONNX matrix products."""

from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ops.matmul import MatMul

__all__: list[str] = []


@onnx_op("MatMul")
def matmul(ctx: Context, node: SourceNode) -> str:
    """Vectors become matrices and back, as numpy's matmul has it."""
    left, right = node.inputs
    left_rank, right_rank = ctx.rank(left), ctx.rank(right)
    if left_rank == 1:
        left = ctx.reshape(left, (1, *ctx.shape(left)))
    if right_rank == 1:
        right = ctx.reshape(right, (*ctx.shape(right), 1))
    result = ctx.emit(MatMul(), left, right)
    shape = list(ctx.shape(result))
    if right_rank == 1:
        shape = shape[:-1]
    if left_rank == 1:
        del shape[len(shape) - (1 if right_rank == 1 else 2)]
    return ctx.reshape(result, shape)
