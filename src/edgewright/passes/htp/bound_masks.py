"""Gives masks before a softmax a number that fixed point and half precision can hold."""

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.match import number_of

# Exporters mask with the least float; BERT's own -10000 is enough, as exp() makes 0 of it too.
LEAST, ENOUGH = -1e30, -1e4


@register_pass()
def bound_masks(graph: Graph) -> int:
    """(1 - mask) * -3.4e38 has steps of 1e34 in fixed point, which Qualcomm's compiler refuses."""
    return rewrite_each(graph, _bound_mask)


def _bound_mask(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, ElementWiseMultiply) or not _is_mask(graph, node.outputs[0]):
        return False
    for place, value in enumerate(node.inputs):
        number = number_of(graph, value)
        if number is not None and number < LEAST:
            array = np.full_like(graph.constants[value], ENOUGH)
            graph.set_input(node, place, graph.add_constant(graph.fresh_name(value), array))
            return True
    return False


def _is_mask(graph: Graph, value: str) -> bool:
    """Whether it is only added to what a softmax reads."""
    sums = graph.consumers(value)
    readers = [reader for each in sums for reader in graph.consumers(each.outputs[0])]
    is_added = all(isinstance(each.op, ElementWiseAdd) for each in sums)
    is_read = all(each.op.ignores_masked for each in readers)
    return bool(readers) and is_added and is_read and value not in graph.outputs
