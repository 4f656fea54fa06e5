"""Cells of the table of datatypes once more, by definitions in plain Python that share nothing with the ops.

Where ONNX Runtime has a kernel, the table holds it against `edgewright.ops`: both were written by one hand.
The ops here were drawn at random from the CPU's cells, with others added that choose or count elements.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.ir.op import REGISTRY
from tests.backend.op_types import Row, list_rows, make_graph

Definition = Callable[..., Any]
# Real numbers in single precision, of the largest one.
SHARE = 1e-5


def each(function: Callable[..., Any]) -> Definition:
    """The same for every element; operands are repeated to one shape."""

    def define(_: Any, *inputs: Array) -> Array:
        arrays = np.broadcast_arrays(*inputs)
        flat = [function(*numbers) for numbers in zip(*(a.reshape(-1).tolist() for a in arrays), strict=True)]
        return np.asarray(flat).reshape(arrays[0].shape)

    return define


def reduce_one(choose: Callable[[list[float]], float]) -> Definition:
    """One number of each line along the axis."""

    def define(op: Any, x: Array) -> Array:
        axis = (op.axes[0] if hasattr(op, "axes") else op.axis) % x.ndim
        shape = [1 if place == axis else size for place, size in enumerate(x.shape)]
        result = np.zeros(shape)
        for place in product(*map(range, shape)):
            line = [float(x[(*place[:axis], k, *place[axis + 1 :])]) for k in range(x.shape[axis])]
            result[place] = choose(line)
        return result if op.keep_dims else result.reshape([s for k, s in enumerate(shape) if k != axis])

    return define


def convolve(op: Any, x: Array, weights: Array, bias: Array | None = None) -> Array:
    """Channels last, filters as [height, width, channel in, channel out]; one group."""
    (top, bottom), (left, right) = op.pad_amount
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    rows, columns, _, outs = weights.shape
    spans = [(size - 1) * d + 1 for size, d in zip((rows, columns), op.dilation, strict=True)]
    sizes = [(padded.shape[1 + k] - spans[k]) // op.stride[k] + 1 for k in (0, 1)]
    result = np.zeros((len(x), *sizes, outs))
    for image, i, j, out in np.ndindex(result.shape):
        total = 0.0 if bias is None else float(bias[out])
        for a, b in product(range(rows), range(columns)):
            pixel = padded[
                image, i * op.stride[0] + a * op.dilation[0], j * op.stride[1] + b * op.dilation[1]
            ]
            total += sum(float(p) * float(w) for p, w in zip(pixel, weights[a, b, :, out], strict=True))
        result[image, i, j, out] = total
    return result


def accumulate(op: Any, x: Array) -> Array:
    result = np.zeros(x.shape)
    lines = np.moveaxis(x, op.axis, 0)
    for place in range(len(lines)):
        others = range(place, len(lines)) if op.reverse else range(place + 1)
        chosen = [k for k in others if not (op.exclusive and k == place)]
        np.moveaxis(result, op.axis, 0)[place] = sum((lines[k].astype(float) for k in chosen), 0.0)
    return result


def take(op: Any, x: Array, places: Array) -> Array:
    found = [np.take(x, int(place), op.axis) for place in places.reshape(-1)]
    return np.stack(found, op.axis).reshape(*x.shape[: op.axis], *places.shape, *x.shape[op.axis + 1 :])


def scatter(op: Any, x: Array, places: Array, values: Array) -> Array:
    result = x.copy()
    for row in np.ndindex(places.shape[:-1]):
        result[tuple(int(k) for k in places[row])] = values[row]
    return result


def gather_blocks(op: Any, x: Array) -> Array:
    """Depth first: the place in a block is the slower part of a channel."""
    (rows, columns), (count, height, width, depth) = op.block_size, x.shape
    result = np.zeros((count, height // rows, width // columns, depth * rows * columns))
    for n, i, j, c in np.ndindex(x.shape):
        place = i % rows * columns + j % columns
        result[n, i // rows, j // columns, place * depth + c] = x[n, i, j, c]
    return result


def pick_largest(op: Any, x: Array) -> list[Array]:
    """Best first; of equal ones the first."""
    order = [
        sorted(range(len(line)), key=lambda k: -float(line[k]))[: op.k] for line in x.reshape(-1, x.shape[-1])
    ]
    places = np.asarray(order).reshape(*x.shape[:-1], op.k)
    return [np.take_along_axis(x, places, -1), places]


def pad_zeros(op: Any, x: Array) -> Array:
    constant = op.pad_constant_value if x.dtype.kind == "f" else int(op.pad_constant_value)
    result = np.full([b + n + a for (b, a), n in zip(op.pad_amount, x.shape, strict=True)], constant)
    result[tuple(slice(b, b + n) for (b, _), n in zip(op.pad_amount, x.shape, strict=True))] = x
    return result


def turn(op: Any, x: Array) -> Array:
    result = np.zeros([x.shape[axis] for axis in op.perm], x.dtype)
    for place in np.ndindex(result.shape):
        result[place] = x[tuple(place[op.perm.index(axis)] for axis in range(x.ndim))]
    return result


def is_zero_padded(op: Any) -> bool:
    return op.scheme == 0


DEFINITIONS: Mapping[str, Definition] = {
    "Argmax": reduce_one(lambda line: line.index(max(line))),
    "Argmin": reduce_one(lambda line: line.index(min(line))),
    "Conv2d": convolve,
    "CumulativeSum": accumulate,
    "Dequantize": each(float),
    "ElementWiseCeil": each(math.ceil),
    "ElementWiseDivide": each(lambda a, b: a / b),
    "ElementWiseEqual": each(lambda a, b: a == b),
    "ElementWiseFloor": each(math.floor),
    "ElementWiseFloorDiv": each(lambda a, b: math.floor(a / b)),
    "ElementWiseFmod": each(math.fmod),
    "ElementWiseGreater": each(lambda a, b: a > b),
    "ElementWiseLessEqual": each(lambda a, b: a <= b),
    "ElementWiseMultiply": each(lambda a, b: a * b),
    "ElementWiseRsqrt": each(lambda a: 1 / math.sqrt(a)),
    "ElementWiseSquareRoot": each(math.sqrt),
    "FullyConnected": lambda op, x, w, b=None: x.reshape(-1, w.shape[1]) @ w.T + (0 if b is None else b),
    "Gather": take,
    "Pad": pad_zeros,
    "Quantize": each(float),
    "ReduceMax": reduce_one(max),
    "ReduceMin": reduce_one(min),
    "ScatterNd": scatter,
    "Shape": lambda op, x: np.asarray(x.shape[op.start : op.end]),
    "SpaceToDepth": gather_blocks,
    "TopK": pick_largest,
    "Transpose": turn,
}
# Which samples a definition is for, where not all.
APPLIES: Mapping[str, Callable[[Any], bool]] = {
    "Conv2d": lambda op: op.group == 1,
    "Pad": is_zero_padded,
    "ReduceMax": lambda op: len(op.axes) == 1,
    "ReduceMin": lambda op: len(op.axes) == 1,
    "ScatterNd": lambda op: op.reduction == 0,
    "SpaceToDepth": lambda op: op.mode == 0,
    "TopK": lambda op: op.largest,
}
CASES = [(name, row) for name in DEFINITIONS for row in list_rows(name, "CPU")]


def list_graphs(name: str, row: Row) -> Iterator[tuple[Graph, dict[str, Array]]]:
    """The op's samples in these datatypes."""
    for sample in REGISTRY[name].samples():
        if not APPLIES.get(name, lambda _: True)(sample.op):
            continue
        try:
            yield make_graph(sample, row)
        except (EdgewrightError, TypeError, ValueError, OverflowError):
            continue


