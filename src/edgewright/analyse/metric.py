"""How accuracy is measured for a model and its data: right answers, same answers, or closeness of values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgewright.analyse.records import Metric
from edgewright.analyse.statistics import compute_wilson_interval, is_distribution
from edgewright.config.build import AUTO
from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.reduce_softmax import Softmax

RIGHT, SAME, CLOSENESS = "right-answers", "same-answers", "closeness"
TEXTS = {
    RIGHT: "share of samples whose largest class is the right one",
    SAME: "share of answers (largest class) that are those of the float model",
    CLOSENESS: "100 % less the root mean square error over the range of the float model's values",
}
# Fewer values a place than this are coordinates rather than a vocabulary.
SMALLEST_VOCABULARY = 64
LINEAR = (Conv2d, FullyConnected, MatMul)
DRAWS, SEED = 1000, 0


@dataclass(frozen=True)
class SampleScore:
    """What one output of one sample tells; sums, no arrays."""

    signal: float
    noise: float
    count: int
    largest: float
    same: int
    rows: int
    # 1, 0, or -1 where the right answer is not known.
    right: int = -1


@dataclass(frozen=True)
class MetricScore:
    """A metric over many samples, with its interval of 95 %."""

    score: float
    low: float
    high: float


def choose_metric(
    graph: Graph, labels: Array | None, requested: str = AUTO, outputs: Mapping[str, Array] | None = None
) -> Metric:
    """The metric that was asked for, or the first that the model and the data allow.

    ``outputs`` of one sample show probabilities that the graph does not.
    """
    fitting = (
        [] if labels is None else [name for name in graph.outputs if _has_label_classes(graph, name, labels)]
    )
    answers = [
        name
        for name in graph.outputs
        if find_class_axis(graph, name) is not None or _has_probabilities((outputs or {}).get(name))
    ]
    certain = [name for name in answers if _is_certain(graph, name, (outputs or {}).get(name))]
    if requested == RIGHT and not fitting:
        raise _make_label_error(graph, labels)
    if requested in {AUTO, RIGHT} and fitting:
        return Metric(RIGHT, TEXTS[RIGHT], (min(fitting, key=lambda name: name not in certain),))
    if requested == SAME:
        answers = answers or [name for name in graph.outputs if _count_elements(graph, name) > 1]
    # Few numbers beside probabilities are boxes and points, whose values count.
    has_points = bool(certain) and any(
        _count_elements(graph, n) < SMALLEST_VOCABULARY for n in answers if n not in certain
    )
    if answers and (requested == SAME or (requested == AUTO and not has_points)):
        return Metric(SAME, TEXTS[SAME], tuple(answers))
    return Metric(CLOSENESS, TEXTS[CLOSENESS], tuple(graph.outputs))


def find_class_axis(graph: Graph, name: str) -> int | None:
    """The axis of classes of an output that holds answers: softmax, scores, words, whole numbers."""
    kind = graph.types[name]
    if kind.encoding is None and kind.dtype.numpy.kind in "iub":
        return -1
    producer = _find_producer(graph, name)
    if producer is None or kind.rank < 2:
        return None
    if isinstance(producer.op, Softmax):
        return (
            producer.op.axis_of(kind.rank)
            if producer is graph.producer(name)
            else _find_widest_axis(kind.static_shape())
        )
    classes = kind.static_shape()[-1]
    is_vector = _count_elements(graph, name) == classes
    return (
        -1
        if _is_linear(graph, producer) and classes > 1 and (is_vector or classes >= SMALLEST_VOCABULARY)
        else None
    )


def _is_certain(graph: Graph, name: str, values: Array | None) -> bool:
    """Whether an output holds answers beyond doubt: probabilities or whole numbers, not just a few values."""
    producer = _find_producer(graph, name)
    is_whole = graph.types[name].encoding is None and graph.types[name].dtype.numpy.kind in "iub"
    return (
        is_whole or _has_probabilities(values) or (producer is not None and isinstance(producer.op, Softmax))
    )


def _has_probabilities(values: Array | None) -> bool:
    """Whether values are rows of probabilities."""
    if values is None or values.ndim < 2 or values.shape[-1] < 2 or values.dtype.kind != "f":
        return False
    return is_distribution(values)


def score_sample(
    graph: Graph, name: str, reference: Array, result: Array, label: int | None = None
) -> SampleScore:
    """One output against the float model's."""
    first, second = reference.astype(np.float64), result.astype(np.float64).reshape(reference.shape)
    # Not a number against a number is as wrong as can be, not unknown.
    gap = np.nan_to_num(first - second, nan=np.abs(first).max(initial=1.0))
    axis = find_class_axis(graph, name)
    axis = _find_widest_axis(first.shape) if axis is None else axis
    if reference.dtype.kind in "iub":
        same = first == second
    else:
        same = first.argmax(axis) == second.argmax(axis) if first.ndim else first == second
    right = -1 if label is None else int(second.reshape(-1).argmax() == label)
    return SampleScore(
        signal=float(np.vdot(first, first)),
        noise=float(np.vdot(gap, gap)),
        count=first.size,
        largest=float(np.abs(gap).max(initial=0.0)),
        same=int(np.sum(same)),
        rows=int(np.size(same)),
        right=right,
    )


