"""Scales that channels were given before rounding (equalization, balancing): no noise, and undone here."""

from collections.abc import Mapping

import numpy as np

from edgewright.api.building.spots import channel_axis
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.norm import Norm
from edgewright.ops.pool import Pool
from edgewright.quantize.observers.extremes import as_rows
from edgewright.quantize.roles import Roles, roles_of
from edgewright.quantize.rules import is_clamp, is_invariant, is_rigid

__all__ = ["channel_gains", "shaped"]

# Rounding moves a weight by half a step, a learned rounding by one.
MOVED_STEPS = 1.6
# Schemes that cut the largest weights move some of them farther; a scaled channel moves nearly all.
MOVED_SHARE = 0.1


def channel_gains(source: Graph, quantized: Graph) -> dict[str, Array]:
    """What channels of values must be multiplied by to have the float model's scale; only where some must.

    They are read off the weights: both graphs have them.
    """
    found: dict[str, Array] = {}
    for node in quantized.nodes:
        gain = _gain(source, quantized, node, found)
        if gain is not None:
            found.update(dict.fromkeys(filter(None, node.outputs), gain))
    return found


def shaped(gains: Mapping[str, Array], graph: Graph, value: str) -> Array | None:
    """The gain of a value in a shape that broadcasts with it."""
    if value not in gains:
        return None
    shape = [1] * graph.types[value].rank
    shape[channel_axis(graph, value)] = -1
    return gains[value].astype(np.float32).reshape(shape)


def _gain(source: Graph, quantized: Graph, node: Node, found: Mapping[str, Array]) -> Array | None:
    roles = roles_of(quantized, node)
    places = roles.weights or ({1} if isinstance(node.op, Norm) else set())
    for place in places:
        name = node.inputs[place] if place < len(node.inputs) else ""
        before, after = _both(source, quantized, name)
        if before is not None and after is not None and _is_moved(quantized, name, before, after):
            return _of_weights(before, after, roles, found.get(node.inputs[0]))
    gain = found.get(node.inputs[0]) if node.inputs and _lets_through(node) else None
    value = node.outputs[0]
    kind = quantized.types[value]
    if gain is None or not kind.rank or kind.shape[channel_axis(quantized, value)] != gain.size:
        return None
    return gain


def _lets_through(node: Node) -> bool:
    """Whether a scale of a channel of its input is one of its output."""
    is_same = isinstance(node.op, Pool) or is_invariant(node.op) or is_clamp(node.op)
    return is_same or is_rigid(node.op)


def _both(source: Graph, quantized: Graph, name: str) -> tuple[Array | None, Array | None]:
    """Weights as the float model has them, and as real numbers of the quantized graph."""
    stored = quantized.constants.get(name)
    real = source.constants.get(name, source.constants.get(quantized.source_names.get(name, name)))
    if stored is None or real is None or real.shape != stored.shape or not stored.size:
        return None, None
    encoding = quantized.types[name].encoding
    return real.astype(np.float64), (stored if encoding is None else encoding.decode(stored)).astype(
        np.float64
    )


def _is_moved(quantized: Graph, name: str, before: Array, after: Array) -> bool:
    """Whether one slice of weights is farther from its source than rounding brings it."""
    encoding = quantized.types[name].encoding
    step = np.abs(before).max() * 2.0**-9 if encoding is None else encoding.scales_of(before.shape)
    moved = np.abs(after - before) > MOVED_STEPS * step
    rows = as_rows(moved, None if encoding is None else encoding.axis)
    return bool((rows.mean(1) > MOVED_SHARE).any())


def _of_weights(before: Array, after: Array, roles: Roles, inputs: Array | None) -> Array | None:
    """The gains of a product's channels: its weights less the scales of its inputs."""
    rank = before.ndim
    axis = rank - 1 if roles.axis is None else roles.axis
    if inputs is not None:
        # A depthwise convolution has no axis of inputs: its channels are theirs.
        shape = [1] * rank
        shape[axis if roles.block_axis is None else roles.block_axis] = -1
        if before.shape[shape.index(-1)] != inputs.size:
            return None
        after = after / inputs.reshape(shape)
    others = tuple(place for place in range(rank) if place != axis)
    signal, product = (before**2).sum(others), (before * after).sum(others)
    scale = np.divide(product, signal, out=np.ones(signal.shape), where=signal > 0)
    return np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 1.0)
