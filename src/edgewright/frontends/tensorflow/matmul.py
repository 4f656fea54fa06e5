"""TensorFlow's matrix products."""

from edgewright.core.errors import ShapeMismatch
from edgewright.frontends._common.einsum import emit_einsum
from edgewright.frontends._common.products import emit_product
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ops.matmul import MatMul


@tf_op("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def matmul(ctx: Context, node: SourceNode) -> str:
    """A fully connected layer where the weights are known."""
    left, right = node.need(0, 1)
    if ctx.rank(left) < 2 or ctx.rank(right) < 2:
        raise ShapeMismatch(
            f"operands are {ctx.type(left)} and {ctx.type(right)}, expected matrices", do="reshape them"
        )
    first, second = ("transpose_a", "transpose_b") if node.op == "MatMul" else ("adj_x", "adj_y")
    turned = MatMul(transpose_in0=node.attributes.flag(first), transpose_in1=node.attributes.flag(second))
    return emit_product(ctx, left, right, turned)


@tf_op("Einsum")
def einsum(ctx: Context, node: SourceNode) -> str:
    """The equation is an attribute."""
    return emit_einsum(ctx, node.attributes.text("equation"), node.inputs, node.where)
