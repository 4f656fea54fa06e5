"""Balance between activations and the weights that multiply them, after "SmoothQuant" (arXiv 2211.10438).

Channels of an activation share one encoding, those of weights need not: a channel that reaches far is made
smaller where it is made, and its weights larger where it is read. Which channels of a producer are which of a
reader's is not derived from the ops between them but measured: scaled by factors that are all different, each
channel shows whose it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import given
from edgewright.ops.matmul import MatMul
from edgewright.ops.norm import AxesNorm
from edgewright.quantize.judge import Judge
from edgewright.quantize.pins import Pin
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.weights.even_channels import LARGEST_FACTOR, Reach, measure_channel_reach
from edgewright.quantize.weights.scaling import is_named, own_constants, scale_in, scale_out

# How much of the difference between channels of activations goes to the weights.
SHARES = (0.5, 0.75, 1.0)
# A factor that is measured is one of those that were set if it is as near as this.
NEAR = 1e-3
# Signal over noise of the float graph itself that shows that nothing but the places was changed.
UNCHANGED_DB = 60.0


@dataclass(frozen=True)
class _Place:
    """What is read by products only, the node that makes its channels, and which of those each one is."""

    value: str
    maker: Node
    readers: tuple[Node, ...]
    origin: Array


def balance_graph(
    graph: Graph, request: QuantizationRequest, pins: Mapping[str, Pin], judge: Judge
) -> tuple[Graph, list[str]]:
    """The graph with the balance that comes closest to the float model on samples held apart, and notes."""
    if not judge.feeds:
        # The calibration that follows tells what is wrong.
        return graph, []
    places = _find_places(graph, pins, judge)
    if not places:
        return graph, ["smooth: left out, no activation of products can be scaled where it is made"]
    reach = measure_channel_reach(graph, [place.value for place in places], judge.fitting, judge.executor)
    before = judge.measure_plain_noise(graph, request, pins)
    best, most, kept = graph, 0.0, ""
    for share in SHARES:
        tried = _scale_graph(graph, places, reach, share)
        gain = judge.measure_plain_noise(tried, request, pins).measure_gain(before).decibels
        if gain > most and _is_unchanged(tried, judge):
            best, most, kept = tried, gain, f"share {share}"
    if best is graph:
        return graph, [f"smooth: left out, no share of it gains on {judge.text}"]
    return best, [f"smooth: balanced {len(places)} activations with their weights ({kept})"]


def _is_unchanged(graph: Graph, judge: Judge) -> bool:
    """Whether a float graph still computes what it did."""
    return judge.measure_noise(graph).sqnr_db > UNCHANGED_DB


def _find_places(graph: Graph, pins: Mapping[str, Pin], judge: Judge) -> list[_Place]:
    """Where a scale can move: found by the ops, shown by a run."""
    read = _read_by_products(graph)
    places = []
    with announce_progress("balancing", total=len(read)) as step:
        for value, readers in read.items():
            makers = [maker for maker in _find_makers(graph, value) if not is_named(pins, maker, *readers)]
            tried = (_place(graph, value, maker, readers, judge) for maker in makers)
            places += [place for place in [next(filter(None, tried), None)] if place is not None]
            step()
    return places


def _place(graph: Graph, value: str, maker: Node, readers: list[Node], judge: Judge) -> _Place | None:
    origin = _trace_origin(graph, maker, value, judge)
    place = None if origin is None else _Place(value, maker, tuple(readers), origin)
    return place if place is not None and _is_sound(graph, place, judge) else None


def _read_by_products(graph: Graph) -> dict[str, list[Node]]:
    """Values that products with known weights read, and nothing else."""
    readers_by_value: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if node.inputs and _is_product(graph, node) and node.inputs[0] not in readers_by_value:
            readers = graph.consumers(node.inputs[0])
            is_alone = node.inputs[0] not in (*graph.outputs, *graph.inputs)
            if is_alone and all(_is_product(graph, r) and r.inputs[0] == node.inputs[0] for r in readers):
                readers_by_value[node.inputs[0]] = list(readers)
    return readers_by_value


def _is_product(graph: Graph, node: Node) -> bool:
    op, weights = node.op, given(node.inputs, 1)
    is_turned = isinstance(op, MatMul) and op.transpose_in0
    return op.is_product and weights in graph.constants and graph.types[weights].rank == 2 and not is_turned


def _find_makers(graph: Graph, value: str) -> list[Node]:
    """Norms and products with known weights that a scale of the value's channels may come from."""
    node = graph.producer(value)
    if node is None:
        return []
    if _is_product(graph, node) or (isinstance(node.op, AxesNorm) and _is_of_channels(graph, node)):
        return [node]
    operands = [node.inputs[place] for place in node.op.scaled_inputs if place < len(node.inputs)]
    return [maker for operand in operands for maker in _find_makers(graph, operand)]


def _is_of_channels(graph: Graph, node: Node) -> bool:
    assert isinstance(node.op, AxesNorm)
    known = [value for value in node.inputs[1:] if value]
    return node.op.axes == (graph.types[node.inputs[0]].rank - 1,) and all(
        v in graph.constants for v in known
    )


