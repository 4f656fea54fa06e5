"""More bits for products of two activations, whose second operand stands where a weight would."""

from collections.abc import Iterator, Mapping

from edgewright.ir.graph import Graph
from edgewright.ops.matmul import MatMul
from edgewright.quantize.pins import Origin, Pin


def widen_products(graph: Graph, pins: Mapping[str, Pin]) -> dict[str, Pin]:
    """Pins of 16 bits for the second operands and the results of such products; what has a pin keeps it.

    The HTP multiplies 16 bits by 16 into 16: the result cannot have fewer than the operands.
    """
    values = [value for value in _list_values(graph) if value not in pins]
    return dict.fromkeys(values, Pin(16, None, Origin.RULE))


def _list_values(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        operands = node.inputs[:2]
        is_dynamic = isinstance(node.op, MatMul) and not any(v in graph.constants for v in operands)
        if is_dynamic and all(graph.types[value].dtype.is_float for value in operands):
            yield from (operands[1], node.outputs[0])