def score_metric(metric: str, samples: list[SampleScore], span: float) -> MetricScore:
    """The metric of one output in percent; ``span`` is the range of the float model's values."""
    if metric == RIGHT:
        return _score_share(
            sum(item.right == 1 for item in samples), sum(item.right >= 0 for item in samples)
        )
    if metric == SAME:
        return _score_share(sum(item.same for item in samples), sum(item.rows for item in samples))
    noise = np.array([item.noise for item in samples])
    counts = np.array([item.count for item in samples])
    generator = np.random.default_rng(SEED)
    draws = generator.integers(0, len(samples), (DRAWS, len(samples)))
    drawn = _compute_closeness(noise[draws].sum(1), counts[draws].sum(1), span)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return MetricScore(float(_compute_closeness(noise.sum(), counts.sum(), span)), float(low), float(high))


def compute_sqnr_db(samples: list[SampleScore]) -> float:
    """Signal over noise in dB; infinite where there is no noise."""
    signal, noise = sum(item.signal for item in samples), sum(item.noise for item in samples)
    if not noise:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def _score_share(good: int, count: int) -> MetricScore:
    low, high = compute_wilson_interval(good, count)
    return MetricScore(100 * good / count if count else math.nan, 100 * low, 100 * high)


def _compute_closeness(noise: Array, counts: Array, span: float) -> Array:
    return np.asarray(np.maximum(0.0, 100 - 100 * np.sqrt(noise / np.maximum(counts, 1)) / (span or 1.0)))


def _has_label_classes(graph: Graph, name: str, labels: Array) -> bool:
    """Whether an output is one row of classes that the labels are numbers of."""
    shape = graph.types[name].static_shape()
    is_row = sum(size > 1 for size in shape) == 1
    return (
        is_row
        and _count_elements(graph, name) > int(labels.max(initial=0))
        and graph.types[name].dtype.numpy.kind != "b"
    )


def _find_producer(graph: Graph, name: str) -> Node | None:
    """The node that computes an output, before what only moves or encodes elements."""
    producer = graph.producer(name)
    while producer is not None and (producer.op.keeps_encoding or producer.op.is_encoder):
        producer = graph.producer(producer.inputs[0])
    return producer


def _is_linear(graph: Graph, producer: Node) -> bool:
    """Products, and what adds a bias to one; a sum of two computed values holds no answers."""
    is_bias = isinstance(producer.op, ElementWiseAdd) and any(x in graph.constants for x in producer.inputs)
    return is_bias or isinstance(producer.op, LINEAR)


def _count_elements(graph: Graph, name: str) -> int:
    return math.prod(graph.types[name].static_shape())


def _find_widest_axis(shape: tuple[int, ...]) -> int:
    return int(np.argmax(shape)) if shape else 0


def _make_label_error(graph: Graph, labels: Array | None) -> UsageError:
    if labels is None:
        return UsageError(
            "the metric right-answers needs labels, and none were found", do="give them with --labels FILE"
        )
    shapes: Mapping[str, object] = {name: list(graph.types[name].shape) for name in graph.outputs}
    outputs = ", ".join(f"'{name}' {shape}" for name, shape in shapes.items())
    return UsageError(
        f"labels reach up to {int(labels.max(initial=0))}, expected an output with one row of more classes, "
        f"found {outputs}",
        do="check that the labels are numbers of classes from 0, or use --metric same-answers",
    )
