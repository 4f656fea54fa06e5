"""Cross-layer equalization: moves scales between convolutions so that their channels have like ranges.

After "Data-Free Quantization Through Weight Equalization and Bias Correction" (arXiv 1906.04721). A Relu lets
positive scales through; a Relu6 between two convolutions becomes a Relu. With samples, the reach of channels
of activations counts as that of weights does, and what was a Relu6 ends where they did. Then biases that are
far above zero are moved into the next convolution, where the batch norms that tell their distribution are
known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.ops.activation import Relu, ReluMinMax
from edgewright.quantize.weights.chains import Chain, Link, find_chains
from edgewright.quantize.weights.scaling import own_constants, scale_in, scale_out

# From a graph and names of values: the smallest and the largest value of each channel.
Measure = Callable[[Graph, Sequence[str]], Mapping[str, tuple[Array, Array]]]
# Scales of overlapping chains settle within a few rounds.
ROUNDS = 24
SETTLED = 1e-2
# A channel whose weights are all but zero would scale the others out of the precision of floats.
LARGEST_FACTOR = 1e4
# Three standard deviations: what lies below the mean by more is as good as never there.
DEVIATIONS = 3.0


@dataclass
class Equalization:
    """What was changed, and what could not be."""

    chains: list[tuple[str, ...]] = field(default_factory=list)
    relus: list[str] = field(default_factory=list)
    # Whether activations were measured.
    is_measured: bool = False
    absorbed: list[str] = field(default_factory=list)
    # Convolution -> why nothing moved out of it.
    skipped: dict[str, str] = field(default_factory=dict)
    unabsorbed: dict[str, str] = field(default_factory=dict)

    def list_notes(self) -> list[str]:
        """What to tell a user."""
        notes = [f"equalized {len(self.chains)} chains of convolutions"]
        if self.relus:
            notes.append(
                f"{len(self.relus)} Relu6 became Relu{', up to what was seen' if self.is_measured else ''}"
            )
        if self.absorbed:
            notes.append(f"moved high biases of {len(self.absorbed)} convolutions into the next one")
        if self.unabsorbed:
            lacking = sum("batch norm" in reason for reason in self.unabsorbed.values())
            what = "Invalid model for HBA quantization algorithm" if lacking else "high biases were left"
            notes.append(
                f"{what}: {len(self.unabsorbed)} convolutions, {next(iter(self.unabsorbed.values()))}"
            )
        if self.skipped:
            notes.append(f"{len(self.skipped)} convolutions stay as they are")
        return [f"cle: {note}" for note in notes]


def equalize(graph: Graph, measure: Measure | None = None) -> tuple[Graph, Equalization]:
    """An equalized copy of a graph, and what was done.

    ``measure`` tells how far the channels of values reach. With it, those of activations count as those of
    weights do: equal weights at the cost of activations, which have one encoding too, are no gain.
    """
    twin, record = graph.copy(), Equalization(is_measured=measure is not None)
    for node in twin.nodes:
        node.notes = dict(node.notes)
    chains = list(find_chains(twin, lambda node, reason: record.skipped.update({node.name: reason})))
    for chain in chains:
        own_constants(twin, chain.nodes)
    sizes = _measure_sizes(twin, chains, measure) if measure is not None else {}
    for _ in range(ROUNDS):
        if max((_equalize(twin, chain, sizes) for chain in chains), default=0.0) < SETTLED:
            break
    for chain in chains:
        for link in chain.links:
            _open_relu(twin, link, sizes.get(link.value), record)
        record.chains.append(tuple(node.name for node in chain.nodes))
        for link, following in zip(chain.links, chain.nodes[1:], strict=True):
            _absorb(twin, link, following, record)
    return twin, record


def _open_relu(graph: Graph, link: Link, sizes: Array | None, record: Equalization) -> None:
    """Lets a Relu6 pass what its channels have now: all there is or, where known, up to the largest."""
    if link.activation is None or isinstance(link.activation.op, Relu):
        return
    record.relus.append(link.activation.name)
    largest = 0.0 if sizes is None else float(sizes.max())
    bounded = ReluMinMax(min_value=0.0, max_value=largest)
    graph.replace_op(link.activation, bounded if largest > 0 else Relu())


def _measure_sizes(graph: Graph, chains: Sequence[Chain], measure: Measure) -> dict[str, Array]:
    """How far each channel reaches that a link leads on, by the value."""
    reach = measure(graph, [link.value for chain in chains for link in chain.links])
    return {value: np.maximum(-low, high) for value, (low, high) in reach.items()}


def _equalize(graph: Graph, chain: Chain, sizes: dict[str, Array]) -> float:
    """One step for one chain; returns how far the largest factor is from 1."""
    steps = [
        _balance(graph, link, following, sizes)
        for link, following in zip(chain.links, chain.nodes[1:], strict=True)
    ]
    return max(steps)


def _balance(graph: Graph, link: Link, following: Node, sizes: dict[str, Array]) -> float:
    """Moves what a channel has more on one side than on the other."""
    out, into = _measure_outputs(graph, link.node), _measure_inputs(graph, following)
    is_sound = (out > 0) & (into > 0) & np.isfinite(out) & np.isfinite(into)
    size = sizes.get(link.value)
    if size is not None:
        is_sound &= size > 0
        out, into = (
            np.sqrt(_normalize_reach(out, is_sound) * _normalize_reach(size, is_sound)),
            _normalize_reach(into, is_sound),
        )
    factor = np.sqrt(np.divide(out, into, out=np.ones_like(out), where=is_sound))
    bounded = np.clip(factor, 1 / LARGEST_FACTOR, LARGEST_FACTOR)
    scale_out(graph, link.node, 1 / bounded)
    scale_in(graph, following, bounded)
    if size is not None:
        sizes[link.value] = size / bounded
    return float(np.max(np.abs(np.log(bounded)), initial=0.0))


def _normalize_reach(reach: Array, is_sound: Array) -> Array:
    """Reaches over their mean: where one encoding serves all channels, only those count."""
    known = np.where(is_sound, reach, 1.0)
    mean = np.exp(np.mean(np.log(known), where=is_sound)) if is_sound.any() else 1.0
    return np.asarray(known / mean)


def _measure_outputs(graph: Graph, node: Node) -> Array:
    """The largest weight of each output channel."""
    weights = np.abs(graph.constants[node.inputs[1]])
    return np.asarray(weights.reshape(-1, weights.shape[-1]).max(0, initial=0), np.float64)


def _measure_inputs(graph: Graph, node: Node) -> Array:
    """The largest weight of each input channel."""
    if node.op.is_depthwise:
        return _measure_outputs(graph, node)
    weights = np.moveaxis(np.abs(graph.constants[node.inputs[1]]), -2, -1)
    return np.asarray(weights.reshape(-1, weights.shape[-1]).max(0, initial=0), np.float64)


def _absorb(graph: Graph, link: Link, following: Node, record: Equalization) -> None:
    """Moves what a bias adds to nearly every output into the next convolution's bias."""
    node, reason = link.node, _explain_unabsorbed(graph, link.node, following)
    if reason:
        record.unabsorbed[node.name] = reason
        return
    mean, spread = node.notes["beta"].astype(np.float64), np.abs(node.notes["gamma"].astype(np.float64))
    moved = mean if link.activation is None else np.maximum(0.0, mean - DEVIATIONS * spread)
    if not np.any(moved):
        return
    weights = graph.constants[following.inputs[1]].astype(np.float64)
    taps = weights.reshape(-1, *weights.shape[-2:]).sum(0)
    gained = taps[0] * moved if following.op.is_depthwise else moved @ taps
    _add(graph, node.inputs[2], -moved)
    _add(graph, following.inputs[2], gained)
    for owner, change in ((node, -moved), (following, gained)):
        if "beta" in owner.notes:
            owner.notes["beta"] = owner.notes["beta"] + change
    record.absorbed.append(node.name)


def _explain_unabsorbed(graph: Graph, node: Node, following: Node) -> str:
    channels = graph.types[node.outputs[0]].shape[-1]
    if any(name not in node.notes or node.notes[name].shape != (channels,) for name in ("gamma", "beta")):
        return "no gamma and beta of a batch norm are known"
    if not given(node.inputs, 2) or not given(following.inputs, 2):
        return "one of the two has no bias"
    if np.any(np.asarray(getattr(following.op, "pad_amount", 0))):
        return "the next one pads with zeros, which the moved bias would not reach"
    return ""


def _add(graph: Graph, value: str, change: Array) -> None:
    array = graph.constants[value]
    graph.constants[value] = (array + change).astype(array.dtype)
