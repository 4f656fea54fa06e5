"""Two backends on the same quantized graph: the first op that they compute differently, with its inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgewright.analyse.comparison_points import ComparisonPoint, list_layers
from edgewright.analyse.isolated_layers import IsolatedLayers, as_stored
from edgewright.backends.base import Backend, RunOptions
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.model.surface import Surface


@dataclass(frozen=True)
class OpDifference:
    """One op on two backends with the same inputs; ``steps`` is the largest difference of its results.

    Where the result is in floating point, steps are units of float16 at the largest magnitude.
    """

    source: str
    op: str
    steps: float
    # Share of elements that differ at all.
    share: float


class OpCase:
    """An op to run again: a graph of its own, its inputs, and its results by backend and name.

    ``step`` is what differences are counted in.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Mapping[str, Array]],
        step: float,
    ) -> None:
        self.graph, self.inputs, self.outputs, self.step = graph, inputs, outputs, step

    def __str__(self) -> str:
        return f"the graph of one op with {len(self.inputs)} inputs"


@dataclass(frozen=True)
class BackendComparison:
    """All ops that differ, in the order of the graph; the first one as a case of its own."""

    first: str
    second: str
    ops: int
    differences: tuple[OpDifference, ...] = ()
    case: OpCase | None = None

    @property
    def first_divergence(self) -> str:
        """One line."""
        pair = f"{self.first} and {self.second}"
        if not self.differences:
            return f"{pair} compute all {self.ops} ops alike"
        worst = self.differences[0]
        figures = f"by up to {worst.steps:.3g} steps in {100 * worst.share:.2g} % of its elements"
        return f"first op that {pair} compute differently: {worst.op} '{worst.source}', {figures}"


def compare_backends(
    graph: Graph, feeds: Sequence[Mapping[str, Array]], backends: Mapping[str, Backend]
) -> BackendComparison:
    """Gives every op on the second of two backends what it reads on the first, and compares the results.

    Errors do not add up so: each op that differs does so by itself.
    """
    (first_name, first), (second_name, second) = backends.items()
    values = list_compared_values(graph)
    samples = [run_values(graph, first, values, feed) for feed in feeds]
    return compare_values(graph, samples, (first_name, second_name), second)


def compare_values(
    graph: Graph, samples: Sequence[Mapping[str, Array]], names: tuple[str, str], second: Backend
) -> BackendComparison:
    """Holds what the first computed, by the graph's values, against what the second makes of it."""
    layers = IsolatedLayers(graph, list(samples[0]))
    points = [point for point in list_layers(graph) if point.value in samples[0] and layers.add(point)]
    results = layers.run(second.prepare, samples) if points else []
    differences = {}
    for point in points:
        pairs = [(s[point.value], r[point.value]) for s, r in zip(samples, results, strict=True)]
        difference = _measure(graph, point, pairs)
        if difference is not None:
            differences[point.value] = difference
    record = BackendComparison(*names, len(points), tuple(differences.values()))
    if not differences:
        return record
    return _add_case(record, graph, next(p for p in points if p.value in differences), samples[0], results[0])


def list_compared_values(graph: Graph) -> list[str]:
    """What layers make and read, of all layers of a graph."""
    return _list_values(graph, list_layers(graph))


def _list_values(graph: Graph, points: Sequence[ComparisonPoint]) -> list[str]:
    """What layers make and read; what lies within one is not asked for, as it would not be fused then."""
    inside = {value for point in points for node in point.nodes[:-1] for value in node.outputs}
    read = [value for point in points for node in point.nodes for value in node.inputs if value]
    made = {value for node in graph.nodes for value in node.outputs} - inside
    values = [*(point.value for point in points), *(value for value in read if value in made)]
    return [value for value in dict.fromkeys(values) if graph.types[value].is_static]


def run_values(
    graph: Graph, backend: Backend, values: Sequence[str], feed: Mapping[str, Array]
) -> dict[str, Array]:
    """Values of a graph by their names, inputs among them, as real numbers."""
    part = graph.copy()
    part.outputs = list(values)
    surface = Surface(part)
    results = surface.decode_outputs(backend.prepare(part, RunOptions()).run(surface.encode_inputs(feed)))
    given = {name: _round_input(graph, name, np.asarray(feed[name])) for name in graph.inputs}
    return {**given, **results}


def _round_input(graph: Graph, name: str, array: Array) -> Array:
    kind = graph.types[name]
    if kind.encoding is None or array.dtype == kind.dtype.numpy:
        return array
    return kind.encoding.decode(kind.encoding.encode(array, kind.dtype))


def _measure(
    graph: Graph, point: ComparisonPoint, pairs: Sequence[tuple[Array, Array]]
) -> OpDifference | None:
    gaps = [np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)) for a, b in pairs]
    largest = max(float(np.max(np.nan_to_num(gap, nan=np.inf), initial=0.0)) for gap in gaps)
    step = _find_step(graph, point.value, [a for a, _ in pairs])
    if largest <= step / 2:
        return None
    share = sum(int(np.count_nonzero(gap > step / 2)) for gap in gaps) / max(sum(gap.size for gap in gaps), 1)
    source = graph.source_names.get(point.value, point.value)
    return OpDifference(source, point.op, largest / step, share)


def _find_step(graph: Graph, value: str, arrays: Sequence[Array]) -> float:
    encoding = graph.types[value].encoding
    if encoding is not None:
        return float(min(encoding.scales))
    peak = max(float(np.max(np.abs(array), initial=0.0)) for array in arrays)
    return max(peak, 1e-30) * float(np.finfo(np.float16).eps)


def _add_case(
    record: BackendComparison,
    graph: Graph,
    point: ComparisonPoint,
    sample: Mapping[str, Array],
    result: Mapping[str, Array],
) -> BackendComparison:
    alone = IsolatedLayers(graph, list(sample))
    alone.add(point)
    inputs = {
        name: as_stored(graph, value, np.asarray(sample[value])) for value, name in alone.inputs.items()
    }
    output = alone.outputs[point.value]
    outputs = {record.first: {output: sample[point.value]}, record.second: {output: result[point.value]}}
    step = _find_step(graph, point.value, [sample[point.value]])
    return replace(record, case=OpCase(alone.graph, inputs, outputs, step))
