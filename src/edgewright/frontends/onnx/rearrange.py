"""ONNX ops that move elements: other shapes, other orders, joins and repeats."""

import numpy as np

from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends._common.terms import broadcast_to
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.registry import MICROSOFT, onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.dims import Dim, Shape, element_count, is_static
from edgewright.ops.axes import normal_axes, normal_axis
from edgewright.ops.rearrange import Concat, Reshape, Transpose
from edgewright.ops.rearrange_blocks import BlockMode, DepthToSpace, SpaceToDepth
from edgewright.ops.rearrange_fill import Tile

# Until then Dropout's mask had the datatype of the data.
FIRST_BOOL_MASK_OPSET = 10


@onnx_op("Constant")
def constant(ctx: Context, node: SourceNode) -> str:
    """A tensor, number, string or list given as an attribute."""
    if node.has("value"):
        return ctx.add_constant(ctx.tensor(node.need("value"), node))
    for name, dtype in (
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        if node.has(name):
            return ctx.add_constant(np.asarray(node.attr(name), dtype))
    for name in ("value_string", "value_strings"):
        if node.has(name):
            return ctx.add_constant(np.asarray(node.attr(name), object))
    if node.has("sparse_value"):
        return ctx.add_constant(ctx.tensor(node.need("sparse_value"), node))
    raise BadInput("a constant without a value is given", node.where, do="export the model again")


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
    wanted = list(ctx.read_dims(node.inputs[1]))
    if not node.attr("allowzero", 0):
        if 0 in wanted[ctx.rank(x) :]:
            raise ShapeMismatch(
                f"shape {[str(dim) for dim in wanted]} copies (0) an axis that {ctx.type(x)} does not have",
                node.where,
                do="give the size, or set allowzero",
            )
        wanted = [ctx.shape(x)[axis] if dim == 0 else dim for axis, dim in enumerate(wanted)]
    return ctx.emit(Reshape(shape=_resolve_shape(wanted, ctx.type(x).count)), x)


@onnx_op("Flatten")
def flatten(ctx: Context, node: SourceNode) -> str:
    """Two axes: what is before the axis, and the rest."""
    shape = ctx.shape(node.inputs[0])
    given = node.attr("axis", 1)
    axis = given if given == len(shape) else normal_axis(given, len(shape))
    return ctx.reshape(node.inputs[0], (element_count(shape[:axis]), element_count(shape[axis:])))


@onnx_op("Squeeze")
def squeeze(ctx: Context, node: SourceNode) -> str:
    """Without the axes named, or without all that have size 1, which the numbers of a run decide."""
    shape = ctx.shape(node.inputs[0])
    given = read_ints(ctx, node, "axes", 1)
    if given is None:
        if not is_static(shape):
            raise NeedsValue(node.inputs[0], is_shape=True)
        return ctx.reshape(node.inputs[0], tuple(dim for dim in shape if dim != 1))
    axes = normal_axes(given, len(shape))
    for axis in axes:
        if isinstance(shape[axis], int) and shape[axis] != 1:
            raise ShapeMismatch(
                f"axis {axis} of {ctx.type(node.inputs[0])} has size {shape[axis]}, expected 1",
                do="squeeze axes of size 1",
            )
    return ctx.reshape(node.inputs[0], tuple(dim for axis, dim in enumerate(shape) if axis not in axes))


@onnx_op("Unsqueeze")
@onnx_op("ExpandDims", domain=MICROSOFT)
def unsqueeze(ctx: Context, node: SourceNode) -> str:
    """Axes of size 1 at the places they have in the result."""
    given = read_ints(ctx, node, "axes", 1)
    if given is None:
        raise BadInput("axes are missing", do="export the model again")
    rank = ctx.rank(node.inputs[0]) + len(given)
    axes = normal_axes(given, rank)
    if len(axes) != len(given):
        raise ShapeMismatch(f"axes {list(given)} name one axis twice", do="name each axis once")
    dims = iter(ctx.shape(node.inputs[0]))
    return ctx.reshape(node.inputs[0], tuple(1 if axis in axes else next(dims) for axis in range(rank)))


@onnx_op("Expand", since=8)
def expand(ctx: Context, node: SourceNode) -> str:
    """Repeated along axes of size 1, as an operand would be."""
    return broadcast_to(ctx, node.inputs[0], ctx.read_dims(node.inputs[1]))


@onnx_op("Tile", since=6)
def tile(ctx: Context, node: SourceNode) -> str:
    """Repeated along each axis."""
    multiples = ctx.read_dims(node.inputs[1])
    if len(multiples) == ctx.rank(node.inputs[0]) and all(multiple == 1 for multiple in multiples):
        return node.inputs[0]
    return ctx.emit(Tile(multiples=multiples), node.inputs[0])


@onnx_op("DepthToSpace")
def depth_to_space(ctx: Context, node: SourceNode) -> str:
    """Channel last in between; the order of depth is an attribute."""
    op = DepthToSpace(block_size=_read_block(ctx, node), mode=_read_block_mode(node))
    return ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(node.inputs[0])))


