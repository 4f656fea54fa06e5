"""TFLite normalisations."""

from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode
from edgewright.ops.norm import L2Norm
from edgewright.ops.norm_channel import Lrn

# TFLite divides by at least this length.
SHORTEST = 1e-6


@tflite_op("L2_NORMALIZATION")
def l2_normalization(ctx: Context, node: SourceNode) -> str:
    """Over the last axis."""
    (x,) = node.need(0)
    return ctx.activated(node, ctx.emit(L2Norm(axis=ctx.rank(x) - 1, epsilon=SHORTEST), x))


@tflite_op("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(ctx: Context, node: SourceNode) -> str:
    """Across neighbouring channels."""
    names = ("alpha", "beta", "bias", "radius")
    return ctx.emit(Lrn(**{name: node.option(name) for name in names}), *node.need(0))