def _trace_origin(graph: Graph, maker: Node, value: str, judge: Judge) -> Array | None:
    """For each channel of a value the maker's channel that it is (-1: it is always zero); None if none is.

    A maker of several things at once (queries, keys and values; a gate and what it lets through) is tried as
    a whole, then part by part: what goes another way must not move.
    """
    channels, count = graph.types[maker.outputs[0]].shape[-1], graph.types[value].shape[-1]
    if not isinstance(channels, int) or not isinstance(count, int):
        return None
    before = _run_rows(graph, value, judge)
    parts = range(0, channels, count) if channels % count == 0 and channels > count else ()
    for first, last in ((0, channels), *((start, start + count) for start in parts)):
        marks = np.ones(channels)
        marks[first:last] = 1.5 + np.arange(last - first) / (last - first)
        marked = graph.copy()
        _scale_maker(marked, _find_copy(marked, maker), marks)
        matches = _match_channels(before, _run_rows(marked, value, judge), last - first)
        if matches is not None:
            return np.where(matches >= 0, matches + first, -1)
    return None


def _match_channels(before: Array, after: Array, count: int) -> Array | None:
    """Which of so many marks each channel has."""
    size = np.square(before).sum(0)
    ratio = np.divide((before * after).sum(0), size, out=np.ones_like(size), where=size > 0)
    rest = np.square(after - before * ratio).sum(0)
    place = (ratio - 1.5) * count
    index = np.rint(place).astype(np.int64)
    is_known = (index >= 0) & (index < count) & (np.abs(place - index) < 0.1)
    is_known &= rest <= NEAR**2 * np.square(after).sum(0)
    if not (is_known | (size == 0)).all() or not is_known.any():
        return None
    return np.where(size > 0, index, -1)


def _run_rows(graph: Graph, value: str, judge: Judge) -> Array:
    array = judge.executor.prepare(graph, [value]).run(judge.feeds[0])[value]
    return array.reshape(-1, array.shape[-1]).astype(np.float64)


def _is_sound(graph: Graph, place: _Place, judge: Judge) -> bool:
    """Whether the float graph stays what it is: nothing else reads the scaled channels."""
    twin, marks = graph.copy(), np.ones(int(place.origin.max()) + 1)
    marks[place.origin[place.origin >= 0]] = 2.0
    _move(twin, place, marks)
    return _is_unchanged(twin, judge)


def _scale_graph(graph: Graph, places: list[_Place], reach: Mapping[str, Reach], share: float) -> Graph:
    twin = graph.copy()
    for place in places:
        low, high = reach[place.value]
        _move(twin, place, _compute_factors(twin, place, np.maximum(-low, high), share))
    return twin


def _compute_factors(graph: Graph, place: _Place, sizes: Array, share: float) -> Array:
    """How much larger each of the maker's channels is than it shall be."""
    weights = [np.abs(graph.constants[r.inputs[1]]) for r in place.readers]
    columns = [w.max(0) if r.op.has_rows else w.max(1) for w, r in zip(weights, place.readers, strict=True)]
    partners = np.maximum.reduce(columns).astype(np.float64)
    is_sound = (sizes > 0) & (partners > 0) & (place.origin >= 0)
    ratios = np.where(is_sound, sizes, 1.0) ** share / np.where(is_sound, partners, 1.0) ** (1 - share)
    factors = np.zeros(int(place.origin.max()) + 1)
    np.maximum.at(factors, place.origin[is_sound], ratios[is_sound])
    mean = np.exp(np.log(factors[factors > 0]).mean()) if (factors > 0).any() else 1.0
    return np.where(factors > 0, np.clip(factors / mean, 1 / LARGEST_FACTOR, LARGEST_FACTOR), 1.0)


def _move(graph: Graph, place: _Place, factors: Array) -> None:
    """Makes channels smaller by factors where they are made, larger where they are read; in place."""
    maker, readers = _find_copy(graph, place.maker), [_find_copy(graph, reader) for reader in place.readers]
    channels = graph.types[maker.outputs[0]].shape[-1]
    assert isinstance(channels, int)
    whole = np.ones(channels)
    whole[: len(factors)] = factors
    _scale_maker(graph, maker, 1 / whole)
    own_constants(graph, readers)
    for reader in readers:
        scale_in(graph, reader, np.where(place.origin >= 0, whole[place.origin], 1.0))


def _scale_maker(graph: Graph, maker: Node, factors: Array) -> None:
    if not given(maker.inputs, 1):
        types, ones = (
            graph.output_types(maker),
            np.ones(len(factors), graph.types[maker.inputs[0]].dtype.numpy),
        )
        graph.remove(maker)
        maker.inputs = [maker.inputs[0], graph.add_constant(graph.fresh_name(f"{maker.name}_gain"), ones)]
        graph.add(maker, types)
        graph.sort()
    own_constants(graph, (maker,))
    scale_out(graph, maker, factors)


def _find_copy(graph: Graph, node: Node) -> Node:
    """The node in a copy of its graph."""
    return next(other for other in graph.nodes if other.name == node.name)
