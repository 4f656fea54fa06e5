"""What the outputs of a model hold, as far as its graph shows: classes, and parts of different meaning."""

import math

import numpy as np

from edgewright.core.numbers import Array
from edgewright.evaluate.statistics import is_distribution
from edgewright.ir.graph import Graph, Node
from edgewright.ops.rearrange import Concat
from edgewright.ops.reduce_order import TopK
from edgewright.ops.reduce_softmax import LogSoftmax, Softmax

SHARES = (Softmax, LogSoftmax)
# Outputs that are put together from more parts than this are lists, not results of different meaning.
MOST_PARTS = 8
# A vector that is put together is looked at up to this length: longer ones are lists of anchors.
LONGEST_VECTOR = 512


def has_classes(graph: Graph, name: str, values: Array | None) -> bool:
    """Whether an output holds answers beyond doubt: probabilities, or whole numbers that are no values."""
    if _has_whole_numbers(graph, name):
        return not _is_rounded(graph, name)
    if has_codes(graph, name) or find_shares_axis(graph, name) is not None:
        return True
    return _has_probabilities(values) and not _is_ranked(graph, name)


def has_codes(graph: Graph, name: str) -> bool:
    """Whether an output is whole numbers that are answers, also where they are given as floats."""
    if _has_whole_numbers(graph, name):
        return not _is_rounded(graph, name)
    _, source = _walk_back(graph, name)
    return graph.types[name].encoding is None and _has_whole_numbers(graph, source)


def is_single_answer(graph: Graph, name: str) -> bool:
    """Whether an output is one value that answers: the number of a class, or a probability from 0 to 1."""
    if math.prod(graph.types[name].static_shape()) != 1:
        return False
    return has_codes(graph, name) or find_probability_width(graph, name) == 1


def find_class_axis(graph: Graph, name: str) -> int:
    """The axis along which an output has its classes: that of softmax, else where classifiers have them."""
    axis = find_shares_axis(graph, name)
    shape = graph.types[name].static_shape()
    if axis is not None or not shape:
        return axis or 0
    if len(shape) == 4 and shape[1] > 1 and shape[1] < min(shape[2:]):
        return 1  # classes of pixels, channels first
    if max(shape[1:], default=1) == 1:
        return 0
    # Axes of 1 behind the classes are what is left of an image.
    return max(place for place, size in enumerate(shape) if size > 1)


def find_shares_axis(graph: Graph, name: str) -> int | None:
    """The axis of an output that a softmax made shares of; None where none is seen, or not all of it."""
    movers, source = _walk_back(graph, name)
    producer = graph.producer(source)
    if producer is None or not isinstance(producer.op, SHARES):
        return None
    shape = graph.types[source].static_shape()
    axis = producer.op.axis_of(len(shape))
    if shape[axis] < 2:
        return None
    places = np.broadcast_to(np.arange(shape[axis]).reshape(_fit_axis(shape, axis)), shape)
    for node in movers:
        (places,) = node.op.compute(places)
    return _find_counting_axis(places, shape[axis])


def label_parts(graph: Graph, name: str) -> Array | None:
    """The number of the part that each element of an output is of; None where it is one piece.

    Boxes and scores that a detector puts into one tensor mean different things and have different ranges:
    each must be judged by its own.
    """
    labels = _label_value(graph, name)
    return labels if labels.size and labels.max() else None


def find_probability_width(graph: Graph, name: str) -> float:
    """The range of an output of probabilities, whether or not they are shares of one; 0 of others."""
    producer = graph.producer(_walk_back(graph, name)[1])
    if producer is None or not producer.op.is_probability:
        return 0.0
    low, high = producer.op.value_range()
    return high - low


def find_value_width(graph: Graph, name: str) -> float:
    """The range of an output whose values are each a probability, which samples may not show; else 0."""
    is_share = find_shares_axis(graph, name) is not None
    return 0.0 if is_share else find_probability_width(graph, name)


