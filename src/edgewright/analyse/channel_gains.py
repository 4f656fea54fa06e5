"""Scales that channels got before rounding (equalization, balancing): they are no noise, and undone here."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from edgewright.analyse.comparison_points import find_channel_axis
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.traits import Roles
from edgewright.ops.elementwise import ElementWiseAdd, ElementWiseSubtract
from edgewright.ops.norm import Norm
from edgewright.ops.pool import Pool
from edgewright.ops.rearrange import Transpose
from edgewright.quantize.observers.extremes import as_rows
from edgewright.quantize.roles import find_roles

# Rounding moves a weight by half a step, a learned rounding by one.
MOVED_STEPS = 1.6
# Schemes that cut the largest weights move some of them farther; a scaled channel moves nearly all.
MOVED_SHARE = 0.1
# How accurately rounded weights show a scale.
SCALE_TOLERANCE = 0.03


@dataclass
class ChannelGains:
    """What channels of values must be multiplied by to have the float model's scale; only where some must."""

    known: dict[str, Array] = field(default_factory=dict)
    # Values whose scales cannot be known, such as those of heads of an attention: nothing to compare.
    unknown: set[str] = field(default_factory=set)

    def broadcast_gain(self, graph: Graph, value: str) -> Array | None:
        """The gain of a value in a shape that broadcasts with it."""
        if value not in self.known:
            return None
        shape = [1] * graph.types[value].rank
        shape[find_channel_axis(graph, value)] = -1
        return self.known[value].astype(np.float32).reshape(shape)

    def is_plain(self, value: str) -> bool:
        """Whether a value has the scale of the float model."""
        return value not in self.known and value not in self.unknown


def find_channel_gains(source: Graph, quantized: Graph) -> ChannelGains:
    """The scales of all values, computed from the weights, which both graphs have."""
    search = _GainSearch(source, quantized)
    for node in quantized.nodes:
        search.visit(node)
    return search.gains


class _GainSearch:
    def __init__(self, source: Graph, quantized: Graph) -> None:
        self._source, self._quantized = source, quantized
        self.gains = ChannelGains()

    def visit(self, node: Node) -> None:
        """Records the scales of a node's results."""
        read = [value for value in node.inputs if value and value not in self._quantized.constants]
        is_reached = any(not self.gains.is_plain(value) for value in read)
        weights = self._find_changed_weights(node, is_any=is_reached)
        if weights is not None:
            self._note_gain(node, self._compute_product_gain(node, *weights))
        elif is_reached:
            self._note_gain(node, self._pass_on(node, read))

    def _note_gain(self, node: Node, gain: Array | None) -> None:
        for value in filter(None, node.outputs):
            kind = self._quantized.types[value]
            if (
                gain is None
                or not kind.rank
                or kind.shape[find_channel_axis(self._quantized, value)] != gain.size
            ):
                self.gains.unknown.add(value)
            elif np.abs(gain - 1).max() > SCALE_TOLERANCE:
                self.gains.known[value] = gain

    def _pass_on(self, node: Node, read: Sequence[str]) -> Array | None:
        """The scale that a node without weights of its own lets through; None where it cannot be known."""
        gains = [self.gains.known.get(value) for value in read]
        first = gains[0]
        if first is None or (isinstance(node.op, Transpose) and node.op.perm[-1] != len(node.op.perm) - 1):
            return None
        if len(read) == 1 and _can_pass_channel_scales(node):
            return first
        is_sum = isinstance(node.op, ElementWiseAdd | ElementWiseSubtract)
        is_same = all(g is not None and g.shape == first.shape for g in gains) and all(
            np.allclose(gain, first, rtol=SCALE_TOLERANCE) for gain in gains if gain is not None
        )
        return first if is_sum and is_same else None

    def _find_changed_weights(self, node: Node, *, is_any: bool) -> tuple[Array, Array, Roles] | None:
        """Weights of the float model and here, where they are farther apart than rounding brings them.

        ``is_any``: or where scales reach the node: it undoes them, or they are too small to be seen.
        """
        roles = find_roles(self._quantized, node)
        places = roles.weights or ({1} if isinstance(node.op, Norm) else set())
        for place in places:
            name = node.inputs[place] if place < len(node.inputs) else ""
            both = _read_both_weights(self._source, self._quantized, name)
            if both is not None and (is_any or _is_moved(self._quantized, name, *both)):
                return (*both, roles)
        return None

    def _compute_product_gain(self, node: Node, before: Array, after: Array, roles: Roles) -> Array | None:
        data = node.inputs[0]
        if isinstance(node.op, Norm) and not self.gains.is_plain(data):
            return None
        if data in self.gains.unknown:
            return (
                None if roles.block_axis is None else _compute_gains_of_unknown_inputs(before, after, roles)
            )
        return _compute_gains(before, after, roles, self.gains.known.get(data))