@onnx_op("SpaceToDepth")
def space_to_depth(ctx: Context, node: SourceNode) -> str:
    """Channel last in between; newer opsets have the order of depth too."""
    op = SpaceToDepth(block_size=_read_block(ctx, node), mode=_read_block_mode(node))
    return ctx.move_channels_first(ctx.emit(op, ctx.move_channels_last(node.inputs[0])))


@onnx_op("Dropout")
def dropout(ctx: Context, node: SourceNode) -> str | list[str]:
    """The data as they are, and a mask of ones; training is not what an NPU does."""
    x = node.inputs[0]
    is_training = bool(node.input(2)) and bool(ctx.read_array(node.input(2)).any())
    if is_training and not (node.input(1) and float(ctx.read_array(node.input(1)).reshape(-1)[0]) == 0):
        raise ctx.refuse(node, "it is in training mode", "export the model for inference")
    if len(node.outputs) == 1:
        return x
    is_bool = node.version >= FIRST_BOOL_MASK_OPSET
    one = ctx.add_constant(np.ones((), np.bool_ if is_bool else ctx.dtype(x).numpy))
    return [x, broadcast_to(ctx, one, ctx.shape(x))]


def read_dims(ctx: Context, node: SourceNode, name: str, index: int) -> Shape | None:
    """Numbers that older opsets give as an attribute and newer ones as an input; None where neither is."""
    if node.has(name):
        return tuple(node.attr(name))
    return ctx.read_dims(node.input(index)) if node.input(index) else None


def read_ints(ctx: Context, node: SourceNode, name: str, index: int) -> tuple[int, ...] | None:
    """The same where no symbolic dimension will do."""
    if node.has(name):
        return tuple(node.attr(name))
    return ctx.read_ints(node.input(index)) if node.input(index) else None


def _read_block_mode(node: SourceNode) -> BlockMode:
    mode = node.attr("mode", "DCR")
    if mode not in BlockMode.__members__:
        raise BadInput(f"mode is '{mode}', expected DCR or CRD", do="export the model again")
    return BlockMode[mode]


def _read_block(ctx: Context, node: SourceNode) -> tuple[int, int]:
    if ctx.rank(node.inputs[0]) != 4:
        raise ShapeMismatch(
            f"{ctx.type(node.inputs[0])} is given, expected rank 4", do="reshape it to rank 4"
        )
    return (node.need("blocksize"),) * 2


def _resolve_shape(wanted: list[Dim], count: Dim) -> tuple[Dim, ...]:
    unknown = [axis for axis, dim in enumerate(wanted) if dim == -1]
    if len(unknown) > 1:
        raise ShapeMismatch(
            f"shape {wanted} leaves {len(unknown)} dimensions open", do="leave at most one -1"
        )
    if unknown:
        rest = element_count(dim for dim in wanted if dim != -1)
        wanted[unknown[0]] = count // rest if rest != 0 else 0
    return tuple(wanted)
