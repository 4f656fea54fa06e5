"""ONNX signal processing: transforms as products with known matrices, windows as constants."""

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx

from edgewright.core.errors import BadInput, LimitExceeded, ShapeMismatch
from edgewright.core.numbers import Array, DType
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.foreign import keep_as_source_op
from edgewright.frontends.onnx.registry import onnx_op
from edgewright.frontends.onnx.source import SourceNode
from edgewright.frontends.onnx.tensors import DTYPES
from edgewright.ir.dims import Dim
from edgewright.ops.axes import normal_axis
from edgewright.ops.conv import Conv2d
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.signal import fourier_matrix, inverse_real_matrix

# A transform's matrix holds up to four numbers for each pair of sample and frequency.
LARGEST_MATRIX = 1 << 24
LARGEST_WINDOW = 1 << 24
# a0 - a1 cos(x) + a2 cos(2x)
WINDOWS = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


@onnx_op(*WINDOWS, since=17)
def window(ctx: Context, node: SourceNode) -> str:
    """A sum of cosines over one period, or over one step less."""
    size = _number(ctx, node, 0)
    if not 0 <= size <= LARGEST_WINDOW:
        raise LimitExceeded(f"a window of {size} is asked for, expected 0 to {LARGEST_WINDOW}", node.where)
    a0, a1, a2 = WINDOWS[node.op_type]
    steps = size if node.attr("periodic", 1) else max(size - 1, 1)
    angle = 2 * np.pi * np.arange(size) / max(steps, 1)
    values: Array = a0 - a1 * np.cos(angle) + a2 * np.cos(2 * angle)
    return ctx.add_constant(values.astype(_find_output_dtype(node)))


