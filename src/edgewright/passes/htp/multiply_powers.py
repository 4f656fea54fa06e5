"""Writes small powers of floats as products and roots, which HTP computes right for every base."""

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.elementwise import ElementWiseMultiply, ElementWisePower
from edgewright.ops.elementwise_unary import ElementWiseSquareRoot
from edgewright.passes.graph_pass import register_pass, rewrite_each
from edgewright.passes.match import number_of, take_over

FLOATS = frozenset({DType.FLOAT_16, DType.FLOAT_32})


@register_pass(after=("promote_scalars",), rtol=1e-6)
def multiply_powers(graph: Graph) -> int:
    """The emulator (2.51) has -4 for the square of -0, and NaN for its root, which spoil all that follows."""
    return rewrite_each(graph, _multiply)


def _multiply(graph: Graph, node: Node) -> bool:
    if (
        not isinstance(node.op.specific(), ElementWisePower)
        or graph.types[node.inputs[0]].dtype not in FLOATS
    ):
        return False
    base, exponent = node.inputs[0], number_of(graph, node.inputs[1])
    if exponent not in {0.5, 2.0, 3.0, 4.0} or graph.types[base].shape != graph.output_types(node)[0].shape:
        return False
    if exponent == 0.5:
        take_over(graph, node, ElementWiseSquareRoot(), [base])
        return True
    square = base if exponent == 2 else _add_square(graph, node, base)
    take_over(graph, node, ElementWiseMultiply(), [square, base if exponent in {2, 3} else square])
    return True


def _add_square(graph: Graph, node: Node, base: str) -> str:
    square = graph.fresh_name(f"{node.outputs[0]}_square")
    made = Node(
        graph.fresh_name(f"{node.name}_square"), ElementWiseMultiply(), [base, base], [square], node.source
    )
    graph.add(made, graph.output_types(node))
    return square
