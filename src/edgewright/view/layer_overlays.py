"""A model coloured by what was measured of its layers."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from edgewright.analyse.records import Layer
from edgewright.ir.graph import Graph
from edgewright.lower.lower import lower
from edgewright.lower.names import sanitize_name
from edgewright.view.qnn_graphs import view_qnn_graph
from edgewright.view.records import Overlay, ViewGraph, ViewModel

# What a layer has, and what it is called here; a small number of decibels is the one to look at.
_MEASURES = (
    ("sim_db", "sqnr", "SQNR up to here, simulated"),
    ("emulator_db", "emulator_sqnr", "SQNR up to here, emulated"),
    ("own_db", "own_sqnr", "SQNR of this op alone"),
    ("weight_db", "weight_sqnr", "SQNR of its weights alone"),
)
# From here on the simulation and the emulator are said to disagree.
_GAP_DB = 1.0


def view_measured(graph: Graph, layers: Iterable[Layer], title: str) -> ViewModel:
    """A graph in memory, coloured by its layers."""
    viewed = view_qnn_graph(lower(graph))
    return colour_layers(ViewModel(title, "quantized model", (viewed,)), map(asdict, layers))


def colour_layers(model: ViewModel, layers: Iterable[Mapping[str, Any]]) -> ViewModel:
    """The model with an overlay for each measure; layers are as records or a report's JSON have them."""
    listed = list(layers)
    return replace(model, overlays={graph.name: _measure_layers(graph, listed) for graph in model.graphs})


def _measure_layers(graph: ViewGraph, layers: Iterable[Mapping[str, Any]]) -> tuple[Overlay, ...]:
    makers = {name: node.name for node in graph.nodes for name in node.outputs}
    known = {name: graph.tensors[name].source for name in makers if name in graph.tensors}
    sources = {source or name: makers[name] for name, source in known.items()}
    values: dict[str, dict[str, float]] = {}
    for layer in layers:
        tensor, source = str(layer.get("tensor")), str(layer.get("source"))
        node = makers.get(tensor) or makers.get(sanitize_name(tensor)) or sources.get(source)
        for key, *_ in _MEASURES:
            number = layer.get(key)
            if node is not None and isinstance(number, int | float) and abs(number) < 1e6:
                values.setdefault(key, {})[node] = float(number)
    overlays = [
        Overlay(key, title, values[field], "dB", is_low_worse=True)
        for field, key, title in _MEASURES
        if field in values
    ]
    simulated, emulated = values.get("sim_db", {}), values.get("emulator_db", {})
    gaps = {node: abs(simulated[node] - emulated[node]) for node in simulated if node in emulated}
    if gaps:
        overlays.append(Overlay("gap", "Simulation against emulator", gaps, "dB", threshold=_GAP_DB))
    return tuple(overlays)
