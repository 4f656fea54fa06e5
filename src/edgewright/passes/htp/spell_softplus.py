"""Writes Softplus in floating point with exponentials and logarithms."""

import numpy as np

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.activation import ElementWiseSoftplus, Relu
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.ops.elementwise_unary import ElementWiseAbs, ElementWiseExp, ElementWiseLog
from edgewright.passes.graph_pass import register_pass, rewrite_each

# From here on x and Softplus of x are the same in half precision: switching over to x changes nothing.
LINEAR_FROM = 8.0


@register_pass()
def spell_softplus(graph: Graph) -> int:
    """max(x, 0) + log(1 + exp(-beta |x|)) / beta.

    HTP's own is 1 % off, and a mean or a pool behind it counts what it makes of the padding around x.
    """
    return rewrite_each(graph, _spell)


def _spell(graph: Graph, node: Node) -> bool:
    op, x, y = node.op, node.inputs[0], node.outputs[0]
    kind = graph.types[x]
    if not isinstance(op, ElementWiseSoftplus) or not kind.dtype.is_float or 0 <= op.threshold < LINEAR_FROM:
        return False
    result = graph.types[y]
    graph.remove(node)
    spelling = _Spelling(graph, node, kind)
    power = spelling.add(ElementWiseExp(), spelling.scale(spelling.add(ElementWiseAbs(), x), -op.beta))
    bend = spelling.add(ElementWiseLog(), spelling.add(ElementWiseAdd(), power, spelling.hold(1.0)))
    line = spelling.add(Relu(), x)
    total = Node(node.name, ElementWiseAdd(), [line, spelling.scale(bend, 1 / op.beta)], [y], node.source)
    graph.add(total, [result])
    return True


class _Spelling:
    """Adds ops on tensors of one type, named after the node that they replace."""

    def __init__(self, graph: Graph, node: Node, kind: TensorType) -> None:
        self._graph, self._node, self._kind = graph, node, kind

    def add(self, op: Op, *inputs: str) -> str:
        name = self._graph.fresh_name(f"{self._node.name}_{op.qnn_name()}")
        self._graph.add(Node(name, op, list(inputs), [name], self._node.source), [self._kind])
        return name

    def scale(self, value: str, factor: float) -> str:
        return value if factor == 1 else self.add(ElementWiseMultiply(), value, self.hold(factor))

    def hold(self, number: float) -> str:
        name = self._graph.fresh_name(f"{self._node.name}_number")
        array = np.full((1,) * max(self._kind.rank, 1), number, self._kind.dtype.numpy)
        self._graph.add_constant(name, array)
        return name