@onnx_op("MelWeightMatrix", since=17)
def mel_weight_matrix(ctx: Context, node: SourceNode) -> str:
    """Triangles that are equally wide in mel, [frequencies, triangles]."""
    count, length, rate = (_number(ctx, node, index) for index in range(3))
    low, high = (float(ctx.read_array(node.inputs[index]).reshape(-1)[0]) for index in (3, 4))
    if count < 1 or length < 1 or rate < 1 or (length // 2 + 1) * count > LARGEST_MATRIX:
        raise BadInput(
            f"{count} mel bins of a transform of {length} at rate {rate}: expected positive numbers of"
            f" which a matrix of {LARGEST_MATRIX} elements can be made",
            node.where,
        )
    edges = _list_mel_edges(count, low, high) * (length + 1) // rate
    if not np.isfinite(edges).all() or edges.min() < 0 or edges.max() > length // 2 + 1:
        raise BadInput(f"edges from {low} to {high} Hz lie outside of what rate {rate} can show", node.where)
    return ctx.add_constant(
        _make_triangles(edges.astype(int), length // 2 + 1).astype(_find_output_dtype(node))
    )


@onnx_op("DFT", since=17)
def dft(ctx: Context, node: SourceNode) -> str | list[str]:
    """A product with the matrix of the transform; the axis goes before the components and back."""
    x = node.inputs[0]
    rank = ctx.rank(x)
    given = _number(ctx, node, 2) if node.version >= 20 and node.input(2) else None
    axis = normal_axis(node.attr("axis", 1) if node.version < 20 else -2 if given is None else given, rank)
    rows, components = ctx.shape(x)[axis], ctx.shape(x)[-1]
    if axis == rank - 1 or components not in {1, 2}:
        raise ShapeMismatch(
            f"x is {ctx.type(x)} and the axis is {axis}, expected 1 or 2 components on the last axis"
        )
    length = _number(ctx, node, 1) if node.input(1) else None
    if not isinstance(rows, int) or rows * max(length or 0, rows) > LARGEST_MATRIX:
        return keep_as_source_op(ctx, node)
    matrix = _make_dft_matrix(node, rows, int(components), length)
    order = [*(i for i in range(rank) if i not in {axis, rank - 1}), axis, rank - 1]
    turned = ctx.transpose(x, order)
    outer = ctx.shape(turned)[:-2]
    flattened = matrix.reshape(rows * int(components), prod(matrix.shape[2:]))
    weights = np.ascontiguousarray(flattened.T, ctx.dtype(x).numpy)
    flat = ctx.reshape(turned, (*outer, rows * int(components)))
    rows_of_bins = ctx.emit(FullyConnected(keep_dims=rank > 3), flat, ctx.add_constant(weights))
    result = ctx.reshape(rows_of_bins, (*outer, *matrix.shape[2:]))
    return ctx.transpose(result, [order.index(i) for i in range(rank)])


@onnx_op("STFT", since=17)
def stft(ctx: Context, node: SourceNode) -> str:
    """A convolution whose filters are windowed waves, one step a frame: any length will do."""
    signal, frames = node.inputs[0], node.input(2)
    step = _number(ctx, node, 1)
    batch, length, components = _read_signal_shape(ctx, signal)
    size = _frame_length(ctx, node, length)
    if step < 1 or size < 1 or size * size > LARGEST_MATRIX:
        raise BadInput(f"frames of {size} in steps of {step}, expected 1 or more, and no giants", node.where)
    if isinstance(length, int) and length < size:
        raise ShapeMismatch(f"a signal of {length} holds no frame of {size}", node.where)
    bins = size // 2 + 1 if node.attr("onesided", 1) and components == 1 else size
    waves = fourier_matrix(size, size, bins, is_complex=components == 2).reshape(
        size, 1, components, 2 * bins
    )
    filters = _apply_window(ctx, waves.astype(ctx.dtype(signal).numpy), frames)
    picture = ctx.reshape(signal, (batch, length, 1, components))
    found = ctx.emit(Conv2d(stride=(step, 1), pad_amount=((0, 0), (0, 0))), picture, filters)
    return ctx.reshape(found, (batch, ctx.shape(found)[1], bins, 2))


def _apply_window(ctx: Context, waves: Array, frames: str) -> str:
    if not frames:
        return ctx.add_constant(waves)
    if ctx.shape(frames) != (len(waves),) and ctx.type(frames).is_static:
        raise ShapeMismatch(f"the window is {ctx.type(frames)}, expected {len(waves)} numbers")
    known = ctx.find_array(frames)
    if known is not None:
        return ctx.add_constant(waves * known.reshape(-1, 1, 1, 1))
    column = ctx.reshape(frames, (len(waves), 1, 1, 1))
    return ctx.emit(ElementWiseMultiply(), ctx.add_constant(waves), column)


def _read_signal_shape(ctx: Context, signal: str) -> tuple[Dim, Dim, int]:
    shape = ctx.shape(signal)
    if len(shape) == 2:
        return shape[0], shape[1], 1
    if len(shape) != 3 or shape[2] not in {1, 2}:
        raise ShapeMismatch(f"the signal is {ctx.type(signal)}, expected [batch, length, 1 or 2]")
    return shape[0], shape[1], int(shape[2])


def _frame_length(ctx: Context, node: SourceNode, length: Dim) -> int:
    if node.input(3):
        return _number(ctx, node, 3)
    size = ctx.shape(node.input(2))[0] if node.input(2) and ctx.rank(node.input(2)) == 1 else length
    if not isinstance(size, int):
        raise ctx.refuse(node, f"a frame as long as '{size}' has no fixed transform")
    return size


def _make_dft_matrix(node: SourceNode, rows: int, components: int, length: int | None) -> Array:
    """[rows, components, bins, components of the result]."""
    is_inverse, is_onesided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    if length is None:
        length = 2 * (rows - 1) if is_inverse and is_onesided else rows
    if length < 1:
        raise BadInput(f"dft_length is {length}, expected 1 or more", node.where)
    if is_inverse and is_onesided:
        return inverse_real_matrix(rows, length)[:, :components]
    bins = length // 2 + 1 if is_onesided else length
    return fourier_matrix(rows, length, bins, is_complex=components == 2, is_inverse=is_inverse)


def _list_mel_edges(count: int, low: float, high: float) -> Array:
    """Frequencies at equal steps of mel; the last step is left out, as ONNX defines it."""
    with np.errstate(all="ignore"):
        first, last = (2595 * np.log10(1 + np.float64(hertz) / 700) for hertz in (low, high))
        mels = first + np.arange(count + 2) * (last - first) / (count + 2)
        return np.asarray(700 * (10 ** (mels / 2595) - 1))


def _make_triangles(edges: Sequence[int] | Array, bins: int) -> Array:
    matrix = np.zeros((bins + 1, len(edges) - 2))
    for column, (left, centre, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        rising, falling = np.arange(left, centre + 1), np.arange(centre, right)
        matrix[rising, column] = (rising - left) / (centre - left) if centre > left else 1.0
        matrix[falling, column] = (right - falling) / max(right - centre, 1)
    return matrix[:bins]


def _number(ctx: Context, node: SourceNode, index: int) -> int:
    found = ctx.read_ints(node.input(index)) if node.input(index) else ()
    if len(found) != 1:
        raise BadInput(f"input {index} holds {len(found)} numbers, expected one", node.where)
    return found[0]


def _find_output_dtype(node: SourceNode) -> np.dtype[np.generic]:
    code = node.attr("output_datatype", onnx.TensorProto.FLOAT)
    dtype = DTYPES.get(code, DType.STRING)
    if dtype == DType.STRING or dtype.is_complex:
        raise BadInput(f"output_datatype is {code}, expected a number's type", node.where)
    return dtype.numpy
