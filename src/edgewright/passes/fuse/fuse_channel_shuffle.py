"""Writes a reshape, a swap of two axes and a reshape back as ChannelShuffle."""

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.ops.rearrange_blocks import ChannelShuffle
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.match import find_maker, take_over


@register_pass(after=("fold_constants", "merge_moves"))
def fuse_channel_shuffle(graph: Graph) -> int:
    """[.., g * c, ..] -> [.., g, c, ..] -> [.., c, g, ..] -> [.., g * c, ..]."""
    return rewrite_each(graph, _fuse)


def _fuse(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, Reshape):
        return False
    swap = find_maker(graph, node.inputs[0], Transpose)
    split = find_maker(graph, swap.inputs[0], Reshape) if swap is not None else None
    if swap is None or split is None or not isinstance(swap.op, Transpose):
        return False
    x, whole = split.inputs[0], graph.types[node.outputs[0]].shape
    parts, axis = graph.types[split.outputs[0]].shape, _find_swapped_axis(swap.op.perm)
    if axis is None or graph.types[x].shape != whole or len(parts) != len(whole) + 1:
        return False
    groups = parts[axis]
    is_split = parts[:axis] == whole[:axis] and parts[axis + 2 :] == whole[axis + 1 :]
    if not is_split or not isinstance(groups, int) or groups * parts[axis + 1] != whole[axis]:
        return False
    take_over(graph, node, ChannelShuffle(num_groups=groups, axis=axis), [x])
    return True


def _find_swapped_axis(perm: tuple[int, ...]) -> int | None:
    """The first of two neighbours that change places while all others stay."""
    moved = [place for place, axis in enumerate(perm) if place != axis]
    is_swap = len(moved) == 2 and moved[1] == moved[0] + 1
    return moved[0] if is_swap else None
