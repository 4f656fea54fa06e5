"""Writes HardSwish of floats as a product with HardSigmoid, which HTP computes to the last bits."""

from typing import TYPE_CHECKING, cast

import numpy as np

from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph, Node
from edgewright.ops.activation import HardSwish
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseMultiply
from edgewright.ops.elementwise_generic import ElementWiseNeuron, NeuronOperation
from edgewright.passes.graph_pass import register_pass, rewrite_each

if TYPE_CHECKING:
    from edgewright.ops.conv import DepthWiseConv2d

FLOATS = frozenset({DType.FLOAT_16, DType.FLOAT_32})
LINE = ElementWiseNeuron(operation=NeuronOperation.HARD_SIGMOID, alpha=1 / 6, beta=0.5)


@register_pass(after=("lower_ranks",), rtol=1e-6)
def spell_hard_swish(graph: Graph) -> int:
    """The emulator's (2.51) own is 0.03 % too small: in a network of thirty layers they add up to 1 %."""
    return rewrite_each(graph, _spell)


def _spell(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op.specific(), HardSwish) or graph.types[node.inputs[0]].dtype not in FLOATS:
        return False
    x, types = _keep_apart(graph, node), graph.output_types(node)
    share = graph.fresh_name(node.outputs[0])
    graph.remove(node)
    graph.add(Node(graph.fresh_name(f"{node.name}_share"), LINE, [x], [share], node.source), types)
    graph.add(Node(node.name, ElementWiseMultiply(), [x, share], node.outputs, node.source), types)
    return True


def _keep_apart(graph: Graph, node: Node) -> str:
    """The input; zero is added where its first places would be noise, in images of some sizes.

    That is so right behind depthwise sums whose strides differ (2.51); a product with one changes nothing.
    """
    x = node.inputs[0]
    maker = graph.producer(x)
    if maker is None or not maker.op.is_depthwise or len(set(cast("DepthWiseConv2d", maker.op).stride)) == 1:
        return x
    kind, apart = graph.types[x], graph.fresh_name(x)
    zero = graph.add_constant(graph.fresh_name(f"{node.name}_zero"), np.zeros(1, kind.dtype.numpy))
    name = graph.fresh_name(f"{node.name}_separate")
    graph.add(Node(name, ElementWiseAdd(), [x, zero], [apart], node.source), [kind])
    return apart
