"""Writes transposes of more than five axes, which HTP does not take, as several of five or fewer."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from math import prod

from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.graph_pass import register_pass, rewrite_each

MOST_AXES = 5

# An axis after others have been merged into it: its parts, as axes of the tensor that is transposed.
Block = tuple[int, ...]
# The shape of a tensor, and the order that its axes get.
Move = tuple[tuple[int, ...], tuple[int, ...]]


@register_pass()
def split_transposes(graph: Graph) -> int:
    """Reshapes between them merge axes that stay together; `merge_moves` joins those at the ends."""
    return rewrite_each(graph, _split)


def _split(graph: Graph, node: Node) -> bool:
    x, result = graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    if not isinstance(node.op, Transpose) or x.rank <= MOST_AXES or not x.is_static:
        return False
    graph.remove(node)
    value = node.inputs[0]
    for sizes, order in split_order(x.static_shape(), node.op.perm):
        for op in (Reshape(shape=sizes), Transpose(perm=order)):
            shape = sizes if isinstance(op, Reshape) else tuple(sizes[axis] for axis in order)
            moved = graph.fresh_name(node.inputs[0])
            kind = replace(x, shape=shape, layout=None)
            graph.add(Node(graph.free_name(node.name), op, [value], [moved], node.source), [kind])
            value = moved
    name = graph.fresh_name(f"{node.name}_reshape")
    graph.add(Node(name, Reshape(shape=result.static_shape()), [value], node.outputs, node.source), [result])
    return True


def split_order(shape: Sequence[int], perm: Sequence[int]) -> Iterator[Move]:
    """Shapes and orders of transposes that do the work of one, each of at most five axes."""
    goal = [axis for axis in perm if shape[axis] != 1]
    present = sorted(goal)
    while len(blocks := _merge(present, goal)) > MOST_AXES:
        chosen = min(_list_moves(present), key=lambda moved: len(_merge(sum(moved, ()), goal)))
        yield _describe(shape, sorted(chosen, key=lambda block: present.index(block[0])), chosen)
        present = list(sum(chosen, ()))
    yield _describe(shape, blocks, sorted(blocks, key=lambda block: goal.index(block[0])))


def _merge(present: Sequence[int], goal: Sequence[int]) -> list[Block]:
    """The axes in their present order; those that follow each other in the goal, too, are one block."""
    neighbours = set(pairwise(goal))
    blocks: list[Block] = []
    for axis in present:
        if blocks and (blocks[-1][-1], axis) in neighbours:
            blocks[-1] = (*blocks[-1], axis)
        else:
            blocks.append((axis,))
    return blocks


def _list_moves(present: Sequence[int]) -> Iterator[tuple[Block, ...]]:
    """Every order that one transpose of five axes can bring the present one to."""
    for cuts in combinations(range(1, len(present)), MOST_AXES - 1):
        bounds = pairwise((0, *cuts, len(present)))
        yield from permutations(tuple(present[start:end]) for start, end in bounds)


def _describe(shape: Sequence[int], blocks: Sequence[Block], moved: Sequence[Block]) -> Move:
    """The sizes of the blocks, and the order in which they are wanted."""
    sizes = tuple(prod(shape[axis] for axis in block) for block in blocks)
    return sizes or (1,), tuple(list(blocks).index(block) for block in moved) or (0,)
