"""Writes a global average pool of reshaped rows as the ReduceMean that an exporter made it of."""

from edgewright.ir.dims import Shape
from edgewright.ir.graph import Graph, Node
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.ops.reduce import ReduceMean
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.layout.orders import is_view, order_channel_last
from edgewright.passes.match import find_maker, take_over


@register_pass(after=("fold_constants", "merge_moves"), rtol=1e-5)
def fuse_mean(graph: Graph) -> int:
    """[N, C, K] -> [N, C, 1, K] -> the mean of each image -> [N, C, 1], as tf2onnx writes a mean of rows."""
    return rewrite_each(graph, _fuse)


def _fuse(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, Reshape):
        return False
    pool = _pool_behind(graph, node.inputs[0])
    turn = find_maker(graph, pool.inputs[0], Transpose) if pool is not None else None
    split = find_maker(graph, turn.inputs[0], Reshape) if turn is not None else None
    if pool is None or turn is None or split is None or not _is_global(graph, pool, turn):
        return False
    x = split.inputs[0]
    axes = _find_reduced_axes(graph.types[x].shape, graph.types[split.outputs[0]].shape)
    if axes is None:
        return False
    for keep_dims in (True, False):
        op = ReduceMean(axes=axes, keep_dims=keep_dims)
        if op.infer(graph.types[x])[0].shape == graph.types[node.outputs[0]].shape:
            take_over(graph, node, op, [x])
            return True
    return False


def _pool_behind(graph: Graph, value: str) -> Node | None:
    """The pool that makes a value, seen through a transpose that moves nothing."""
    turn = find_maker(graph, value, Transpose)
    if turn is not None and isinstance(turn.op, Transpose):
        source = turn.inputs[0]
        value = source if is_view(graph.types[source].shape, turn.op.perm) else ""
    return find_maker(graph, value, PoolAvg2d)


def _is_global(graph: Graph, pool: Node, turn: Node) -> bool:
    """One window over a whole image that was channel first before."""
    op, shape = pool.op, graph.types[pool.inputs[0]].shape
    assert isinstance(op, PoolAvg2d)
    is_whole = op.filter_size == shape[1:3] and op.pad_amount == ((0, 0), (0, 0))
    return is_whole and turn.op == Transpose(perm=order_channel_last(4))


def _find_reduced_axes(rows: Shape, images: Shape) -> tuple[int, ...] | None:
    """The axes of the rows that lie in the last two axes of the images; None where a reshape mixed axes."""
    wide = [axis for axis, dim in enumerate(rows) if dim != 1]
    placed = [axis for axis, dim in enumerate(images) if dim != 1]
    if [rows[axis] for axis in wide] != [images[axis] for axis in placed]:
        return None
    axes = tuple(axis for axis, place in zip(wide, placed, strict=True) if place >= 2)
    return axes or None
