"""Runs a graph slowly and truly, node by node, through the ops' own numpy meaning."""

from collections.abc import Iterable, Mapping

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph

__all__ = ["run"]


def run(graph: Graph, inputs: Mapping[str, Array], outputs: Iterable[str] | None = None) -> dict[str, Array]:
    """Values of the graph's outputs (or of any named values) for the given inputs."""
    values: dict[str, Array] = {**graph.constants, **inputs}
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            arrays = [values[value] if value else None for value in node.inputs]
            results = node.op.values_for(arrays)
            values.update(zip(node.outputs, results, strict=False))
    return {name: values[name] for name in (graph.outputs if outputs is None else outputs)}
