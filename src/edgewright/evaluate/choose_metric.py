"""Which metric suits a model and its data: classes only where the model shows them, else closeness."""

import math
from collections.abc import Mapping

import numpy as np

from edgewright.config.build import AUTO
from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.evaluate.metrics import find_measure
from edgewright.evaluate.metrics.answers import RightAnswers, SameAnswers
from edgewright.evaluate.metrics.measure import Measure
from edgewright.evaluate.metrics.values import Closeness
from edgewright.evaluate.records import Metric
from edgewright.evaluate.statistics import is_distribution
from edgewright.ir.graph import Graph, Node
from edgewright.ops.reduce_softmax import LogSoftmax, Softmax

RIGHT, SAME, CLOSENESS = RightAnswers.name, SameAnswers.name, Closeness.name
SHARES = (Softmax, LogSoftmax)


def choose_metric(
    graph: Graph, labels: Array | None, requested: str = AUTO, outputs: Mapping[str, Array] | None = None
) -> Metric:
    """The metric that was asked for, or the one that the model and the data show.

    ``outputs`` of one sample show probabilities that the graph does not.
    """
    labelled = (
        [] if labels is None else [name for name in graph.outputs if _has_label_classes(graph, name, labels)]
    )
    classes = [name for name in graph.outputs if _has_classes(graph, name, (outputs or {}).get(name))]
    if requested == AUTO:
        return _choose(graph, labelled, classes)
    measure = find_measure(requested)
    if measure.needs_labels and not labelled:
        raise _make_label_error(graph, labels)
    chosen = labelled[:1] if measure.needs_labels else _list_fitting(graph, measure, classes)
    if requested == RIGHT:
        chosen = [min(labelled, key=lambda name: name not in classes)]
    return Metric(requested, _describe(measure, requested), tuple(chosen))


def _choose(graph: Graph, labelled: list[str], classes: list[str]) -> Metric:
    if labelled:
        best = min(labelled, key=lambda name: name not in classes)
        return Metric(RIGHT, RightAnswers.text, (best,), f"labels are known and '{best}' has their classes")
    if classes and len(classes) == len(graph.outputs):
        return Metric(SAME, SameAnswers.text, tuple(classes), "every output holds probabilities or classes")
    return Metric(
        CLOSENESS,
        Closeness.text,
        tuple(graph.outputs),
        "the outputs need not be classes; --metric same-answers compares the largest one, labels are better",
    )


def _list_fitting(graph: Graph, measure: Measure, classes: list[str]) -> list[str]:
    """Outputs with more than one value for answers, all of them for values."""
    if not measure.is_share:
        return list(graph.outputs)
    return classes or [name for name in graph.outputs if _count_elements(graph, name) > 1]


def _describe(measure: Measure, requested: str) -> str:
    return getattr(measure, "text", f"mean over samples of {requested}")


def find_class_axis(graph: Graph, name: str) -> int:
    """The axis along which an output has its classes: softmax's, else the longest."""
    kind, producer = graph.types[name], _find_producer(graph, name)
    if producer is not None and producer is graph.producer(name) and isinstance(producer.op, SHARES):
        return producer.op.axis_of(kind.rank)
    shape = kind.static_shape()
    return int(np.argmax(shape)) if shape else 0


def _has_classes(graph: Graph, name: str, values: Array | None) -> bool:
    """Whether an output holds answers beyond doubt: probabilities or whole numbers."""
    kind, producer = graph.types[name], _find_producer(graph, name)
    if kind.encoding is None and kind.dtype.numpy.kind in "iub":
        return True
    has_classes = kind.rank >= 2 and max(kind.static_shape()) > 1
    return _has_probabilities(values) or (
        has_classes and producer is not None and isinstance(producer.op, SHARES)
    )


def _has_probabilities(values: Array | None) -> bool:
    """Whether values are rows of probabilities."""
    if values is None or values.ndim < 2 or values.shape[-1] < 2 or values.dtype.kind != "f":
        return False
    return is_distribution(values)


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


def _count_elements(graph: Graph, name: str) -> int:
    return math.prod(graph.types[name].static_shape())


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
