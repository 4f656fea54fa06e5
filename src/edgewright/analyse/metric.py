"""How accuracy is told for a model and its data: right answers, same answers, or closeness of values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgewright.analyse.compare_models import wilson
from edgewright.analyse.records import Metric
from edgewright.config.build import AUTO
from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWiseAdd
from edgewright.ops.matmul import FullyConnected, MatMul
from edgewright.ops.reduce_softmax import Softmax

__all__ = ["CLOSENESS", "RIGHT", "SAME", "Judged", "Scored", "choose_metric", "judged", "scored"]

RIGHT, SAME, CLOSENESS = "right-answers", "same-answers", "closeness"
TEXTS = {
    RIGHT: "share of samples whose largest class is the right one",
    SAME: "share of answers (largest class) that are those of the float model",
    CLOSENESS: "100 % less the root mean square error over the range of the float model's values",
}
# Fewer values a place than this are coordinates rather than a vocabulary.
LEAST_WORDS = 64
LINEAR = (Conv2d, FullyConnected, MatMul)
DRAWS, SEED = 1000, 0


@dataclass(frozen=True)
class Judged:
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
class Scored:
    """A metric over many samples, with its interval of 95 %."""

    score: float
    low: float
    high: float


def choose_metric(
    graph: Graph, labels: Array | None, wish: str = AUTO, outputs: Mapping[str, Array] | None = None
) -> Metric:
    """The metric that was asked for, or the first that the model and the data allow.

    ``outputs`` of one sample show probabilities that the graph does not.
    """
    fitting = [] if labels is None else [name for name in graph.outputs if _holds(graph, name, labels)]
    answers = [
        name
        for name in graph.outputs
        if class_axis(graph, name) is not None or is_distribution((outputs or {}).get(name))
    ]
    sure = [name for name in answers if _is_sure(graph, name, (outputs or {}).get(name))]
    if wish == RIGHT and not fitting:
        raise _no_labels(graph, labels)
    if wish in {AUTO, RIGHT} and fitting:
        return Metric(RIGHT, TEXTS[RIGHT], (min(fitting, key=lambda name: name not in sure),))
    if wish == SAME:
        answers = answers or [name for name in graph.outputs if _size(graph, name) > 1]
    # Few numbers beside probabilities are boxes and points, whose values count.
    has_points = bool(sure) and any(_size(graph, n) < LEAST_WORDS for n in answers if n not in sure)
    if answers and (wish == SAME or (wish == AUTO and not has_points)):
        return Metric(SAME, TEXTS[SAME], tuple(answers))
    return Metric(CLOSENESS, TEXTS[CLOSENESS], tuple(graph.outputs))


def class_axis(graph: Graph, name: str) -> int | None:
    """The axis of classes of an output that holds answers: softmax, scores, words, whole numbers."""
    found = graph.types[name]
    if found.encoding is None and found.dtype.numpy.kind in "iub":
        return -1
    maker = _maker(graph, name)
    if maker is None or found.rank < 2:
        return None
    if isinstance(maker.op, Softmax):
        return (
            maker.op.axis_of(found.rank) if maker is graph.producer(name) else _widest(found.static_shape())
        )
    classes = found.static_shape()[-1]
    is_vector = _size(graph, name) == classes
    return -1 if _is_linear(graph, maker) and classes > 1 and (is_vector or classes >= LEAST_WORDS) else None


def _is_sure(graph: Graph, name: str, values: Array | None) -> bool:
    """Whether an output holds answers beyond doubt: probabilities or whole numbers, not just a few values."""
    maker = _maker(graph, name)
    is_whole = graph.types[name].encoding is None and graph.types[name].dtype.numpy.kind in "iub"
    return is_whole or is_distribution(values) or (maker is not None and isinstance(maker.op, Softmax))


def is_distribution(values: Array | None) -> bool:
    """Whether values are rows of probabilities."""
    if values is None or values.ndim < 2 or values.shape[-1] < 2 or values.dtype.kind != "f":
        return False
    return bool((values >= 0).all() and np.allclose(values.sum(-1), 1.0, atol=1e-3))


def judged(graph: Graph, name: str, wanted: Array, found: Array, label: int | None = None) -> Judged:
    """One output against the float model's."""
    first, second = wanted.astype(np.float64), found.astype(np.float64).reshape(wanted.shape)
    # Not a number against a number is as wrong as can be, not unknown.
    gap = np.nan_to_num(first - second, nan=np.abs(first).max(initial=1.0))
    axis = class_axis(graph, name)
    axis = _widest(first.shape) if axis is None else axis
    if wanted.dtype.kind in "iub":
        same = first == second
    else:
        same = first.argmax(axis) == second.argmax(axis) if first.ndim else first == second
    right = -1 if label is None else int(second.reshape(-1).argmax() == label)
    return Judged(
        signal=float(np.vdot(first, first)),
        noise=float(np.vdot(gap, gap)),
        count=first.size,
        largest=float(np.abs(gap).max(initial=0.0)),
        same=int(np.sum(same)),
        rows=int(np.size(same)),
        right=right,
    )


