"""Statistics of activations, gathered as samples stream through the float graph; no activation is kept."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized

import numpy as np

from edgewright.core.errors import BadInput, UsageError, Where
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ops.reduce import ReduceMax, ReduceMin, ReduceSum
from edgewright.quantize.executor import Executor, Samples
from edgewright.quantize.observers import Extremes, Histogram, HistogramObserver
from edgewright.quantize.observers.histogram import BINS

MASK = 65504.0
ADVICE = "look for NaN, infinity or wrong scaling in the data that goes in"


def observe_extremes(
    graph: Graph,
    values: Sequence[str],
    samples: Samples,
    executor: Executor,
    watch: Callable[[Mapping[str, Extremes]], None] | None = None,
) -> dict[str, Extremes]:
    """The smallest and the largest element of values over all samples: one pass, computed in the graph.

    ``watch`` is given those of each sample.
    """
    given = [value for value in values if value in graph.inputs]
    # Infinities that the model itself brings are masks; others are accidents.
    is_masked = any(np.isinf(array).any() for array in graph.constants.values() if array.dtype.kind == "f")
    watched, probes = _with_probes(graph, [value for value in values if value not in given])
    session = executor.prepare(watched, watched.outputs)
    extremes: dict[str, Extremes] = {}
    for number, sample in _walk_samples(samples, "calibrating"):
        now = {
            name: _measure_input(name, array, number)
            for name, array in sample.items()
            if name in graph.inputs
        }
        results = session.run(sample)
        for value, probe in probes.items():
            low, high, *sums = (float(results[name].reshape(-1)[0]) if name else 0.0 for name in probe)
            now[value] = (
                _check_extremes(value, low, high, sums, number)
                if not is_masked
                else _bound_extremes(low, high)
            )
        if watch is not None:
            watch(now)
        for value in values:
            extremes[value] = extremes[value].merge(now[value]) if value in extremes else now[value]
    return extremes


def observe_histograms(
    graph: Graph, extremes: Mapping[str, Extremes], samples: Samples, executor: Executor, bins: int = BINS
) -> dict[str, Histogram]:
    """How often elements occur between known extremes: the second pass of schemes that need it."""
    observers = {value: HistogramObserver(reach, bins) for value, reach in extremes.items()}
    computed = [value for value in extremes if value not in graph.inputs]
    session = executor.prepare(graph, computed)
    for _, sample in _walk_samples(samples, "counting values"):
        results = session.run(sample) if computed else {}
        for value, observer in observers.items():
            observer.add(results[value] if value in results else sample[value])
    return {value: observer.histogram() for value, observer in observers.items()}


def check_constants(graph: Graph, values: Iterable[str], *, is_infinity_allowed: bool = False) -> None:
    """Refuses constants with NaN or, where it is no mask, infinity: no encoding means them."""
    for value in values:
        array = graph.constants[value]
        if np.isnan(array).any() if is_infinity_allowed else not np.isfinite(array).all():
            name = graph.source_names.get(value, value)
            raise BadInput(
                f"the weights have {_describe_array(array)}, expected finite numbers",
                Where(tensor=name),
                do="mend the model: train or export it again",
            )


def _walk_samples(samples: Samples, title: str) -> Iterator[tuple[int, Mapping[str, Array]]]:
    """Samples with their numbers, announced; none at all is an error."""
    number = -1
    with announce_progress(title, total=len(samples) if isinstance(samples, Sized) else None) as step:
        # Parts of the data know the numbers that their samples have in it.
        numbers = getattr(samples, "numbers", None)
        for number, sample in enumerate(samples):
            yield number if numbers is None else numbers[number], sample
            step()
    if number < 0:
        raise UsageError(
            "there are no calibration samples, expected at least one",
            do="name files in the input list, or give an iterable that can be walked more than once",
        )


def _with_probes(graph: Graph, values: Sequence[str]) -> tuple[Graph, dict[str, list[str]]]:
    """A copy of the graph whose outputs are minima, maxima and (where NaN may come from) sums of values.

    The smallest value of a Relu need not be looked for: its range begins at 0 (no name stands for that).
    """
    watched = graph.copy()
    probes: dict[str, list[str]] = {}
    for value in values:
        node = graph.producer(value)
        # The engine's minimum and maximum leave NaN out, a sum does not.
        is_suspect = value in graph.outputs or (node is not None and node.op.specific().may_make_nan)
        kinds = (ReduceMin, ReduceMax, ReduceSum) if is_suspect else (ReduceMin, ReduceMax)
        axes = tuple(range(graph.types[value].rank))
        # Dimensions are kept: so a backend may reduce the value in whatever layout it has it.
        is_positive = node is not None and node.op.is_clamp and node.op.value_range()[0] == 0
        probes[value] = [
            ""
            if is_positive and kind is ReduceMin
            else _probe(watched, value, kind(axes=axes, keep_dims=True))
            for kind in kinds
        ]
    watched.outputs = [name for names in probes.values() for name in names if name]
    return watched, probes


def _probe(graph: Graph, value: str, op: Op) -> str:
    name = graph.fresh_name(f"{value}/{op.qnn_name()}")
    graph.add(Node(name, op, [value], [name]))
    return name


def _bound_extremes(low: float, high: float) -> Extremes:
    """Extremes of which infinite ones are brought down to what masks have in half precision."""
    return Extremes.from_bounds(*np.nan_to_num(np.clip([low, high], -MASK, MASK)).tolist())


def _check_extremes(value: str, low: float, high: float, sums: Sequence[float], number: int) -> Extremes:
    if not np.isfinite([low, high]).all() or any(np.isnan(total) for total in sums):
        # Nothing at all was reduced: a dimension of this sample is 0.
        if (low, high) == (np.inf, -np.inf):
            return Extremes.from_bounds(0.0, 0.0)
        problem = "NaN" if np.isnan([low, high, *sums]).any() else f"values from {low} to {high}"
        raise BadInput(
            f"the float model computes {problem} for sample {number}, expected finite numbers",
            Where(tensor=value),
            do=ADVICE,
        )
    return Extremes.from_bounds(low, high)


def _measure_input(name: str, array: Array, number: int) -> Extremes:
    if array.dtype.kind not in "fV":
        return Extremes.from_bounds(0.0, 0.0)
    extremes = Extremes.of(array)
    if not extremes.is_finite:
        raise BadInput(
            f"sample {number} has {_describe_array(array)}, expected finite numbers",
            Where(tensor=name),
            do=ADVICE,
        )
    return extremes


def _describe_array(array: Array) -> str:
    wide = array.astype(np.float64)
    nans, infinite = int(np.isnan(wide).sum()), int(np.isinf(wide).sum())
    return " and ".join(
        f"{count} times {what}" for count, what in ((nans, "NaN"), (infinite, "infinity")) if count
    )
