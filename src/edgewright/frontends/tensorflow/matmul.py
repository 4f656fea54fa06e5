"""TensorFlow's matrix products."""

from edgewright.core.errors import ShapeMismatch
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ops.matmul import FullyConnected, MatMul

__all__ = ["product"]

# The attributes that turn the operands, by op.
TURNS = {"MatMul": ("transpose_a", "transpose_b"), "SparseMatMul": ("transpose_a", "transpose_b")}


@tf_op("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def matmul(ctx: Context, node: SourceNode) -> str:
    """A fully connected layer where the weights are known."""
    left, right = node.need(0, 1)
    first, second = TURNS.get(node.op, ("adj_x", "adj_y"))
    turned = MatMul(transpose_in0=node.attributes.flag(first), transpose_in1=node.attributes.flag(second))
    return product(ctx, left, right, turned)


def product(ctx: Context, left: str, right: str, turned: MatMul | None = None) -> str:
    """A product of matrices; a fully connected layer where the right one is a known matrix."""
    turned = turned or MatMul()
    if ctx.rank(left) < 2 or ctx.rank(right) < 2:
        raise ShapeMismatch(
            f"operands are {ctx.type(left)} and {ctx.type(right)}, expected matrices", do="reshape them"
        )
    is_weight = ctx.rank(right) == 2 and ctx.dtype(right).is_float and right in ctx.graph.constants
    if turned.transpose_in0 or not is_weight:
        return ctx.emit(turned, left, right)
    # The layer would fold rows of another width; a product must not.
    turned.infer(ctx.type(left), ctx.type(right))
    weights = right if turned.transpose_in1 else ctx.transpose(right, (1, 0))
    return ctx.emit(FullyConnected(keep_dims=ctx.rank(left) > 2), left, weights)
