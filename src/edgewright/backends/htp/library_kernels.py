"""What HTP's library makes of some ops, where that is not what their definitions say.

Found by comparing results of the genuine emulator (SDK 2.51); docs/reference/op-datatypes.md has the rest.
"""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from edgewright.backends.cpu.registry import Lowering
from edgewright.backends.htp.half_conversions import is_stored_in_words, store_words, write_words
from edgewright.backends.htp.half_means import (
    add_halves,
    average_halves,
    is_whole_mean,
    is_whole_pool,
    write_half_means,
    write_half_sums,
)
from edgewright.backends.htp.half_norms import is_row_norm, normalize_halves, write_half_norm
from edgewright.backends.htp.half_pools import (
    average_tiles,
    is_small_smoothed,
    is_smoothed,
    is_tiled,
    smooth_halves,
    smooth_small_halves,
    write_smoothing,
    write_tiles,
)
from edgewright.backends.htp.half_resizes import enlarge_halves, is_enlarged, write_enlarged
from edgewright.backends.htp.half_shares import share_halves
from edgewright.backends.htp.half_sums import (
    add_channels,
    average_channels,
    is_channel_mean,
    is_channel_sum,
)
from edgewright.backends.htp.library_op import (
    Kernel,
    LibraryOp,
    convert_stored,
    decode_stored,
    encode_real,
)
from edgewright.backends.htp.present_means import average_present, is_present_mean, write_present_means
from edgewright.backends.htp.requantize import is_byte, is_wide
from edgewright.backends.htp.row_norms import is_fixed_norm, normalize_rows, write_row_norm
from edgewright.backends.htp.shares import share_bytes, share_wide
from edgewright.backends.htp.wide_functions import UNIT_SCALES
from edgewright.backends.htp.written_shares import write_shares
from edgewright.core.numbers import Array, DType
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.cast import Cast
from edgewright.ops.colour import Nv12ToRgb
from edgewright.ops.detection import MultiClassNms
from edgewright.ops.elementwise_unary import ElementWiseNot
from edgewright.ops.gather import OneHot
from edgewright.ops.norm import LayerNorm
from edgewright.ops.pool import PoolAvg2d
from edgewright.ops.quant import Convert
from edgewright.ops.rearrange_slice import Split
from edgewright.ops.reduce import ReduceMean, ReduceSum
from edgewright.ops.reduce_order import TopK
from edgewright.ops.reduce_softmax import Softmax
from edgewright.ops.resize import ResizeBilinear
from edgewright.ops.resize_sample import ExtractGlimpse
from edgewright.ops.suppression import suppress_boxes

U8, S8, U16 = DType.UFIXED_POINT_8, DType.SFIXED_POINT_8, DType.UFIXED_POINT_16
BYTE = 255
# What HTP computes in half precision.
HALVES = frozenset({DType.FLOAT_16, DType.FLOAT_32})
PARTS_OF_ONE = Encoding((1 / 256,), (0,))
Types = Sequence[TensorType]


def with_library_kernels(graph: Graph, model: Graph) -> Graph:
    """A copy with the library's ops; ``model`` has the types that the user gave."""
    own = {node.name: node for node in model.nodes}
    chosen = {
        node.name: op
        for node in graph.nodes
        if node.name in own and (op := _make_library_op(graph, node, model, own[node.name])) is not None
    }
    if not chosen:
        return graph
    simulated = graph.copy()
    for node in simulated.nodes:
        node.op = chosen.get(node.name, node.op)
    return simulated


def _make_library_op(graph: Graph, node: Node, model: Graph, before: Node) -> LibraryOp | None:
    """The op by the types that the user gave; signed integers else by what they are for HTP."""
    if type(node.op) is not type(before.op) or not all(before.inputs):
        return None
    has_signs = any(kind.dtype == S8 for kind in model.output_types(before))
    for types, asked in ((model, before), (graph, node))[: 1 + has_signs]:
        given = tuple(types.types[value] for value in asked.inputs)
        made = tuple(types.output_types(asked))
        kernel = _choose_kernel(asked.op, given, made)
        if kernel is not None:
            results = tuple(graph.output_types(node))
            write = WRITERS.get(kernel)
            return LibraryOp(op=asked.op, kernel=kernel, given=given, made=made, results=results, write=write)
    return None


