"""ONNX ops that move elements."""

import numpy as np

from edgewright.core.errors import ShapeMismatch
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.dims import Dim, element_count
from edgewright.ops.axes import normal_axis
from edgewright.ops.rearrange import Concat, Reshape, Transpose

__all__: list[str] = []


@onnx_op("Constant")
def constant(ctx: Context, node: SourceNode) -> str:
    """A tensor, number, string or list given as an attribute."""
    if node.has("value"):
        return ctx.constant(ctx.tensor(node.need("value"), node))
    for name, dtype in (
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        if node.has(name):
            return ctx.constant(np.asarray(node.attr(name), dtype))
    raise ctx.refuse(node, "it holds strings or a sparse tensor")


@onnx_op("Identity")
def identity(ctx: Context, node: SourceNode) -> str:
    """Another name for the same value."""
    return node.inputs[0]


@onnx_op("Transpose")
def transpose(ctx: Context, node: SourceNode) -> str:
    """Reversed axes where no order is given."""
    rank = ctx.rank(node.inputs[0])
    order = node.attr("perm", list(reversed(range(rank))))
    return ctx.emit(Transpose(perm=tuple(order)), node.inputs[0])


@onnx_op("Concat")
def concat(ctx: Context, node: SourceNode) -> str:
    """Along a normalised axis."""
    axis = normal_axis(
        node.need("axis") if node.version >= 4 else node.attr("axis", 1), ctx.rank(node.inputs[0])
    )
    return ctx.emit(Concat(axis=axis), *node.inputs)


@onnx_op("Reshape", since=5)
def reshape(ctx: Context, node: SourceNode) -> str:
    """0 copies a dimension (unless allowzero), -1 takes what is left."""
    x = node.inputs[0]
    wanted = list(ctx.dims(node.inputs[1]))
    if not node.attr("allowzero", 0):
        wanted = [ctx.shape(x)[axis] if dim == 0 else dim for axis, dim in enumerate(wanted)]
    return ctx.emit(Reshape(shape=_resolved(wanted, ctx.type(x).count)), x)


def _resolved(wanted: list[Dim], count: Dim) -> tuple[Dim, ...]:
    unknown = [axis for axis, dim in enumerate(wanted) if dim == -1]
    if len(unknown) > 1:
        raise ShapeMismatch(
            f"shape {wanted} leaves {len(unknown)} dimensions open", do="leave at most one -1"
        )
    if unknown:
        rest = element_count(dim for dim in wanted if dim != -1)
        wanted[unknown[0]] = count // rest if rest != 0 else 0
    return tuple(wanted)
