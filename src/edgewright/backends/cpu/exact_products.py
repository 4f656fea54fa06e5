"""Sums of products of floats that lose nothing before they become float32: float64 in the engine."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np

from edgewright.backends.cpu.sums import list_window_parts
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Node
from edgewright.ir.op import Op
from edgewright.ops.conv import Conv2d, DepthWiseConv2d
from edgewright.ops.matmul import FullyConnected, MatMul

if TYPE_CHECKING:
    from edgewright.backends.cpu.writer import Writer

ZERO = np.asarray(0, np.float32)
# Windows of more places would take too much memory.
MOST_PLACES = 64


def write_exact_sums(w: "Writer", node: Node) -> str:
    """The sums of a product, without its bias; "" where the engine has no float64 for it."""
    write = WAYS.get(type(node.op))
    return write(w, node) if write is not None else ""


def _convolve(w: "Writer", node: Node) -> str:
    window, weights = cast("Conv2d", node.op).geometry, w.graph.constants.get(node.inputs[1])
    if weights is None:
        return ""
    rows = _cut_patches(w, node, weights) or _join_parts(w, _list_parts(w, node, weights))
    if not rows:
        return ""
    group = window(w.graph.types[node.inputs[0]].shape[-1]).group
    if group > 1:
        return _multiply_groups(w, rows, weights, group, w.graph.types[node.outputs[0]].static_shape())
    matrix = w.constant(weights.reshape(-1, weights.shape[-1]).astype(np.float64))
    return _narrow(w, w.node("MatMul", _widen(w, rows), matrix))


def _convolve_channels(w: "Writer", node: Node) -> str:
    """What each place of a window adds to the sums of each channel."""
    weights = w.graph.constants.get(node.inputs[1])
    if weights is None or weights.shape[-1] != w.graph.types[node.inputs[0]].shape[-1]:
        return ""
    parts = _list_parts(w, node, weights)
    factors = weights.reshape(-1, weights.shape[-1]).astype(np.float64)
    products = [
        w.node("Mul", _widen(w, part), w.constant(row)) for part, row in zip(parts, factors, strict=False)
    ]
    if not products:
        return ""
    return _narrow(w, w.node("Sum", *products) if len(products) > 1 else products[0])


def _cut_patches(w: "Writer", node: Node, weights: Array) -> str:
    """What windows of any size see that lie side by side; "" where they do not."""
    image = w.graph.types[node.inputs[0]]
    if not image.is_static:
        return ""
    batch, *lengths, channels = image.static_shape()
    window, size = cast("Conv2d", node.op).geometry(channels), weights.shape[:2]
    is_beside = (
        tuple(window.stride) == size and tuple(window.dilation) == (1, 1) and not any(map(any, window.pads))
    )
    if not is_beside or any(length % side for length, side in zip(lengths, size, strict=True)):
        return ""
    rows, columns = (length // side for length, side in zip(lengths, size, strict=True))
    cut = w.node(
        "Reshape", w.value(node.inputs[0]), w.ints((batch, rows, size[0], columns, size[1], channels))
    )
    turned = w.node("Transpose", cut, perm=[0, 1, 3, 2, 4, 5])
    return w.node("Reshape", turned, w.ints((batch, rows, columns, size[0] * size[1] * channels)))


def _join_parts(w: "Writer", parts: list[str]) -> str:
    return w.node("Concat", *parts, axis=3) if len(parts) > 1 else "".join(parts)


def _list_parts(w: "Writer", node: Node, weights: Array | None) -> list[str]:
    """What each place of a window sees; nothing where that is not known, or too much."""
    image = w.graph.types[node.inputs[0]]
    is_static = image.is_static and w.graph.types[node.outputs[0]].is_static
    if weights is None or not is_static or np.prod(weights.shape[:2]) > MOST_PLACES:
        return []
    window = cast("Conv2d", node.op).geometry(image.shape[-1])
    return list_window_parts(w, w.value(node.inputs[0]), window, weights.shape[:2], ZERO)


def _multiply_groups(w: "Writer", rows: str, weights: Array, groups: int, shape: tuple[int, ...]) -> str:
    """A product for each group of channels."""
    *size, depth, filters = weights.shape
    places = int(np.prod(size))
    split = w.node("Reshape", rows, w.ints((-1, places, groups, depth)))
    each = w.node(
        "Reshape", w.node("Transpose", split, perm=[2, 0, 1, 3]), w.ints((groups, -1, places * depth))
    )
    matrix = weights.reshape(places * depth, groups, filters // groups).transpose(1, 0, 2)
    sums = w.node("MatMul", _widen(w, each), w.constant(np.ascontiguousarray(matrix, np.float64)))
    return _narrow(w, w.node("Reshape", w.node("Transpose", sums, perm=[1, 0, 2]), w.ints(shape)))


def _connect(w: "Writer", node: Node) -> str:
    weights, x = w.graph.constants.get(node.inputs[1]), w.graph.types[node.inputs[0]]
    if weights is None:
        return ""
    rows, keep_dims = w.value(node.inputs[0]), cast("FullyConnected", node.op).keep_dims
    if not keep_dims and (x.rank != 2 or x.shape[-1] != weights.shape[-1]):
        rows = w.node("Reshape", rows, w.ints((-1, weights.shape[1])))
    matrix = w.constant(np.ascontiguousarray(weights.T).astype(np.float64))
    return _narrow(w, w.node("MatMul", _widen(w, rows), matrix))


def _multiply_matrices(w: "Writer", node: Node) -> str:
    op, sides = cast("MatMul", node.op), []
    for value, is_turned in zip(node.inputs[:2], (op.transpose_in0, op.transpose_in1), strict=True):
        rank, name = w.graph.types[value].rank, _widen(w, w.value(value))
        order = (*range(rank - 2), rank - 1, rank - 2)
        sides.append(w.node("Transpose", name, perm=list(order)) if is_turned else name)
    return _narrow(w, w.node("MatMul", *sides))


def _widen(w: "Writer", value: str) -> str:
    return w.node("Cast", value, to=w.code(DType.FLOAT_64))


def _narrow(w: "Writer", value: str) -> str:
    return w.node("Cast", value, to=w.code(DType.FLOAT_32))


WAYS: dict[type[Op], Callable[["Writer", Node], str]] = {
    Conv2d: _convolve,
    DepthWiseConv2d: _convolve_channels,
    FullyConnected: _connect,
    MatMul: _multiply_matrices,
}
