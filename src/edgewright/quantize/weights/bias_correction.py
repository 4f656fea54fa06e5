"""Bias correction: takes the mean of what rounding weights does to an output out of the bias.

Rounded weights move the mean of an output by their error times the mean of the input (arXiv 1906.04721,
section 4.2). The means of inputs are measured on samples, channel by channel, in one pass of the float graph.
"""

from collections.abc import Mapping

import numpy as np

from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.ops.conv_transpose import TransposedConvolution
from edgewright.ops.matmul import MatMul
from edgewright.ops.reduce import ReduceMean
from edgewright.quantize.assign import Plan
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.roles import find_roles


def with_biases(graph: Graph) -> Graph:
    """A copy in which every product that can be corrected has a bias to correct."""
    twin = graph.copy()
    for node in _list_correctable(twin):
        if given(node.inputs, 2):
            continue
        types, channels = twin.output_types(node), int(twin.types[node.outputs[0]].shape[-1])
        zeros = np.zeros(channels, twin.types[node.outputs[0]].dtype.numpy)
        twin.remove(node)
        bias = twin.add_constant(twin.fresh_name(f"{node.name}_bias"), zeros)
        node.inputs = [*node.inputs[:2], bias]
        twin.add(node, types)
    twin.sort()
    return twin


def measure_input_means(graph: Graph, samples: Samples, executor: Executor) -> dict[str, Array]:
    """The mean of each input channel of products over all samples."""
    watched, probes = graph.copy(), {}
    for value in dict.fromkeys(node.inputs[0] for node in _list_correctable(graph)):
        axes = tuple(range(graph.types[value].rank - 1))
        probes[value] = value
        if axes:
            probes[value] = watched.fresh_name(f"{value}/mean")
            watched.add(Node(probes[value], ReduceMean(axes=axes, keep_dims=True), [value], [probes[value]]))
    session = executor.prepare(watched, list(probes.values()))
    sums: dict[str, Array] = {}
    count = 0
    with announce_progress("measuring means") as step:
        for sample in samples:
            results = session.run(sample)
            for value, probe in probes.items():
                mean = results[probe].reshape(-1).astype(np.float64)
                sums[value] = sums[value] + mean if value in sums else mean
            count += 1
            step()
    return {value: total / max(count, 1) for value, total in sums.items()}


def correct_biases(graph: Graph, plan: Plan, means: Mapping[str, Array]) -> tuple[Graph, list[str]]:
    """A copy with corrected biases, and the names of the nodes that were changed."""
    twin, changed = graph.copy(), []
    for node in _list_correctable(twin):
        bias = given(node.inputs, 2)
        placed = plan.reads.get((node.name, 1))
        if not bias or placed is None or placed.encoding is None or node.inputs[0] not in means:
            continue
        weights = twin.constants[node.inputs[1]]
        rounded = placed.encoding.decode(placed.encoding.encode(weights.astype(np.float32), placed.dtype))
        shift = _compute_response(node, rounded.astype(np.float64) - weights, means[node.inputs[0]])
        array = twin.constants[bias]
        if shift is None or shift.shape != array.shape:
            continue
        name = bias
        if len(twin.consumers(bias)) > 1:
            name = twin.add_constant(twin.fresh_name(bias), array, of=bias)
            twin.set_input(node, 2, name)
        twin.constants[name] = (array - shift).astype(array.dtype)
        changed.append(node.name)
    return twin, changed


def _list_correctable(graph: Graph) -> list[Node]:
    """Products of known weights with channels in the last axis."""
    nodes = []
    for node in graph.nodes:
        roles = find_roles(graph, node)
        is_plain = (
            node.op.is_product and 1 in roles.weights and not isinstance(node.op, TransposedConvolution)
        )
        is_turned = isinstance(node.op, MatMul) and (
            node.op.transpose_in0 or graph.types[node.inputs[1]].rank != 2
        )
        # The first output may be one that is left out, or a single number.
        shape = graph.types[node.outputs[0]].shape if node.outputs and node.outputs[0] else ()
        has_channels = bool(shape) and isinstance(shape[-1], int)
        bias = given(node.inputs, 2)
        if is_plain and not is_turned and has_channels and (not bias or bias in graph.constants):
            nodes.append(node)
    return nodes


def _compute_response(node: Node, error: Array, mean: Array) -> Array | None:
    """What an error of the weights adds to the mean of each output channel."""
    if node.op.has_rows:
        error = error.T
    # Only the last two axes count: taps of a window see the same mean.
    taps = error.reshape(-1, *error.shape[-2:]).sum(0)
    if node.op.is_depthwise:
        each = np.repeat(mean, taps.shape[-1] // max(mean.size, 1))
        return taps[0] * each if each.shape == taps[0].shape else None
    group = mean.size // max(taps.shape[0], 1)
    if group * taps.shape[0] != mean.size or taps.shape[1] % max(group, 1):
        return None
    parts = np.split(taps, group, axis=1)
    return np.concatenate([m @ p for m, p in zip(np.split(mean, group), parts, strict=True)])