def decode(graph: Graph, name: str, feed: Mapping[str, Array]) -> Array | None:
    if not name:
        return None
    stored, encoding = feed.get(name, graph.constants.get(name)), graph.types[name].encoding
    if encoding is None:
        return np.asarray(stored)
    return (np.asarray(stored).astype(np.float64) + encoding.offsets[0]) * encoding.scales[0]


@pytest.mark.parametrize(
    ("name", "row"), CASES, ids=lambda case: case if isinstance(case, str) else "-".join(case.values())
)
def test_a_cell_is_what_a_definition_in_plain_python_gives(name: str, row: Row) -> None:
    graphs = list(list_graphs(name, row))
    assert graphs
    for graph, feed in graphs:
        pair = [feed[k] for k in graph.inputs if k in feed]
        if name.startswith("ElementWise") and len(pair) == 2 and pair[0].shape == pair[1].shape:
            # Random numbers are never equal; these are, here and there.
            pair[1].reshape(-1)[::2] = pair[0].reshape(-1)[::2] + (pair[0].reshape(-1)[::2] == 0)
        node = graph.nodes[0]
        found = find_backend("cpu").prepare(graph, RunOptions(threads=1)).run(feed)
        with np.errstate(all="ignore"):
            result = DEFINITIONS[name](node.op, *(decode(graph, value, feed) for value in node.inputs))
        for value, expected in zip(
            node.outputs, result if isinstance(result, list) else [result], strict=False
        ):
            check_output(graph, value, found[value], np.asarray(expected, np.float64))


def check_output(graph: Graph, value: str, found: Array, expected: Array) -> None:
    """Fixed point within a step, integers and truth exactly, real numbers nearly."""
    kind = graph.types[value]
    expected = expected.reshape(found.shape)
    if kind.encoding is not None:
        bound = (1 << kind.dtype.bits) - 1
        low = -(bound // 2 + 1) if kind.dtype.is_signed else 0
        stored = np.clip(
            np.rint(expected / kind.encoding.scales[0]) - kind.encoding.offsets[0], low, low + bound
        )
        assert np.abs(found.astype(np.float64) - stored).max(initial=0) <= 1
    elif kind.dtype.is_float:
        assert np.allclose(
            found, expected, rtol=SHARE, atol=SHARE * np.abs(expected).max(initial=0), equal_nan=True
        )
    else:
        assert np.array_equal(found, expected)