def spread_value_widths(graph: Graph, name: str) -> Array:
    """The same of each element: of what is put together, each piece has its own."""
    movers, joined, axis = _find_concat(graph, name)
    if joined is None:
        # One number, however large the output is.
        return np.broadcast_to(find_value_width(graph, name), graph.types[name].static_shape())
    widths = np.concatenate([spread_value_widths(graph, piece) for piece in joined.inputs], axis)
    for node in movers:
        (widths,) = node.op.compute(widths)
    return widths.reshape(graph.types[name].static_shape())


def _has_whole_numbers(graph: Graph, name: str) -> bool:
    kind = graph.types[name]
    return kind.encoding is None and kind.dtype.numpy.kind in "iub"


def _is_ranked(graph: Graph, name: str) -> bool:
    """Whether values are in the order of their size: the place of the largest one is no class."""
    producer = graph.producer(_walk_back(graph, name)[1])
    return producer is not None and isinstance(producer.op, TopK)


def _is_rounded(graph: Graph, name: str) -> bool:
    """Whether whole numbers are values that were rounded, such as pixels."""
    producer = graph.producer(name)
    while producer is not None and (producer.op.keeps_encoding or producer.op.is_encoder):
        kind = graph.types[producer.inputs[0]]
        if kind.encoding is not None or kind.dtype.numpy.kind == "f":
            return producer.op.is_encoder
        producer = graph.producer(producer.inputs[0])
    return False


def _has_probabilities(values: Array | None) -> bool:
    """Whether values are rows of probabilities."""
    if values is None or values.ndim < 2 or values.shape[-1] < 2 or values.dtype.kind != "f":
        return False
    return is_distribution(values)


def _is_mover(node: Node) -> bool:
    """Whether a node gives the elements of its one input other places, or codes, and nothing else."""
    is_single = len(node.inputs) == 1 and len(node.outputs) == 1
    return is_single and (node.op.is_encoder or node.op.only_moves())


def _walk_back(graph: Graph, name: str) -> tuple[list[Node], str]:
    """The nodes that only move an output's elements, in their order, and the value that they start from."""
    movers: list[Node] = []
    producer = graph.producer(name)
    while producer is not None and _is_mover(producer):
        name = producer.inputs[0]
        movers += [] if producer.op.is_encoder else [producer]
        producer = graph.producer(name)
    return movers[::-1], name


def _find_concat(graph: Graph, name: str) -> tuple[list[Node], Node | None, int]:
    """The node that puts an output together and along which axis, and what moves its elements after that."""
    movers, source = _walk_back(graph, name)
    producer = graph.producer(source)
    if producer is None or not isinstance(producer.op, Concat):
        return movers, None, 0
    return movers, producer, producer.op.axis


def _label_value(graph: Graph, name: str) -> Array:
    shape = graph.types[name].static_shape()
    movers, joined, axis = _find_concat(graph, name)
    if joined is None:
        return np.zeros(shape, np.uint8)
    labels = _label_concat(graph, joined, axis)
    for node in movers:
        (labels,) = node.op.compute(labels)
    return labels.reshape(shape)


def _label_concat(graph: Graph, node: Node, axis: int) -> Array:
    """Channels of different meaning are parts; pieces of one list have the parts that each of them has."""
    pieces = [graph.types[name].static_shape() for name in node.inputs]
    shape = graph.types[node.outputs[0]].static_shape()
    others = math.prod(shape) // max(shape[axis], 1)
    if len(pieces) <= MOST_PARTS and (
        1 < others > shape[axis] or (others == 1 and shape[axis] <= LONGEST_VECTOR)
    ):
        return np.concatenate([np.full(piece, n, np.uint8) for n, piece in enumerate(pieces)], axis)
    return np.concatenate([_label_value(graph, name) for name in node.inputs], axis)


def _fit_axis(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(-1 if place == axis else 1 for place in range(len(shape)))


def _find_counting_axis(places: Array, count: int) -> int | None:
    """The axis that counts from 0, the others being alike."""
    for axis, size in enumerate(places.shape):
        if size == count and (places == np.arange(count).reshape(_fit_axis(places.shape, axis))).all():
            return axis
    return None
