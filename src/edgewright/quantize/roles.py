"""Which inputs of a node are weights and bias."""

from dataclasses import replace

from edgewright.ir.graph import Graph, Node
from edgewright.ir.traits import Roles


def find_roles(graph: Graph, node: Node) -> Roles:
    """The roles of a node's inputs; only constants have one."""
    roles = node.op.weight_roles(graph.input_types(node))
    constants = frozenset(place for place, value in enumerate(node.inputs) if value in graph.constants)
    return replace(roles, weights=roles.weights & constants, biases=roles.biases & constants)
