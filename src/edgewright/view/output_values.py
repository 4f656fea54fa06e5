"""How the results of nodes are distributed, where samples are given."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from edgewright.analyse.layers import ValueRunner
from edgewright.backends.cpu import CpuBackend
from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.data.open_samples import open_samples
from edgewright.ir.graph import Graph
from edgewright.lower.names import sanitize_name
from edgewright.model.model import Model
from edgewright.view.histograms import summarise_array
from edgewright.view.records import ViewGraph, ViewModel, ViewTensor

# Few samples show the shape of a distribution; all values of each are held at a time.
MOST_SAMPLES = 4
_MOST_ELEMENTS = 1 << 26


def add_values(viewed: ViewModel, model: Model, data: Any) -> ViewModel:
    """The model with a summary of what each node makes of the first samples, on the CPU."""
    graph = model.fixed_graph()
    feeds = list(itertools.islice(open_samples(graph, data), MOST_SAMPLES))
    if not feeds:
        raise UsageError("there are no samples to look at, expected at least one")
    summaries = _summarise_values(graph, feeds)
    note = f"values of results are those of {len(feeds)} samples, on the CPU"
    graphs = tuple(_add_summaries(each, summaries) for each in viewed.graphs)
    return replace(viewed, graphs=graphs, notes=(*viewed.notes, note))


def _summarise_values(graph: Graph, feeds: Sequence[Mapping[str, Array]]) -> dict[str, dict[str, Any]]:
    """By all names that a value has: its own, and the source's, as artifacts spell them."""
    values = [
        value for node in graph.nodes for value in node.outputs if value and graph.types[value].is_static
    ]
    summaries: dict[str, dict[str, Any]] = {}
    for part in _split(graph, values):
        runner = ValueRunner(graph, CpuBackend(), part)
        results = [runner(feed) for feed in feeds]
        for value in part:
            summary = summarise_array(np.stack([np.asarray(result[value]) for result in results]))
            for name in (graph.source_names.get(value, value), value):
                summaries[sanitize_name(name)] = summary
    return summaries


def _split(graph: Graph, values: Sequence[str]) -> list[list[str]]:
    """Parts whose elements fit in memory."""
    parts: list[list[str]] = [[]]
    held = 0
    for value in values:
        size = MOST_SAMPLES * prod(graph.types[value].static_shape())
        if parts[-1] and held + size > _MOST_ELEMENTS:
            parts.append([])
            held = 0
        parts[-1].append(value)
        held += size
    return [part for part in parts if part]


def _add_summaries(graph: ViewGraph, summaries: Mapping[str, dict[str, Any]]) -> ViewGraph:
    def add(tensor: ViewTensor) -> ViewTensor:
        names = (tensor.name, tensor.source)
        summary = next((known for name in names if (known := summaries.get(sanitize_name(name)))), None)
        return tensor if summary is None or tensor.load is not None else replace(tensor, values=summary)

    return replace(graph, tensors={name: add(tensor) for name, tensor in graph.tensors.items()})
