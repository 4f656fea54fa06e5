"""Products with known weights, convolutions among them, as plain products of matrices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ops.conv import Convolution
from edgewright.ops.conv_transpose import TransposedConvolution
from edgewright.ops.matmul import MatMul
from edgewright.ops.windows import padded, windows
from edgewright.quantize.roles import find_roles


@dataclass(frozen=True)
class Product:
    """A node whose weights are matrices [groups, inner, columns] and whose inputs are rows [groups, inner].

    Groups are those of a convolution; a depthwise one has a group for each channel.
    """

    node: Node
    weights_shape: tuple[int, ...]
    groups: int = 1

    @property
    def is_convolution(self) -> bool:
        """Whether the weights are filters rather than a matrix."""
        return len(self.weights_shape) > 2

    @property
    def is_transposed(self) -> bool:
        """Whether it is a transposed convolution."""
        return isinstance(self.node.op, TransposedConvolution)

    @property
    def weights(self) -> str:
        """The name of the weights."""
        return self.node.inputs[1]

    @property
    def inner(self) -> int:
        """Products that are summed for one element of the output."""
        return int(self.to_matrices(np.empty(self.weights_shape, np.int8)).shape[1])

    def to_matrices(self, weights: Array) -> Array:
        """Weights, or anything of their shape, as [groups, inner, columns]."""
        if not self.is_convolution:
            return (weights.T if self.node.op.has_rows else weights)[None]
        if self.is_transposed:
            channels, columns = self.weights_shape[-2:]
            taps = weights.reshape(-1, self.groups, channels // self.groups, columns)
            return taps.transpose(1, 0, 2, 3).reshape(self.groups, -1, columns)
        parts = weights.reshape(-1, self.groups, self.weights_shape[-1] // self.groups)
        return parts.transpose(1, 0, 2)

    def to_array(self, matrices: Array) -> Array:
        """Matrices in the shape that the weights have."""
        if not self.is_convolution:
            return np.asarray(matrices[0].T if self.node.op.has_rows else matrices[0])
        if self.is_transposed:
            channels, columns = self.weights_shape[-2:]
            parts = matrices.reshape(self.groups, -1, channels // self.groups, columns)
            return parts.transpose(1, 0, 2, 3).reshape(self.weights_shape)
        return matrices.transpose(1, 0, 2).reshape(self.weights_shape)

    def sample_rows(self, x: Array, count: int, seed: int) -> Array:
        """At most so many rows [rows, groups, inner] of an input; a seed chooses always the same ones."""
        if not self.is_convolution:
            rows = x.reshape(-1, self.inner)
            return rows[_choose_rows(len(rows), count, seed)][:, None]
        view = self._list_windows(x)
        axes = x.ndim - 1
        total = int(np.prod(view.shape[:axes]))
        places = np.unravel_index(_choose_rows(total, count, seed), view.shape[:axes])
        # [rows, taps, channels]: the taps of a transposed convolution look back.
        chosen = view[places].reshape(len(places[0]), -1, x.shape[-1])
        if self.is_transposed:
            chosen = chosen[:, ::-1]
        parts = chosen.reshape(*chosen.shape[:2], self.groups, -1).transpose(0, 2, 1, 3)
        return parts.reshape(len(parts), self.groups, -1)

    def _list_windows(self, x: Array) -> Array:
        """What each element of the output sees: a view [batch, places, taps, channels]."""
        op, taps = self.node.op, self.weights_shape[:-2]
        if isinstance(op, Convolution):
            geometry = op.geometry(x.shape[-1])
            return _slide_windows(padded(x, geometry.pads, 0.0), taps, geometry.stride, geometry.dilation)
        assert isinstance(op, TransposedConvolution)
        geometry, extra = op.geometry()
        reach = [(tap - 1) * d for tap, d in zip(taps, geometry.dilation, strict=True)]
        pads = [
            (r - int(before), r - int(after) + more)
            for r, (before, after), more in zip(reach, geometry.pads, extra, strict=True)
        ]
        return _slide_windows(
            _add_frame(_spread(x, geometry.stride), pads), taps, (1,) * len(taps), geometry.dilation
        )


def find_products(graph: Graph) -> list[Product]:
    """The products of a graph with weights that only they read, in order."""
    products = [_make_product(graph, node) for node in graph.nodes]
    return [product for product in products if product is not None]


def _make_product(graph: Graph, node: Node) -> Product | None:
    roles = find_roles(graph, node)
    is_known = node.op.is_product and 1 in roles.weights and node.inputs[0] not in graph.constants
    if not is_known or not graph.is_used_once(node.inputs[1]):
        return None
    op, shape = node.op, tuple(int(n) for n in graph.types[node.inputs[1]].shape)
    if isinstance(op, MatMul) and (op.transpose_in0 or len(shape) != 2):
        return None
    if isinstance(op, Convolution):
        channels = graph.types[node.inputs[0]].shape[-1]
        return Product(node, shape, op.geometry(channels).group) if isinstance(channels, int) else None
    group = op.geometry()[0].group if isinstance(op, TransposedConvolution) else 1
    return Product(node, shape, group)


def _choose_rows(total: int, count: int, seed: int) -> Array:
    if total <= count:
        return np.arange(total)
    return np.sort(np.random.default_rng(seed).choice(total, count, replace=False))


def _add_frame(x: Array, pads: Sequence[tuple[int, int]]) -> Array:
    """Zeros around the axes between batch and channels; where there are less than none, elements go."""
    inside = tuple(
        slice(max(-before, 0), size - max(-after, 0))
        for (before, after), size in zip(pads, x.shape[1:-1], strict=True)
    )
    grown = [(max(before, 0), max(after, 0)) for before, after in pads]
    return padded(x[(slice(None), *inside)], grown, 0.0)


def _spread(x: Array, stride: Sequence[int]) -> Array:
    """Zeros between elements, as a transposed convolution has them."""
    sizes = [(n - 1) * s + 1 for n, s in zip(x.shape[1:-1], stride, strict=True)]
    spread = np.zeros((x.shape[0], *sizes, x.shape[-1]), x.dtype)
    spread[(slice(None), *(slice(None, None, s) for s in stride))] = x
    return spread


def _slide_windows(x: Array, taps: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Array:
    sizes = zip(x.shape[1:-1], taps, stride, dilation, strict=True)
    count = [(size - (tap - 1) * d - 1) // step + 1 for size, tap, step, d in sizes]
    return windows(x, taps, stride, dilation, count)
