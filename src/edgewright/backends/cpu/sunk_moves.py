"""Functions of single elements before the moves that they follow: moves meet others there, and cancel.

The engine does so by itself, except in the branches of an If.
"""

from edgewright.backends.cpu.patterns import cast_op
from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import ElementWiseSelect, Unary
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.passes.clean.merge_moves import merge_moves

MOVES = (Reshape, Transpose)


def with_sunk_moves(graph: Graph) -> Graph:
    """The graph, or a copy with moves behind functions, where something in it is chosen."""
    is_choosing = any(cast_op(node, ElementWiseSelect) for node in graph.nodes)
    if not is_choosing or not any(_find_move(graph, node) for node in graph.nodes):
        return graph
    changed = graph.copy()
    for node in changed.nodes:
        current = node
        while (move := _find_move(changed, current)) is not None:
            current = _swap(changed, move, current)
    changed.sort()
    while merge_moves(changed) + _drop_idle(changed):
        changed.sort()
    return changed


def _drop_idle(graph: Graph) -> int:
    """Takes transposes out that leave every axis where it is."""
    pairs = [(node, cast_op(node, Transpose)) for node in graph.nodes]
    idle = [node for node, op in pairs if op is not None and op.perm == tuple(range(len(op.perm)))]
    dropped = [node for node in idle if node.outputs[0] not in graph.outputs]
    for node in dropped:
        graph.replace_uses(node.outputs[0], node.inputs[0])
        graph.remove(node)
    return len(dropped)


def _find_move(graph: Graph, node: Node) -> Node | None:
    """The move before a function of single elements, if nothing else reads it."""
    if len(node.inputs) != 1 or len(node.outputs) != 1:
        return None
    move = graph.producer(node.inputs[0])
    if move is None or not isinstance(move.op, MOVES) or not graph.is_used_once(node.inputs[0]):
        return None
    kinds = [graph.types[value] for value in (*node.inputs, *node.outputs)]
    is_plain = kinds[0] == kinds[1] and kinds[0].encoding is None and kinds[0].rank > 1
    return move if is_plain and isinstance(node.op.specific(), Unary) else None


def _swap(graph: Graph, move: Node, node: Node) -> Node:
    result = node.outputs[0]
    kind, between = graph.types[result], graph.fresh_name(result)
    for old in (node, move):
        graph.remove(old)
    first = graph.add(Node(node.name, node.op, [move.inputs[0]], [between], source=node.source))
    graph.add(Node(move.name, move.op, [between], [result], source=move.source), [kind])
    return first
