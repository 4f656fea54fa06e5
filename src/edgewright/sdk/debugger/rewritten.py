"""Tensors that hold something else once a model is converted: a scale was folded into them, or an order.

Their names stay, so that a comparison with the framework calls them broken though nothing is. The converted
float model tells: where its outputs are the framework's, so is its meaning, whatever lies between.
"""

import logging
from collections.abc import Mapping

import numpy as np

from edgewright.analyse.verifiers.distances import SignalToNoise
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.sdk.debugger.graph_structure import describe_values, resolve_orders

log = logging.getLogger(__name__)

# Float models that agree so well at their outputs have the same meaning; tensors so far apart are others.
SAME_DB, OTHER_DB = 60.0, 40.0


def find_rewritten_tensors(graph: Graph, golden: Mapping[str, Array]) -> dict[str, Array]:
    """What the converted float graph has under the names of golden tensors that are something else there.

    ``golden`` holds the inputs too. Nothing where the outputs differ: then conversion itself is in question.
    """
    if not all(name in golden for name in (*graph.inputs, *graph.outputs)):
        return {}
    values = _run_in_source_axes(graph, golden)
    score = SignalToNoise().score
    same = {name: array for name, array in values.items() if array.size == golden[name].size}
    distances = {name: score(golden[name].reshape(array.shape), array) for name, array in same.items()}
    if any(distances.get(name, -np.inf) < SAME_DB for name in graph.outputs):
        return {}
    others = {name: same[name] for name, distance in distances.items() if distance < OTHER_DB}
    if others:
        log.info(
            "conversion folded a scale, a bias or another order into %d tensors, such as '%s'",
            len(others),
            next(iter(others)),
        )
    return others


def _run_in_source_axes(graph: Graph, golden: Mapping[str, Array]) -> dict[str, Array]:
    facts = describe_values(graph)
    known = {name: golden[item.source].shape for name, item in facts.values() if item.source in golden}
    resolved = resolve_orders(dict(facts.values()), known)
    part = graph.copy()
    part.outputs = [value for value, (_, item) in facts.items() if item.source in golden]
    feed = {
        name: golden[name].reshape(graph.types[name].static_shape()).astype(graph.types[name].dtype.numpy)
        for name in graph.inputs
    }
    results = CpuBackend().prepare(part, RunOptions()).run(feed)
    return {
        facts[value][1].source: resolved[facts[value][0]].to_source(array) for value, array in results.items()
    }
