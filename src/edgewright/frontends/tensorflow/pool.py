"""TensorFlow's pooling."""

from collections.abc import Callable

from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.frontends.tensorflow.windows import geometry, spatial
from edgewright.ops.pool import Pool, PoolAvg2d, PoolAvg3d, PoolMax2d, PoolMax3d

__all__: list[str] = []

KINDS: dict[str, tuple[int, Callable[..., Pool]]] = {
    "AvgPool": (2, PoolAvg2d),
    "AvgPool3D": (3, PoolAvg3d),
    "MaxPool": (2, PoolMax2d),
    "MaxPool3D": (3, PoolMax3d),
}


@tf_op(*KINDS)
def pool(ctx: Context, node: SourceNode) -> str:
    """Padding has no part in a mean or a maximum."""
    axes, kind = KINDS[node.op]
    size = spatial(node, "ksize", axes)

    def pooled(data: str) -> str:
        found = geometry(node, ctx.shape(data)[1:-1], size)
        return ctx.emit(kind(filter_size=size, stride=found.stride, pad_amount=found.pads), data)

    return ctx.around(node, node.need(0)[0], pooled)