def scored(metric: str, samples: list[Judged], span: float) -> Scored:
    """The metric of one output in percent; ``span`` is the range of the float model's values."""
    if metric == RIGHT:
        return _share(sum(item.right == 1 for item in samples), sum(item.right >= 0 for item in samples))
    if metric == SAME:
        return _share(sum(item.same for item in samples), sum(item.rows for item in samples))
    noise = np.array([item.noise for item in samples])
    counts = np.array([item.count for item in samples])
    generator = np.random.default_rng(SEED)
    draws = generator.integers(0, len(samples), (DRAWS, len(samples)))
    drawn = _closeness(noise[draws].sum(1), counts[draws].sum(1), span)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Scored(float(_closeness(noise.sum(), counts.sum(), span)), float(low), float(high))


def sqnr_db(samples: list[Judged]) -> float:
    """Signal over noise in dB; infinite where there is no noise."""
    signal, noise = sum(item.signal for item in samples), sum(item.noise for item in samples)
    if not noise:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def _share(good: int, count: int) -> Scored:
    low, high = wilson(good, count)
    return Scored(100 * good / count if count else math.nan, 100 * low, 100 * high)


def _closeness(noise: Array, counts: Array, span: float) -> Array:
    return np.asarray(np.maximum(0.0, 100 - 100 * np.sqrt(noise / np.maximum(counts, 1)) / (span or 1.0)))


def _holds(graph: Graph, name: str, labels: Array) -> bool:
    """Whether an output is one row of classes that the labels are numbers of."""
    shape = graph.types[name].static_shape()
    is_row = sum(size > 1 for size in shape) == 1
    return (
        is_row
        and _size(graph, name) > int(labels.max(initial=0))
        and graph.types[name].dtype.numpy.kind != "b"
    )


def _maker(graph: Graph, name: str) -> Node | None:
    """The node that computes an output, before what only moves or encodes elements."""
    maker = graph.producer(name)
    while maker is not None and (maker.op.keeps_encoding or maker.op.is_encoder):
        maker = graph.producer(maker.inputs[0])
    return maker


def _is_linear(graph: Graph, maker: Node) -> bool:
    """Products, and what adds a bias to one; a sum of two computed values holds no answers."""
    is_bias = isinstance(maker.op, ElementWiseAdd) and any(x in graph.constants for x in maker.inputs)
    return is_bias or isinstance(maker.op, LINEAR)


def _size(graph: Graph, name: str) -> int:
    return math.prod(graph.types[name].static_shape())


def _widest(shape: tuple[int, ...]) -> int:
    return int(np.argmax(shape)) if shape else 0


def _no_labels(graph: Graph, labels: Array | None) -> UsageError:
    if labels is None:
        return UsageError(
            "the metric right-answers needs labels, and none were found", do="give them with --labels FILE"
        )
    shapes: Mapping[str, object] = {name: list(graph.types[name].shape) for name in graph.outputs}
    found = ", ".join(f"'{name}' {shape}" for name, shape in shapes.items())
    return UsageError(
        f"labels reach up to {int(labels.max(initial=0))}, expected an output with one row of more classes, "
        f"found {found}",
        do="check that the labels are numbers of classes from 0, or use --metric same-answers",
    )
