"""Brings the channels that a depthwise convolution reads to one range: each then has all the steps there are.

One encoding serves all channels of an activation, so that a channel of small values has few steps. What leads
to a depthwise convolution has an encoding a channel on both sides, which takes any scale of a channel: moving
one from the one to the other costs nothing, and a Relu between them lets it through.
"""

from collections.abc import Mapping

import numpy as np

from edgewright.core.events import progress
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.reduce import ReduceMax
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.weights.chains import Link, is_depthwise, links_of
from edgewright.quantize.weights.scaling import own_constants, scale_in, scale_out

__all__ = ["channel_maxima", "evened"]

# A channel that the samples hardly reach may be larger in other data.
LARGEST_FACTOR = 16.0


def channel_maxima(graph: Graph, samples: Samples, executor: Executor) -> dict[str, Array]:
    """The largest value of each channel that a depthwise convolution reads behind a Relu."""
    watched, probes = graph.copy(), {}
    for _, reader in _found(graph):
        value = reader.inputs[0]
        axes = tuple(range(graph.types[value].rank - 1))
        probes[value] = watched.fresh_name(f"{value}/largest")
        watched.add(Node(probes[value], ReduceMax(axes=axes, keep_dims=True), [value], [probes[value]]))
    if not probes:
        return {}
    session = executor.prepare(watched, list(probes.values()))
    maxima: dict[str, Array] = {}
    with progress("measuring channels") as step:
        for sample in samples:
            results = session.run(sample)
            for value, probe in probes.items():
                largest = results[probe].reshape(-1).astype(np.float64)
                maxima[value] = np.maximum(maxima[value], largest) if value in maxima else largest
            step()
    return maxima


def evened(graph: Graph, maxima: Mapping[str, Array]) -> tuple[Graph, int]:
    """A copy whose channels reach equally far, and how many activations were changed.

    A Relu6 stays: no channel is scaled beyond the largest one.
    """
    twin, count = graph.copy(), 0
    for node in twin.nodes:
        node.notes = dict(node.notes)
    for link, reader in list(_found(twin)):
        largest = maxima.get(reader.inputs[0])
        if largest is None or not np.isfinite(largest).all() or largest.max() <= 0:
            continue
        factor = np.clip(largest.max() / np.maximum(largest, 1e-30), 1.0, LARGEST_FACTOR)
        # A channel that never fires has nothing to gain.
        factor = np.where(largest > 0, factor, 1.0)
        own_constants(twin, (link.node, reader))
        scale_out(twin, link.node, factor)
        scale_in(twin, reader, 1 / factor)
        count += 1
    return twin, count


def _found(graph: Graph) -> list[tuple[Link, Node]]:
    return [
        (link, reader)
        for link, reader in links_of(graph)
        if link.activation is not None and is_depthwise(reader)
    ]
