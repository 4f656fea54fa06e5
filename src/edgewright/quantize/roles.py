"""Which inputs of an op are weights and bias, and along which axes weights have channels and blocks."""

from dataclasses import dataclass

from edgewright.ir.graph import Graph, Node
from edgewright.ops.conv import Convolution, DepthWiseConv1d, DepthWiseConv2d
from edgewright.ops.conv_transpose import TransposedConvolution
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.norm import Norm
from edgewright.ops.recurrent import Recurrent

__all__ = ["Roles", "roles_of"]


@dataclass(frozen=True)
class Roles:
    """Places of weights and biases among an op's inputs; only constants are either."""

    weights: frozenset[int] = frozenset()
    biases: frozenset[int] = frozenset()
    # Output channels, and input channels, of the weights.
    axis: int | None = None
    block_axis: int | None = None
    is_convolution: bool = False
    # Weights, bias and output of these are all float or all integer.
    is_linear: bool = False


def roles_of(graph: Graph, node: Node) -> Roles:
    """The roles of a node's inputs."""
    constants = frozenset(place for place, value in enumerate(node.inputs) if value in graph.constants)
    if isinstance(node.op, Recurrent):
        ranks = {place: graph.types[node.inputs[place]].rank for place in constants}
        matrices = frozenset(place for place, rank in ranks.items() if rank == 2)
        return Roles(matrices, constants - matrices)
    weights, biases = constants & {1}, constants & {2}
    if isinstance(node.op, Norm):
        # Gains are operands of the size of an activation; there is nothing to multiply up behind them.
        return Roles(biases=biases)
    rank = graph.types[node.inputs[1]].rank if len(node.inputs) > 1 and node.inputs[1] else 0
    if isinstance(node.op, (Convolution, TransposedConvolution)):
        is_depthwise = isinstance(node.op, (DepthWiseConv1d, DepthWiseConv2d))
        block_axis = None if is_depthwise else rank - 2
        return Roles(weights, biases, rank - 1, block_axis, is_convolution=True, is_linear=True)
    if isinstance(node.op, FullyConnected):
        return Roles(weights, biases, 0, 1, is_linear=True)
    if isinstance(node.op, MatMul):
        columns, rows = (rank - 2, rank - 1) if node.op.transpose_in1 else (rank - 1, rank - 2)
        # A stack of matrices has no blocks: they are cut along one axis of two.
        return Roles(weights, biases, columns, rows if rank == 2 else None, is_linear=True)
    return Roles()
