"""TensorFlow's pooling."""

from collections.abc import Callable

from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.frontends.tensorflow.windows import measure_same_pads, read_geometry, read_spatial
from edgewright.ops.pool import Pool, PoolAvg2d, PoolAvg3d, PoolMax2d, PoolMax3d
from edgewright.ops.windows import Pairs

KINDS: dict[str, tuple[int, Callable[..., Pool]]] = {
    "AvgPool": (2, PoolAvg2d),
    "AvgPool3D": (3, PoolAvg3d),
    "MaxPool": (2, PoolMax2d),
    "MaxPool3D": (3, PoolMax3d),
}


@tf_op("MaxPoolV2")
def pool_by_inputs(ctx: Context, node: SourceNode) -> str:
    """Window and strides are inputs."""
    x = node.need(0)[0]
    size, stride = (ctx.read_ints(value) for value in node.need(1, 2))
    if len(size) != 4 or len(stride) != 4 or node.is_channel_first:
        raise ctx.refuse(node, f"a window of {list(size)} with strides {list(stride)}")
    pads: Pairs = ((0, 0), (0, 0))
    if node.choice("padding", "VALID", ("SAME", "VALID")) == "SAME":
        pads = measure_same_pads(ctx.shape(x)[1:-1], size[1:3], stride[1:3])
    return ctx.emit(PoolMax2d(filter_size=size[1:3], stride=stride[1:3], pad_amount=pads), x)


@tf_op(*KINDS)
def pool(ctx: Context, node: SourceNode) -> str:
    """Padding has no part in a mean or a maximum."""
    axes, kind = KINDS[node.op]
    size = read_spatial(node, "ksize", axes)

    def pooled(data: str) -> str:
        found = read_geometry(node, ctx.shape(data)[1:-1], size)
        return ctx.emit(kind(filter_size=size, stride=found.stride, pad_amount=found.pads), data)

    return ctx.around(node, node.need(0)[0], pooled)
