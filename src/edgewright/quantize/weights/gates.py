"""Even channels through a HardSwish before a depthwise convolution: x * gate(x), with scales of channels.

A HardSwish does not let scales through, but the product that it is does: its first factor may have any scale
of a channel, while the gate gets that scale back. The gate needs few steps, its argument matters from -3 to 3
only; and the product, which the depthwise convolution reads, has the scales that its weights take back.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.activation import HardSwish, ReluMinMax
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.elementwise_generic import ElementWiseNeuron, NeuronOperation
from edgewright.quantize.weights.chains import Link, find_links
from edgewright.quantize.weights.even_channels import LARGEST_FACTOR, Reach
from edgewright.quantize.weights.scaling import is_named, own_constants, scale_in, scale_out

# A HardSwish is zero below, and the identity above.
ENDS = 3.0


@dataclass(frozen=True)
class _Place:
    link: Link
    reader: Node

    @property
    def swish(self) -> Node:
        assert self.link.activation is not None
        return self.link.activation


def list_values_before_gates(graph: Graph, pinned: Collection[str] = ()) -> list[str]:
    """What is to be measured: the arguments of each HardSwish that can be taken apart."""
    free = [p for p in _find_places(graph) if not is_named(pinned, *p.link.nodes, p.reader)]
    return [place.swish.inputs[0] for place in free]


def split_gates(graph: Graph, reach: Mapping[str, Reach]) -> tuple[Graph, int]:
    """A copy in which channels before a HardSwish reach equally far, and how many were taken apart.

    Args:
        graph: the float graph.
        reach: the smallest and the largest value of each channel of ``values_before_gates``.
    """
    twin, count = graph.copy(), 0
    for node in twin.nodes:
        node.notes = dict(node.notes)
    for place in _find_places(twin):
        bounds = reach.get(place.swish.inputs[0])
        if bounds is not None and all(np.isfinite(end).all() for end in bounds):
            _take_apart(twin, place, *bounds)
            count += 1
    twin.sort()
    return twin, count


def _take_apart(graph: Graph, place: _Place, low: Array, high: Array) -> None:
    # Where a channel goes below -3 its gate is shut, however far it goes.
    sizes = np.maximum(np.maximum(high, -np.maximum(low, -ENDS)), 1e-30)
    factor = np.clip(sizes.max() / sizes, 1.0, LARGEST_FACTOR)
    own_constants(graph, (place.link.node, place.reader))
    scale_out(graph, place.link.node, factor)
    scale_in(graph, place.reader, 1 / factor)
    swish, types = place.swish, graph.output_types(place.swish)
    value, result = swish.inputs[0], swish.outputs[0]
    graph.remove(swish)
    # Beyond the largest size the gates of all channels are shut, or nothing was ever seen there.
    bounds = ReluMinMax(min_value=-float(sizes.max()), max_value=float(np.finfo(np.float32).max))
    bounded = _emit(graph, f"{swish.name}/bounded", bounds, value)
    scales = (1 / factor).astype(graph.types[value].dtype.numpy)
    constant = graph.add_constant(graph.fresh_name(f"{swish.name}/scales"), scales)
    argument = _emit(graph, f"{swish.name}/argument", ElementWiseMultiply(), bounded, constant)
    line = ElementWiseNeuron(operation=NeuronOperation.HARD_SIGMOID, alpha=1 / 6, beta=0.5)
    gate = _emit(graph, f"{swish.name}/gate", line, argument)
    graph.add(Node(swish.name, ElementWiseMultiply(), [bounded, gate], [result]), types)


def _emit(graph: Graph, hint: str, op: Op, *inputs: str) -> str:
    name = graph.fresh_name(hint)
    graph.add(Node(name, op, list(inputs), [name]))
    return name


def _find_places(graph: Graph) -> list[_Place]:
    links = find_links(graph, lambda node: isinstance(node.op, HardSwish))
    return [_Place(link, reader) for link, reader in links if link.activation and reader.op.is_depthwise]
