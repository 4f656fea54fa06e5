"""Puts fresh encodings in the place of those that hold their values worse than they could."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from edgewright.analyse.odd_encodings import ODD_DB, OddEncoding, list_shared_values
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.quantize.encodings import Grid


def repair_graph(source: Graph, quantized: Graph, odd: Iterable[OddEncoding]) -> Graph:
    """A copy whose odd encodings are as a calibration on the same samples makes them.

    Args:
        source: the float graph, which has the weights that were rounded.
        quantized: with odd encodings.
        odd: what was found of it.
    """
    graph = quantized.copy()
    for entry in odd:
        if entry.excess_db < ODD_DB:
            continue
        if entry.is_weight:
            _round_weights(source, graph, entry.tensor)
        else:
            _replace_range(graph, entry)
    return graph


def _replace_range(graph: Graph, entry: OddEncoding) -> None:
    kind = graph.types[entry.tensor]
    assert kind.encoding is not None
    grid = Grid(kind.encoding.bitwidth, is_symmetric=kind.dtype.is_signed)
    fresh = grid.encode_range(entry.fresh_low, entry.fresh_high)
    for value in list_shared_values(graph, entry.tensor):
        graph.types[value] = replace(graph.types[value], encoding=fresh)


def _round_weights(source: Graph, graph: Graph, value: str) -> None:
    """The float weights in the same bits, each slice over its own range."""
    kind, real = graph.types[value], source.constants[value]
    assert kind.encoding is not None
    axis, bits = kind.encoding.axis, kind.encoding.bitwidth
    grid = Grid(bits, is_symmetric=kind.dtype.is_signed)
    low, high = _measure_ranges(np.asarray(real, np.float64), axis)
    fresh = grid.encode_range(low, high, axis)
    graph.types[value] = replace(kind, encoding=fresh)
    graph.constants[value] = fresh.encode(np.asarray(real, np.float32), kind.dtype)


def _measure_ranges(real: Array, axis: int | None) -> tuple[Array, Array]:
    others = tuple(place for place in range(real.ndim) if place != axis)
    return np.atleast_1d(real.min(others)), np.atleast_1d(real.max(others))
