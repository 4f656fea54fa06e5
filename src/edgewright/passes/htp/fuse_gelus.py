"""Writes a Gelu that is approximated by a hyperbolic tangent or a sigmoid as the one op that HTP has."""

from collections.abc import Collection, Iterator

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import Gelu, Sigmoid, Tanh
from edgewright.ops.elementwise import Binary, ElementWiseMultiply, Unary
from edgewright.passes.graph_pass import Refused, rewrite_each
from edgewright.passes.match import number_of, take_over

# The approximation is at most 0.0005 from the exact function; x * sigmoid(1.702 * x) is 0.02 from it.
NEAR = 1e-3
PLACES = np.linspace(-12, 12, 1201)
# Ops of the longest form in use, and some more.
MOST_OPS = 16


def fuse_gelus(graph: Graph, kept: Collection[str]) -> int:
    """X / 2 * (1 + tanh(...)) in any form: its cubes need more than 8 bits, its result does not.

    Forms are told by what they compute, not by how they are written. Where a value on the way is one of those
    that must be kept, nothing is changed. Returns how many there were.
    """
    count = rewrite_each(graph, lambda graph, node: _fuse(graph, node, kept))
    graph.sort()
    return count


def _fuse(graph: Graph, node: Node, kept: Collection[str]) -> bool:
    if not isinstance(node.op, ElementWiseMultiply) or not graph.types[node.outputs[0]].dtype.is_float:
        return False
    for x in _list_arguments(graph, node):
        if graph.types[x].shape != graph.types[node.outputs[0]].shape:
            continue
        made: dict[str, Array | None] = {x: PLACES}
        result = _compute(graph, node.outputs[0], made)
        if result is None or np.abs(result - Gelu.meaning(PLACES)).max() > NEAR:
            continue
        between = made.keys() - {x, node.outputs[0]}
        if not between.isdisjoint(kept):
            raise Refused("a value on the way has an encoding of its own")
        take_over(graph, node, Gelu(), [x])
        return True
    return False


def _list_arguments(graph: Graph, node: Node) -> Iterator[str]:
    """What a product of x and a curve may be a function of: its operands, and those of a factor of a half."""
    is_curved = any(isinstance(maker.op, Tanh | Sigmoid) for maker in _list_makers(graph, node))
    for value in node.inputs if is_curved else ():
        if value in graph.constants:
            continue
        yield value
        maker = graph.producer(value)
        if maker is not None and isinstance(maker.op, ElementWiseMultiply):
            yield from (operand for operand in maker.inputs if operand not in graph.constants)


def _list_makers(graph: Graph, node: Node) -> list[Node]:
    """The nearest nodes that a value is computed from."""
    makers, place = [node], 0
    while place < len(makers) and len(makers) < MOST_OPS:
        before = (graph.producer(value) for value in makers[place].inputs)
        makers += [maker for maker in before if maker is not None and maker not in makers]
        place += 1
    return makers


def _compute(graph: Graph, value: str, made: dict[str, Array | None]) -> Array | None:
    """The value where x is at each of the places; None where it depends on anything else."""
    if value in made:
        return made[value]
    number, node = number_of(graph, value), graph.producer(value)
    if number is not None:
        return np.full(PLACES.shape, number)
    if node is None or not isinstance(node.op, Binary | Unary) or len(made) > MOST_OPS:
        return None
    # What cannot be told is not asked again: steps of a recurrent layer share what is before them.
    made[value] = None
    operands = [_compute(graph, operand, made) for operand in node.inputs]
    if any(operand is None for operand in operands):
        return None
    with np.errstate(all="ignore"):
        made[value] = np.asarray(node.op.values_for(operands)[0], np.float64)
    return made[value]
