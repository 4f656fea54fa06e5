"""TensorFlow's normalisations."""

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.core.numbers import Array
from edgewright.frontends._common.functions import add
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ir.graph import Node
from edgewright.ir.op import Op
from edgewright.ops.elementwise import ElementWiseMaximum, ElementWiseMultiply, ElementWiseSubtract
from edgewright.ops.elementwise_unary import ElementWiseRsqrt
from edgewright.ops.norm import Batchnorm, L2Norm
from edgewright.ops.norm_channel import Lrn
from edgewright.ops.reduce import ReduceSum


@tf_op("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(ctx: Context, node: SourceNode) -> list[str]:
    """Statistics folded into one scale and one bias a channel; what training would need stays empty."""
    if node.attributes.flag("is_training", default=True):
        raise ctx.refuse(node, "it trains ('is_training' is set)", do="export the model for inference")
    x, scale, offset, mean, variance = node.need(0, 1, 2, 3, 4)
    weight, bias = _fold_statistics(
        ctx, (scale, offset, mean, variance), node.attributes.real("epsilon", 1e-4)
    )
    result = ctx.around(node, x, lambda data: ctx.emit(Batchnorm(), data, weight, bias))
    return [result, mean, variance, mean, variance, mean][: max(node.outputs, 1)]


@tf_op("BatchNormWithGlobalNormalization")
def early_batch_norm(ctx: Context, node: SourceNode) -> str:
    """The first form: the scale is last, and may be left out."""
    x, mean, variance, offset, scale = node.need(0, 1, 2, 3, 4)
    if not node.attributes.flag("scale_after_normalization"):
        scale = ctx.add_constant(np.ones(ctx.type(mean).static_shape(), ctx.dtype(mean).numpy))
    epsilon = node.attributes.real("variance_epsilon", 1e-3)
    return ctx.emit(Batchnorm(), x, *_fold_statistics(ctx, (scale, offset, mean, variance), epsilon))


@tf_op("LRN")
def local_response(ctx: Context, node: SourceNode) -> str:
    """Over neighbouring channels."""
    attributes = node.attributes
    op = Lrn(
        radius=attributes.whole("depth_radius", 5),
        bias=attributes.real("bias", 1.0),
        alpha=attributes.real("alpha", 1.0),
        beta=attributes.real("beta", 0.5),
    )
    return ctx.emit(op, *node.need(0))


def match_l2_norm(ctx: Context, left: str, right: str) -> L2Norm | None:
    """The norm that a product is: x / sqrt(max(sum(x * x), epsilon)); None where it is something else."""
    root = _find_producer(ctx, right, ElementWiseRsqrt)
    most = _find_producer(ctx, root.inputs[0], ElementWiseMaximum) if root is not None else None
    total = _find_producer(ctx, most.inputs[0], ReduceSum) if most is not None else None
    squares = _find_producer(ctx, total.inputs[0], ElementWiseMultiply) if total is not None else None
    if most is None or total is None or squares is None or squares.inputs != [left, left]:
        return None
    least = ctx.graph.constants.get(most.inputs[1])
    if least is None or least.size != 1 or not isinstance(total.op, ReduceSum) or not total.op.keep_dims:
        return None
    return L2Norm(axes=total.op.axes, epsilon=float(np.sqrt(least.reshape(-1)[0])))


def _find_producer(ctx: Context, value: str, kind: type[Op]) -> Node | None:
    node = ctx.graph.producer(value)
    return node if node is not None and isinstance(node.op, kind) else None


def _fold_statistics(ctx: Context, values: tuple[str, str, str, str], epsilon: float) -> tuple[str, str]:
    """The weight scale / sqrt(variance + epsilon) and the bias offset - mean * weight."""
    scale, offset, mean, variance = values
    arrays = [ctx.find_array(value) for value in values]
    if all(array is not None for array in arrays):
        s, o, m, v = (np.asarray(array, np.float64) for array in arrays)
        if s.shape != v.shape or o.shape != m.shape:
            raise ShapeMismatch(
                f"scale {list(s.shape)} and variance {list(v.shape)} differ", do="export the model again"
            )
        weight: Array = s / np.sqrt(v + epsilon)
        dtype = ctx.dtype(scale).numpy
        return ctx.add_constant(weight.astype(dtype)), ctx.add_constant((o - m * weight).astype(dtype))
    inverse = ctx.emit(ElementWiseRsqrt(), add(ctx, variance, epsilon))
    factor = ctx.emit(ElementWiseMultiply(), scale, inverse)
    shift = ctx.emit(ElementWiseMultiply(), mean, factor)
    return factor, ctx.emit(ElementWiseSubtract(), offset, shift)