def _can_pass_channel_scales(node: Node) -> bool:
    """Whether a scale of a channel of its input is one of its output."""
    is_same = isinstance(node.op, Pool) or node.op.keeps_encoding or node.op.specific().is_clamp
    return is_same or node.op.has_fixed_types


def _read_both_weights(source: Graph, quantized: Graph, name: str) -> tuple[Array, Array] | None:
    """Weights as the float model has them, and as real numbers of the quantized graph."""
    stored = quantized.constants.get(name)
    real = source.constants.get(name, source.constants.get(quantized.source_names.get(name, name)))
    if stored is None or real is None or real.shape != stored.shape or not stored.size:
        return None
    encoding = quantized.types[name].encoding
    after = stored if encoding is None else encoding.decode(stored)
    return real.astype(np.float64), after.astype(np.float64)


def _is_moved(quantized: Graph, name: str, before: Array, after: Array) -> bool:
    """Whether one slice of weights is farther from its source than rounding brings it."""
    encoding = quantized.types[name].encoding
    step = np.abs(before).max() * 2.0**-9 if encoding is None else encoding.scales_of(before.shape)
    moved = np.abs(after - before) > MOVED_STEPS * step
    rows = as_rows(moved, None if encoding is None else encoding.axis)
    return bool((rows.mean(1) > MOVED_SHARE).any())


def _compute_gains(before: Array, after: Array, roles: Roles, inputs: Array | None) -> Array | None:
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
    scale = _divide_safely((before * after).sum(others), (before**2).sum(others))
    return np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 1.0)


def _compute_gains_of_unknown_inputs(before: Array, after: Array, roles: Roles) -> Array | None:
    """The gains of outputs where those of inputs are not known: what all weights of an input share is its.

    A factor that all have in common cannot be told apart: most channels are taken to have none.
    """
    assert roles.axis is not None
    assert roles.block_axis is not None
    matrix = [
        np.moveaxis(array, (roles.axis, roles.block_axis), (0, 1)).reshape(
            before.shape[roles.axis], before.shape[roles.block_axis], -1
        )
        for array in (before, after)
    ]
    product, signal = (matrix[0] * matrix[1]).sum(-1), (matrix[0] ** 2).sum(-1)
    # Small weights are mostly rounding.
    is_large = signal > 0.1 * signal.mean()
    ratios = np.where(is_large, _divide_safely(product, signal), np.nan)
    if not is_large.any(0).all() or not is_large.any(1).all():
        return None
    scales = np.nanmedian(ratios / np.nanmedian(ratios, axis=0), axis=1)
    scales = scales / np.median(scales)
    if np.median(np.abs(scales - 1)) < SCALE_TOLERANCE:
        return np.ones(scales.shape)
    return 1 / scales if (scales > 0).all() else None


def _divide_safely(product: Array, signal: Array) -> Array:
    return np.divide(product, signal, out=np.ones(signal.shape), where=signal > 0)
