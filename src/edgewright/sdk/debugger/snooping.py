"""Layerwise and cumulative-layerwise debugging: every layer alone, with golden inputs, in one pass.

The guide's way converts, quantizes and compiles a model for each layer. Here the layers of the quantized
graph stand side by side in one graph and read golden values; the numbers are the same.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgewright.analyse.comparison_points import ComparisonPoint, list_layers
from edgewright.analyse.isolated_layers import IsolatedLayers, Prepare, as_stored, cut_suffix
from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.backends.base import RunOptions
from edgewright.core.errors import EdgewrightError, UsageError, shown
from edgewright.core.events import announce_progress
from edgewright.core.files import write_whole
from edgewright.core.numbers import Array
from edgewright.core.words import did_you_mean
from edgewright.ir.graph import Graph
from edgewright.model.surface import Surface
from edgewright.sdk.debugger.graph_structure import Structure
from edgewright.sdk.debugger.summary import format_csv, format_score

log = logging.getLogger(__name__)

ABNORMAL = "{name}: {score} (expected {side} {threshold:g})"


@dataclass
class LayerScore:
    """One layer: the guide's columns."""

    name: str
    type: str
    shape: tuple[int, ...]
    # Empty (equal), skip, part (different: what follows reads golden values), err_part, err_exec or
    # err_compare.
    status: str = ""
    # Smallest, largest and median golden value.
    activations: tuple[float, float, float] = (0.0, 0.0, 0.0)
    scores: dict[str, float] = field(default_factory=dict)
    # Output of the model -> its scores when all from this layer on is quantized and nothing before it.
    outputs: dict[str, dict[str, float]] = field(default_factory=dict)
    info: str = ""


@dataclass(frozen=True)
class Snooping:
    """All layers in order."""

    folder: str
    algorithm: str
    verifiers: tuple[Verifier, ...]
    layers: tuple[LayerScore, ...]
    # Passes over the quantized graph that this took, suffixes counted as parts of one.
    passes: float = 0.0

    @property
    def partitions(self) -> int:
        """Layers that differ from their references."""
        return sum(layer.status == "part" for layer in self.layers)

    @property
    def first_divergence(self) -> str:
        """One line: the first layer that some verifier calls different."""
        for layer in self.layers:
            if layer.info or layer.status.startswith("err"):
                return f"first divergence: {layer.name} ({layer.type}): {layer.info or layer.status}"
        return f"first divergence: none of {len(self.layers)} layers"


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


def snoop_layers(request: SnoopRequest, folder: Path) -> Snooping:
    """Measures the layers and writes layerwise.csv or cumulative_layerwise.csv."""
    values = _collect_golden_values(request)
    points = [point for point in list_layers(request.graph) if point.value in values]
    chosen = _choose_range(request, points)
    layers = {point.value: _describe_layer(request, point, values) for point in points}
    for value, layer in layers.items():
        layer.status = "" if value in chosen else "skip"
    results = _run_isolated(request, [point for point in points if point.value in chosen], values, layers)
    for value, array in results.items():
        _judge(layers[value], request.verifiers, values[value], array)
    passes = 1.0
    if request.has_outputs:
        passes += _run_suffixes(
            request, [p for p in points if layers[p.value].status == "part"], values, layers
        )
    algorithm = "cumulative_layerwise" if request.has_outputs else "layerwise"
    result = Snooping(str(folder), algorithm, tuple(request.verifiers), tuple(layers.values()), passes)
    write_whole(folder / f"{algorithm}.csv", [format_csv(list_rows(result))])
    log.info("%s", result.first_divergence)
    return result


def list_rows(result: Snooping) -> list[list[str]]:
    """The table of the guide, headers first."""
    columns = [verifier.column for verifier in result.verifiers]
    has_outputs = result.algorithm.startswith("cumulative")
    headers = ["O/P Name", "Status", "Layer Type", "Shape", "Activations (Min,Max,Median)", *columns]
    rows = [[*headers, *(["Orig Outputs"] if has_outputs else []), "Info"]]
    for layer in result.layers:
        scores = [format_score(layer.scores[name]) if name in layer.scores else "" for name in columns]
        figures = str([f"{value:.3f}" for value in layer.activations])
        outputs = {
            name: {key: float(format_score(score)) for key, score in entry.items()}
            for name, entry in layer.outputs.items()
        }
        cells = [layer.name, layer.status, layer.type, str(list(layer.shape)), figures, *scores]
        rows.append([*cells, *([str(outputs) if outputs else ""] if has_outputs else []), layer.info])
    return rows


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
    places = []
    for option, name in (("--start_layer", request.start_layer), ("--end_layer", request.end_layer)):
        if name is not None and name not in names:
            raise UsageError(
                f"{option} is '{shown(name)}', which is no layer of the converted model",
                do=did_you_mean(name, names, "name the output of a layer, as layerwise.csv lists them"),
            )
        places.append(None if name is None else names.index(name))
    first, last = places[0] or 0, len(points) - 1 if places[1] is None else places[1]
    if first > last:
        start, end = shown(request.start_layer), shown(request.end_layer)
        raise UsageError(f"--start_layer '{start}' comes after --end_layer '{end}'", do="exchange them")
    return {point.value for point in points[first : last + 1]}


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
            results |= alone.run(request.prepare, [values])[0]
        except EdgewrightError as problem:
            layers[point.value].status = "err_exec"
            log.warning("layer '%s' does not run: %s", layers[point.value].name, problem.what)
    return results


def _judge(layer: LayerScore, verifiers: Sequence[Verifier], golden: Array, result: Array) -> None:
    try:
        layer.scores = {verifier.column: verifier.score(golden, result) for verifier in verifiers}
    except EdgewrightError as problem:
        layer.status = "err_compare"
        log.warning("layer '%s' is not compared: %s", layer.name, problem.what)
        return
    # The guide: the model is partitioned at every layer that does not match exactly.
    if not np.array_equal(golden.reshape(-1), result.reshape(-1)):
        layer.status = "part"
    wrong = [verifier for verifier in verifiers if not verifier.is_match(layer.scores[verifier.column])]
    layer.info = "; ".join(
        ABNORMAL.format(
            name=verifier.column,
            score=format_score(layer.scores[verifier.column]),
            side="at least" if verifier.is_higher_better else "at most",
            threshold=verifier.threshold,
        )
        for verifier in wrong
    )


def _run_suffixes(
    request: SnoopRequest,
    points: Sequence[ComparisonPoint],
    values: Mapping[str, Array],
    layers: Mapping[str, LayerScore],
) -> float:
    """The outputs of the model when only what follows the last partition before a layer is quantized."""
    graph, passes = request.graph, 0.0
    outputs = [value for value in graph.outputs if value in values]
    with announce_progress("running from each layer on", total=len(points)) as step:
        for point in points:
            part = cut_suffix(graph, point.nodes[0], values)
            if outputs and all(value in values for value in part.inputs):
                results = _run_part(request, part, values)
                passes += len(part) / max(len(graph), 1)
                layers[point.value].outputs = {
                    _name_source(request, value): {
                        verifier.column: verifier.score(values[value], results[value])
                        for verifier in request.verifiers
                    }
                    for value in outputs
                }
            step()
    return passes


def _run_part(request: SnoopRequest, part: Graph, values: Mapping[str, Array]) -> dict[str, Array]:
    surface, session = Surface(part), request.prepare(part, RunOptions())
    feed = {value: as_stored(part, value, values[value]) for value in part.inputs}
    return surface.decode_outputs(session.run(surface.encode_inputs(feed)))
