"""TFLite matrix products."""

from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ops.matmul import FullyConnected, MatMul


@tflite_op("FULLY_CONNECTED")
def fully_connected(ctx: Context, node: SourceNode) -> str:
    """Weights [out, in] as QNN has them; all axes but the last become one unless they are kept."""
    x, weights = node.need(0, 1)
    if node.option("weights_format"):
        raise ctx.refuse(node, "its weights are shuffled", do="export the model without shuffled weights")
    bias = [node.input(2)] if node.input(2) else []
    op = FullyConnected(keep_dims=node.option("keep_num_dims"))
    return ctx.activated(node, ctx.emit(op, x, weights, *bias))


@tflite_op("BATCH_MATMUL")
def batch_matmul(ctx: Context, node: SourceNode) -> str:
    """Either operand may be turned."""
    op = MatMul(transpose_in0=node.option("adj_x"), transpose_in1=node.option("adj_y"))
    return ctx.emit(op, *node.need(0, 1))
