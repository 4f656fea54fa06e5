"""A converted float model beside its own framework: the first op that is computed differently."""

from collections.abc import Mapping, Sequence

import numpy as np

from edgewright.analyse.backend_differences import (
    BackendComparison,
    compare_values,
    list_compared_values,
    run_values,
)
from edgewright.backends.base import Backend
from edgewright.core.errors import EnvironmentProblem, Where
from edgewright.core.numbers import Array
from edgewright.frontends.framework import framework_of
from edgewright.ir.graph import Graph
from edgewright.run.engines.layer_outputs import (
    CHANNELS_FIRST,
    CONVERTED,
    LayerOutputs,
    LayerRequest,
    run_all_layers,
)
from edgewright.run.engines.source_engine import as_in_source

# Of the largest value: what two engines may differ by.
SAME = 1e-3


def compare_with_framework(
    file: str, graph: Graph, feeds: Sequence[Mapping[str, Array]], name: str, backend: Backend
) -> BackendComparison:
    """Gives every op on the backend what its framework computed before it, and compares the results.

    Args:
        file: the source model.
        graph: what it was converted to, in floating point.
        feeds: samples by the graph's inputs.
        name: the backend's.
        backend: runs the ops.
    """
    framework = framework_of(file)
    is_first = framework in CHANNELS_FIRST
    samples = []
    for feed in feeds:
        given = {key: _turn_to_source(graph, key, array, is_first) for key, array in feed.items()}
        layers = run_all_layers(LayerRequest(file, framework, given, is_optimized=False))
        if layers.engine == CONVERTED:
            raise EnvironmentProblem(
                f"{framework.value} is not installed, or shows no tensors between its ops",
                Where(file=file),
                do="install it, or compare cpu with htp-sim",
            )
        own = run_values(graph, backend, list_compared_values(graph), feed)
        samples.append({**feed, **_match_values(graph, layers, own)})
    return compare_values(graph, samples, ("framework", name), backend)


def _turn_to_source(graph: Graph, name: str, array: Array, is_first: bool) -> Array:
    return as_in_source(np.asarray(array), graph.types[name].layout if is_first else None, array.ndim)


def _match_values(graph: Graph, layers: LayerOutputs, own: Mapping[str, Array]) -> dict[str, Array]:
    """What the framework has by the names and in the axes of the graph."""
    values = {}
    for value, array in own.items():
        theirs = layers.tensors.get(graph.source_names.get(value, value))
        matched = None if theirs is None else _match_order(np.asarray(theirs), array)
        if matched is not None:
            values[value] = matched
    return values


def _match_order(theirs: Array, own: Array) -> Array | None:
    """The framework's values in the axes of ours: the nearer of the ways in which the shapes fit.

    Where both are the same numbers in another order, as what is made flat from other axes, ours are taken.
    """
    # QNN has no scalars: they have one element.
    theirs = theirs.reshape(1) if theirs.ndim == 0 else theirs
    turned = [theirs] if theirs.ndim < 3 else [theirs, np.moveaxis(theirs, 1, -1), np.moveaxis(theirs, -1, 1)]
    fitting = [array for array in turned if array.shape == own.shape]
    if not fitting:
        return None
    nearest = min(fitting, key=lambda array: _measure_distance(array, own))
    is_other_order = (
        _measure_distance(nearest, own) > SAME
        and _measure_distance(np.sort(nearest, axis=None), np.sort(own, axis=None)) < SAME
    )
    return own if is_other_order else nearest


def _measure_distance(first: Array, second: Array) -> float:
    """The largest difference as a share of the largest value."""
    gap = np.abs(first.astype(np.float64) - second.astype(np.float64)).max(initial=0.0)
    return float(np.nan_to_num(gap, nan=np.inf)) / (float(np.abs(second).max(initial=0.0)) or 1.0)