def _choose_kernel(op: Op, given: Types, made: Types) -> Kernel | None:
    rules = KERNELS.get(type(op), ())
    return next((kernel for applies, kernel in rules if applies(op, given, made)), None)


def _clip(array: Array, kind: TensorType) -> Array:
    limits = np.iinfo(kind.dtype.numpy)
    return np.asarray(np.clip(array, limits.min, limits.max))


def _cast(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Signed integers of 8 bits and what has 16 are real numbers; what leaves a range stops at its end."""
    (x,), (given,), (made,) = arrays, op.given, op.made
    real = decode_stored(x, given)
    if made.dtype == S8 or (made.dtype, given.dtype) in {(U8, U16), (U16, DType.FLOAT_32)}:
        return [encode_real(real, made)]
    if made.dtype.is_float:
        return [real]
    whole = np.trunc(real) if given.dtype.is_float else np.rint(real.astype(np.float64))
    if made.dtype == DType.BOOL_8:
        return [whole > 0]
    is_wide = made.dtype in {DType.INT_32, DType.UINT_32}
    return [whole.astype(np.int64) if is_wide else _clip(whole, made)]


CASTS = {
    U16: {DType.UINT_8, U8, S8, DType.BOOL_8},
    S8: {DType.UINT_32, DType.INT_32, DType.FLOAT_32},
    DType.UINT_32: {S8},
    DType.INT_32: {DType.UINT_8, U8, S8, U16},
    DType.FLOAT_32: {DType.UINT_8, U8, S8, U16},
}


def _is_own_cast(op: Op, given: Types, made: Types) -> bool:
    del op
    return made[0].dtype in CASTS.get(given[0].dtype, set())


def _take_last_first(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Of equal numbers the last comes first."""
    (x,), top = arrays, cast("TopK", op.op)
    flipped = np.argsort(x[..., ::-1] if not top.largest else x, axis=-1, kind="stable")
    order = flipped[..., ::-1] if top.largest else x.shape[-1] - 1 - flipped
    places = order[..., : int(top.k)]
    values = np.take_along_axis(x, places, -1)
    return [convert_stored(values, op.given[0], op.made[0]), places]


def _mark_classes(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """A negative index is no class."""
    (x,), hot = arrays, cast("OneHot", op.op)
    axis = x.ndim if hot.axis is None else hot.axis
    shape = [1] * (x.ndim + 1)
    shape[axis] = hot.depth
    is_hot = np.expand_dims(x, axis) == np.arange(hot.depth).reshape(shape)
    return [encode_real(np.where(is_hot, hot.on_value, hot.off_value), op.made[0])]


def _negate(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """True is the second integer, false the one that stands for 0."""
    (x,), (made,) = arrays, op.made
    assert made.encoding is not None
    lowest = made.encoding.limits(made.dtype)[0]
    return [np.where(decode_stored(x, op.given[0]) == 0, lowest + 1, -made.encoding.offsets[0])]


def _show_bytes(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Stored bytes are the picture, whatever their encodings say."""
    (picture,) = op.op.compute(arrays[0].astype(np.float32))
    return [np.clip(np.rint(picture), 0, BYTE)]


def _copy_stored(op: LibraryOp, arrays: Sequence[Array]) -> Sequence[Array]:
    """Stored numbers are passed on, and 0 is stored where there are none."""
    return op.op.compute(*arrays)


def _keep_boxes(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Boxes are chosen by their best class; each is listed with all classes, scores as they are stored."""
    nms, limit = cast("MultiClassNms", op.op), int(cast("MultiClassNms", op.op).max_num_boxes)
    boxes, scores = (decode_stored(a, kind) for a, kind in zip(arrays[:2], op.given[:2], strict=True))
    results = [np.zeros(kind.shape, kind.dtype.numpy) for kind in op.made]
    for image in range(len(boxes)):
        best = scores[image].max(axis=-1)
        kept = suppress_boxes(boxes[image], best, nms.iou_threshold, nms.score_threshold, len(best))
        rows = [(box, kind) for box in kept for kind in np.argsort(-scores[image][box], kind="stable")]
        for place, (box, kind) in enumerate(rows[:limit]):
            results[0][image, place] = boxes[image, box]
            results[1][image, place] = arrays[1][image, box, kind]
            results[2][image, place] = kind
        results[3][image] = min(len(rows), limit)
    return results


def _is_any(op: Op, given: Types, made: Types) -> bool:
    del op, given, made
    return True


def _is_fixed(op: Op, given: Types, made: Types) -> bool:
    del op
    return given[0].encoding is not None and made[0].encoding is not None


def _has_index(op: Op, given: Types, made: Types) -> bool:
    del op, made
    return given[0].dtype.is_signed


def _has_32_bits(op: Op, given: Types, made: Types) -> bool:
    return _is_fixed(op, given, made) and given[0].dtype.bits == DType.INT_32.bits


def _is_listing_boxes(op: Op, given: Types, made: Types) -> bool:
    """No features, and boxes that are real numbers."""
    del op
    return len(given) == 2 and given[1].encoding is not None and made[0].dtype == DType.FLOAT_32


def _has_shares(op: Op, given: Types, made: Types) -> bool:
    """Floats, or 8 or 16 bits in and out, which stand for parts of one."""
    del op
    encoding = made[0].encoding
    if given[0].dtype in HALVES:
        return made[0].dtype in HALVES
    if is_byte(given[0]) and is_byte(made[0]):
        return encoding == PARTS_OF_ONE
    if not is_wide(given[0]) or not is_wide(made[0]) or encoding is None:
        return False
    return encoding.offsets == (0,) and np.float32(encoding.scales[0]) in UNIT_SCALES


def _share(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    if op.given[0].dtype.is_float:
        return share_halves(op, arrays)
    return share_bytes(op, arrays) if is_byte(op.given[0]) else share_wide(op, arrays)


Applies = Callable[[Op, Types, Types], bool]
KERNELS: dict[type[Op], tuple[tuple[Applies, Kernel], ...]] = {
    Cast: ((_is_own_cast, _cast),),
    Convert: ((is_stored_in_words, store_words),),
    ElementWiseNot: ((_is_fixed, _negate),),
    ExtractGlimpse: ((_is_fixed, _copy_stored),),
    LayerNorm: ((is_row_norm, normalize_halves), (is_fixed_norm, normalize_rows)),
    MultiClassNms: ((_is_listing_boxes, _keep_boxes),),
    Nv12ToRgb: ((_is_fixed, _show_bytes),),
    OneHot: ((_has_index, _mark_classes),),
    PoolAvg2d: (
        (is_whole_pool, average_halves),
        (is_tiled, average_tiles),
        (is_smoothed, smooth_halves),
        (is_small_smoothed, smooth_small_halves),
        (is_present_mean, average_present),
    ),
    ReduceMean: ((is_whole_mean, average_halves), (is_channel_mean, average_channels)),
    ReduceSum: ((is_whole_mean, add_halves), (is_channel_sum, add_channels)),
    ResizeBilinear: ((is_enlarged, enlarge_halves),),
    Softmax: ((_has_shares, _share),),
    Split: ((_has_32_bits, _copy_stored),),
    TopK: ((_is_any, _take_last_first),),
}
WRITERS: dict[Kernel, Lowering] = {
    add_halves: write_half_sums,
    average_halves: write_half_means,
    average_present: write_present_means,
    average_tiles: write_tiles,
    enlarge_halves: write_enlarged,
    normalize_halves: write_half_norm,
    normalize_rows: write_row_norm,
    smooth_halves: write_smoothing,
    store_words: write_words,
    _share: write_shares,
}
