"""TensorFlow's change of datatypes."""

from edgewright.core.numbers import DType
from edgewright.frontends._common.terms import cast_to
from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ops.elementwise import ElementWiseNotEqual


@tf_op("Cast")
def cast(ctx: Context, node: SourceNode) -> str:
    """A number is true where it is not 0."""
    (x,) = node.need(0)
    wanted = node.type("DstT")
    if wanted == DType.BOOL_8 and ctx.dtype(x) != wanted:
        return ctx.emit(ElementWiseNotEqual(), x, ctx.add_scalar(0, x))
    return cast_to(ctx, x, wanted)
