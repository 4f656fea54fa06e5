"""Writes activations as ElementWiseNeuron where HTP knows them by no other name."""

from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.activation import ElementWiseSoftplus
from edgewright.ops.elementwise_generic import ElementWiseNeuron, NeuronOperation
from edgewright.passes.graph_pass import register_pass, rewrite_each


@register_pass()
def write_neurons(graph: Graph) -> int:
    """The same function with the same parameters."""
    return rewrite_each(graph, _rename)


def _rename(graph: Graph, node: Node) -> bool:
    op = _make_neuron(node.op)
    if op is None:
        return False
    types = graph.output_types(node)
    graph.remove(node)
    graph.add(Node(node.name, op, node.inputs, node.outputs, node.source), types)
    return True


def _make_neuron(op: Op) -> ElementWiseNeuron | None:
    if isinstance(op, ElementWiseSoftplus):
        line = NeuronOperation.SOFTPLUS
        return ElementWiseNeuron(operation=line, beta=op.beta, threshold=op.threshold)
    return None
