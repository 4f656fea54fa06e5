"""Layerwise and cumulative-layerwise debugging: every layer alone, with golden inputs, in one pass.

The guide's way converts, quantizes and compiles a model for each layer. Here the layers of the quantized
graph stand side by side in one graph and read golden values; the numbers are the same.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from edgewright.analyse.comparison_points import ComparisonPoint, list_layers
from edgewright.analyse.isolated_layers import IsolatedLayers, Prepare, as_stored, cut_suffix
from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.backends.base import RunOptions, Session
from edgewright.config.inference_engine import EngineRun
from edgewright.core.errors import EdgewrightError
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.lower.names import sanitize_name
from edgewright.model.surface import Surface
from edgewright.sdk.debugger.graph_structure import Structure
from edgewright.sdk.debugger.layer_scores import (
    LayerScore,
    Snooping,
    StageFailure,
    choose_layers,
    is_skipped,
    judge_layer,
    mark_failures,
    note_failed_rest,
    note_failure,
    write_snooping,
)
from edgewright.sdk.debugger.tensor_folder import write_tensors

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SnoopRequest:
    """A quantized graph, golden values by the source's names, and which layers are of interest."""

    graph: Graph
    # By the graph's own names.
    structure: Structure
    golden: Mapping[str, Array]
    prepare: Prepare
    verifiers: Sequence[Verifier]
    start_layer: str | None = None
    end_layer: str | None = None
    has_outputs: bool = False
    choice: EngineRun = field(default_factory=EngineRun)


def snoop_layers(request: SnoopRequest, folder: Path) -> Snooping:
    """Measures the layers and writes layerwise.csv or cumulative_layerwise.csv."""
    values = _collect_golden_values(request)
    points = [point for point in list_layers(request.graph) if point.value in values]
    chosen = _choose_range(request, points)
    layers = {point.value: _describe_layer(request, point, values) for point in points}
    for value, layer in layers.items():
        is_left_out = is_skipped(request.choice, {value, layer.name}, request.structure[value].type)
        layer.status = "skip" if value not in chosen or is_left_out else ""
    points = [point for point in points if layers[point.value].status != "skip"]
    results = _run_isolated(request, points, values, layers)
    for value, array in results.items():
        judge_layer(layers[value], request.verifiers, values[value], array)
        _write_result(folder, layers[value].name, array)
    shares = []
    if request.has_outputs:
        shares = _run_suffixes(
            request, [p for p in points if layers[p.value].status == "part"], values, layers
        )
    algorithm = "cumulative_layerwise" if request.has_outputs else "layerwise"
    verifiers, scores = tuple(request.verifiers), tuple(layers.values())
    return write_snooping(Snooping(str(folder), algorithm, verifiers, scores, 1.0 + sum(shares), len(shares)))


def _write_result(folder: Path, name: str, array: Array) -> None:
    """What a layer made, in a folder of its name."""
    write_tensors(
        folder / "inference_engine" / sanitize_name(name) / "output" / "Result_0",
        [(sanitize_name(name), array)],
    )


def _collect_golden_values(request: SnoopRequest) -> dict[str, Array]:
    """Golden arrays by the graph's values, in the graph's axes."""
    graph, golden = request.graph, request.golden
    values: dict[str, Array] = {}
    for value in graph.inputs:
        source = graph.source_names.get(value, value)
        array = golden.get(source, golden.get(value))
        if array is not None and array.size == graph.types[value].count:
            values[value] = array.reshape(graph.types[value].static_shape())
    for value, facts in request.structure.items():
        array = golden.get(facts.source)
        if array is None or array.size != int(np.prod(facts.dims)):
            continue
        if facts.order:
            inverse = np.argsort(facts.order)
            array = array.reshape(facts.source_dims).transpose(inverse)
        values[value] = array.reshape(facts.dims)
    return values


def _choose_range(request: SnoopRequest, points: Sequence[ComparisonPoint]) -> set[str]:
    names = [_name_source(request, point.value) for point in points]
    return {points[place].value for place in choose_layers(names, request.start_layer, request.end_layer)}


def _name_source(request: SnoopRequest, value: str) -> str:
    return request.structure[value].source if value in request.structure else value


def _describe_layer(request: SnoopRequest, point: ComparisonPoint, values: Mapping[str, Array]) -> LayerScore:
    facts, array = request.structure[point.value], values[point.value]
    middle = (0.0, 0.0, 0.0)
    if array.size:
        middle = (float(array.min()), float(array.max()), float(np.median(array)))
    return LayerScore(facts.source, point.op, facts.source_dims, activations=middle)


def _run_isolated(
    request: SnoopRequest,
    points: Sequence[ComparisonPoint],
    values: Mapping[str, Array],
    layers: Mapping[str, LayerScore],
) -> dict[str, Array]:
    """What each layer makes of golden inputs: together, or one by one where one of them fails."""
    together = IsolatedLayers(request.graph, list(values))
    added = [point for point in points if together.add(point)]
    for point in points:
        if point.value not in together.outputs:
            layers[point.value].status = "err_part"
    if not added:
        return {}
    try:
        return together.run(request.prepare, [values])[0]
    except EdgewrightError as problem:
        log.info("the layers do not run together (%s): they run one by one", problem.what)
    results: dict[str, Array] = {}
    for point in added:
        alone = IsolatedLayers(request.graph, list(values))
        alone.add(point)
        try:
            with mark_failures("err_exec"):
                results |= alone.run(partial(_compile, request.prepare), [values])[0]
        except StageFailure as failure:
            note_failure(layers[point.value], failure)
    return results


def _compile(prepare: Prepare, graph: Graph, options: RunOptions) -> Session:
    with mark_failures("err_cntx"):
        return prepare(graph, options)


def _run_suffixes(
    request: SnoopRequest,
    points: Sequence[ComparisonPoint],
    values: Mapping[str, Array],
    layers: Mapping[str, LayerScore],
) -> list[float]:
    """The outputs of the model when only what follows the last partition before a layer is quantized.

    Returns the part of the graph that each run took.
    """
    graph, shares = request.graph, []
    outputs = [value for value in graph.outputs if value in values]
    with announce_progress("running from each layer on", total=len(points)) as step:
        for point in points:
            part, layer = cut_suffix(graph, point.nodes[0], values), layers[point.value]
            if outputs and all(value in values for value in part.inputs):
                try:
                    with mark_failures("err_exec"):
                        results = _run_part(request, part, values)
                        layer.outputs = _score_outputs(request, outputs, values, results)
                    shares.append(len(part) / max(len(graph), 1))
                except StageFailure as failure:
                    note_failed_rest(layer, failure)
            step()
    return shares


def _score_outputs(
    request: SnoopRequest, outputs: Sequence[str], values: Mapping[str, Array], results: Mapping[str, Array]
) -> dict[str, dict[str, float]]:
    return {
        _name_source(request, value): {
            verifier.column: verifier.score(values[value], results[value]) for verifier in request.verifiers
        }
        for value in outputs
    }


def _run_part(request: SnoopRequest, part: Graph, values: Mapping[str, Array]) -> dict[str, Array]:
    surface, session = Surface(part), _compile(request.prepare, part, RunOptions())
    feed = {value: as_stored(part, value, values[value]) for value in part.inputs}
    return surface.decode_outputs(session.run(surface.encode_inputs(feed)))
