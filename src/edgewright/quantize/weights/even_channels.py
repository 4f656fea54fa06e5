"""Brings the channels that a depthwise convolution reads to one range: each then has all the steps there are.

One encoding serves all channels of an activation, so that a channel of small values has few steps. What leads
to a depthwise convolution has an encoding a channel on both sides, which takes any scale of a channel: moving
one from the one to the other costs nothing, and a Relu between them lets it through.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.reduce import ReduceMax, ReduceMin
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.weights.chains import Link, find_links
from edgewright.quantize.weights.scaling import is_named, own_constants, scale_in, scale_out

# A channel that the samples hardly reach may be larger in other data.
LARGEST_FACTOR = 16.0
# The smallest and the largest value of each channel.
Reach = tuple[Array, Array]


def list_values_before_depthwise(graph: Graph, pinned: Collection[str] = ()) -> list[str]:
    """What is to be measured: what depthwise convolutions read from others, with or without a Relu between.

    Nothing moves where an encoding is pinned: it was made for the weights and ranges as they are.
    """
    return [
        reader.inputs[0] for link, reader in _find_links(graph) if not is_named(pinned, *link.nodes, reader)
    ]


def measure_channel_reach(
    graph: Graph, values: Sequence[str], samples: Samples, executor: Executor
) -> dict[str, Reach]:
    """How far each channel (last axis) of values reaches over all samples: one pass."""
    watched = graph.copy()
    probes = {
        value: (_probe(watched, value, ReduceMin), _probe(watched, value, ReduceMax)) for value in values
    }
    if not probes:
        return {}
    session = executor.prepare(watched, [name for pair in probes.values() for name in pair])
    reaches: dict[str, Reach] = {}
    with announce_progress("measuring channels") as step:
        for sample in samples:
            results = session.run(sample)
            for value, pair in probes.items():
                low, high = (results[name].reshape(-1).astype(np.float64) for name in pair)
                before = reaches.get(value, (low, high))
                reaches[value] = (np.minimum(before[0], low), np.maximum(before[1], high))
            step()
    return reaches


def even_channels(graph: Graph, reach: Mapping[str, Reach]) -> tuple[Graph, int]:
    """A copy whose channels reach equally far, and how many activations were changed.

    A Relu6 stays: no channel is scaled beyond the largest one.
    """
    twin, count = graph.copy(), 0
    for node in twin.nodes:
        node.notes = dict(node.notes)
    for link, reader in _find_links(twin):
        if reader.inputs[0] not in reach:
            continue
        low, high = reach[reader.inputs[0]]
        largest = np.maximum(-low, high)
        if not np.isfinite(largest).all() or largest.max() <= 0:
            continue
        factor = np.clip(largest.max() / np.maximum(largest, 1e-30), 1.0, LARGEST_FACTOR)
        # A channel that never fires has nothing to gain.
        factor = np.where(largest > 0, factor, 1.0)
        own_constants(twin, (link.node, reader))
        scale_out(twin, link.node, factor)
        scale_in(twin, reader, 1 / factor)
        count += 1
    return twin, count


def _probe(graph: Graph, value: str, kind: type[ReduceMin | ReduceMax]) -> str:
    name = graph.fresh_name(f"{value}/{kind.__name__}")
    axes = tuple(range(graph.types[value].rank - 1))
    graph.add(Node(name, kind(axes=axes, keep_dims=True), [value], [name]))
    return name


def _find_links(graph: Graph) -> list[tuple[Link, Node]]:
    return [(link, reader) for link, reader in find_links(graph) if reader.op.is_depthwise]
