"""Average pools of floats as HTP computes them: as filters, in pairs of columns, or in numbers of 11 bits."""

from collections.abc import Sequence
from math import prod
from operator import lt
from typing import cast

import numpy as np

from edgewright.backends.cpu.compiled import DOMAIN, find_kernels
from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import Writer
from edgewright.backends.htp.half_means import widen
from edgewright.backends.htp.half_vectors import Halves, read_halves
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.odd_floats import round_half
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.conv import DepthWiseConv2d
from edgewright.ops.pool import PoolAvg2d

# Windows that are halved so many times, and windows that are filters whatever their stride's power.
TILES, SMALL_SIZES, SMALL_STRIDES = ((2, 2), (4, 4), (8, 8)), ((3, 3), (5, 5)), ((1, 1), (2, 2))
SMOOTHED, AROUND = (3, 3), ((1, 1), (1, 1))
# The most places of a window whose share is a float16 that has all of its bits.
MOST_PLACES = 1 << 14


def is_tiled(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether an image of floats is halved once, twice or three times."""
    pool = cast("PoolAvg2d", op)
    has_rest = pool.is_ceil() or _is_padded(pool)
    return _is_half(given, made) and pool.stride == pool.filter_size in TILES and not has_rest


def is_smoothed(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether each place is the mean of those around it that are there."""
    return _is_around(op, given, made) and not _is_small(given[0])


def is_small_smoothed(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether this is so in an image that is shorter or narrower than the window."""
    return _is_around(op, given, made) and _is_small(given[0])


def _is_around(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    pool = cast("PoolAvg2d", op)
    is_around = pool.filter_size == SMOOTHED and pool.stride == (1, 1) and pool.pad_amount == AROUND
    return is_around and not pool.count_pad_for_edges and _is_half(given, made)


def _is_small(kind: TensorType) -> bool:
    return any(map(lt, kind.static_shape()[1:3], SMOOTHED))


def average_tiles(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Two by two, as often as it takes; what lies below another is added first."""
    image, (rows, columns) = arrays[0].astype(np.float64), op.made[0].static_shape()[1:3]
    size = cast("PoolAvg2d", op.op).filter_size[0]
    image = image[:, : rows * size, : columns * size]
    for _ in range(size.bit_length() - 1):
        left, right = (widen(image[:, ::2, side::2]) + widen(image[:, 1::2, side::2]) for side in (0, 1))
        image = round_half((left + right).numbers / 4)
    return [image]


def write_tiles(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    """A kernel of ours halves an image once."""
    _need_kernel(w, node)
    value = inputs[0]
    for _ in range(cast("PoolAvg2d", op.op).filter_size[0].bit_length() - 1):
        value = w.node("AverageTiles", value, domain=DOMAIN)
    return value


def write_smoothing(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    """A kernel of ours is given what places count for, by their number."""
    del op
    _need_kernel(w, node)
    shares = [0.0, *(find_share(places) for places in range(1, prod(SMOOTHED) + 1))]
    return w.node("SmoothHalves", inputs[0], w.constant(np.asarray(shares)), domain=DOMAIN)


def _need_kernel(w: Writer, node: Node) -> None:
    if find_kernels() is None or w.graph.types[node.inputs[0]].dtype != DType.FLOAT_32:
        raise NotOnEngine


def find_share(places: int) -> float:
    """What each of so many places counts for."""
    return float(np.float16(1 / places))


def smooth_halves(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Two rows at a time: the pair that both see is added first, column by column, left to right."""
    del op
    height, width = arrays[0].shape[1:3]
    edges = ((0, 0), *AROUND, (0, 0))
    image = np.pad(arrays[0], edges)
    above, here, below = (read_halves(image[:, top : top + height]) for top in range(3))
    is_even = np.arange(height).reshape(-1, 1, 1) % 2 == 0
    columns = _choose(is_even, (here + below) + above, (above + here) + below)
    left, middle, right = (_cut(columns, start, width) for start in range(3))
    return [((left + middle) + right).weigh(_find_shares(height, width)).store()]


def smooth_small_halves(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """As a filter: the exact sum is shared out, and rounded once."""
    del op
    return [round_half(_add_around(arrays[0].astype(np.float64)) * _find_shares(*arrays[0].shape[1:3]))]


def _find_shares(height: int, width: int) -> Array:
    """What those that are there count for around each place."""
    return np.asarray(np.vectorize(find_share)(_add_around(np.ones((1, height, width, 1)))))


def _add_around(image: Array) -> Array:
    height, width = image.shape[1:3]
    padded = np.pad(image, ((0, 0), *AROUND, (0, 0)))
    rows, columns = map(range, SMOOTHED)
    return np.asarray(sum(padded[:, y : y + height, x : x + width] for y in rows for x in columns))


def _choose(chosen: Array, first: Halves, second: Halves) -> Halves:
    numbers = np.where(chosen, first.numbers, second.numbers)
    return Halves(numbers, np.where(chosen, first.units, second.units))


def _cut(columns: Halves, start: int, width: int) -> Halves:
    side = slice(start, start + width)
    return Halves(columns.numbers[:, :, side], columns.units[:, :, side])


def write_filter(graph: Graph, node: Node) -> None:
    """A pool that is a filter becomes one: each place counts for what one over their number is in float16."""
    pool, x = cast("PoolAvg2d", node.op.specific()), graph.types[node.inputs[0]]
    if not _is_filter(pool, x):
        return
    shape = (*pool.filter_size, 1, x.static_shape()[3])
    share = find_share(prod(pool.filter_size))
    weights = graph.add_constant(
        graph.fresh_name(f"{node.name}_weights"),
        np.full(shape, share, np.float32),
        TensorType(shape, DType.FLOAT_32),
    )
    kind = graph.types[node.outputs[0]]
    filtered = DepthWiseConv2d(stride=pool.stride, pad_amount=pool.pad_amount)
    graph.remove(node)
    graph.add(Node(node.name, filtered, [node.inputs[0], weights], node.outputs, source=node.source), [kind])


def _is_filter(pool: PoolAvg2d, x: TensorType) -> bool:
    """Small squares, and powers of two of places that are moved by more than one and are no tiles."""
    if not x.is_static or pool.is_ceil() or pool.filter_size == x.shape[1:3]:
        return False
    if _is_padded(pool) and not pool.count_pad_for_edges:
        return False
    if pool.filter_size in SMALL_SIZES:
        return pool.stride in SMALL_STRIDES
    places = prod(pool.filter_size)
    is_power = places & (places - 1) == 0 and places <= MOST_PLACES
    is_tile = pool.stride == pool.filter_size in TILES
    return is_power and pool.stride != (1, 1) and not is_tile and not _is_padded(pool)


def _is_padded(pool: PoolAvg2d) -> bool:
    return any(map(any, pool.pad_amount))


def _is_half(given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    return given[0].dtype.is_float and made[0].dtype.is_float and given[0].is_static and made[0].is_static
