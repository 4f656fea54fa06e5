"""Images of floats made two or four times as large, as HTP blends their places in numbers of 11 bits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from edgewright.backends.cpu.compiled import DOMAIN, find_kernels
from edgewright.backends.cpu.registry import NotOnEngine
from edgewright.backends.cpu.writer import Writer
from edgewright.backends.htp.half_means import Held, widen
from edgewright.backends.htp.half_norms import multiply_held
from edgewright.backends.htp.half_vectors import Halves, blend, read_halves
from edgewright.backends.htp.library_op import LibraryOp
from edgewright.backends.htp.odd_floats import round_half
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.resize import ResizeBilinear
from edgewright.ops.resize_axis import Transformation, positions

CENTRED, LARGER = 2, (2, 4)
FEW_CHANNELS, MANY_COLUMNS = 8, 64


@dataclass(frozen=True)
class Between:
    """The places before and behind each place of the result, and how far it is on the way between them."""

    first: Array
    second: Array
    shares: Array

    def is_copy(self) -> Array:
        """Where there is no way."""
        return np.asarray((self.first == self.second) | (self.shares == 0))


def is_enlarged(op: Op, given: Sequence[TensorType], made: Sequence[TensorType]) -> bool:
    """Whether both axes become so many times as long; all others are blended with more bits."""
    if not (given[0].dtype.is_float and made[0].dtype.is_float and given[0].is_static):
        return False
    resize = cast("ResizeBilinear", op)
    pairs = list(zip(given[0].static_shape()[1:3], resize.size, strict=True))
    if resize.transformation() == Transformation.HALF_PIXEL:
        return all(after == CENTRED * before for before, after in pairs)
    last = 1 if resize.align_corners else 0
    if last and 1 in given[0].shape[1:3]:
        return False
    return any(all(after - last == n * (before - last) for before, after in pairs) for n in LARGER)


def enlarge_halves(op: LibraryOp, arrays: Sequence[Array]) -> list[Array]:
    """Along rows first."""
    rows, columns = _find_axes(op)
    if _is_shallow(op):
        return [_enlarge_shallow(arrays[0], rows, columns)]
    return [(_enlarge_centred if _is_centred(op) else _enlarge_from_corner)(arrays[0], rows, columns)]


def write_enlarged(w: Writer, op: LibraryOp, inputs: list[str], node: Node) -> str:
    """A kernel of ours has both ways; few channels are computed by numpy."""
    if _is_shallow(op) or find_kernels() is None or w.graph.types[node.inputs[0]].dtype != DType.FLOAT_32:
        raise NotOnEngine
    rows, columns = (
        w.constant(np.stack([places.first, places.second, places.shares], 1).astype(np.float64))
        for places in _find_axes(op)
    )
    centred = w.scalar(float(_is_centred(op)), DType.FLOAT_64)
    return w.node("EnlargeHalves", inputs[0], rows, columns, centred, domain=DOMAIN)


def _is_shallow(op: LibraryOp) -> bool:
    """Whether an image has another kernel: few channels, many columns."""
    columns, channels = op.given[0].static_shape()[2:]
    return _is_centred(op) and channels <= FEW_CHANNELS and columns >= MANY_COLUMNS


def _is_centred(op: LibraryOp) -> bool:
    return cast("ResizeBilinear", op.op).transformation() == Transformation.HALF_PIXEL


def _find_axes(op: LibraryOp) -> tuple[Between, Between]:
    """Rows and columns."""
    resize, lengths = cast("ResizeBilinear", op.op), op.given[0].static_shape()[1:3]
    rows, columns = (
        _find_places(before, int(after), resize.transformation())
        for before, after in zip(lengths, resize.size, strict=True)
    )
    return rows, columns


def _find_places(before: int, after: int, transformation: Transformation) -> Between:
    exact = np.clip(positions(before, after, transformation), 0, None)
    first = np.minimum(np.floor(exact), before - 1).astype(np.int64)
    return Between(first, np.minimum(first + 1, before - 1), exact - first)


def _enlarge_centred(image: Array, rows: Between, columns: Between) -> Array:
    """What lies between columns is stored before rows are blended; edges are copied."""
    for axis, places in ((2, columns), (1, rows)):
        first, second = (read_halves(np.take(image, side, axis)) for side in (places.first, places.second))
        shape = [-1 if other == axis else 1 for other in range(image.ndim)]
        blended = blend(first, second, places.shares.reshape(shape)).store()
        image = np.where(places.is_copy().reshape(shape), first.numbers, blended)
    return image


def _enlarge_shallow(image: Array, rows: Between, columns: Between) -> Array:
    """The same in vectors of single precision, without a float between."""
    held = widen(image.astype(np.float64))
    for axis, places in ((2, columns), (1, rows)):
        sides = [
            Held(np.take(held.numbers, side, axis), np.take(held.units, side, axis))
            for side in (places.first, places.second)
        ]
        shape = [-1 if other == axis else 1 for other in range(image.ndim)]
        shares = widen(places.shares.reshape(shape))
        held = multiply_held(sides[1] + Held(-sides[0].numbers, sides[0].units), shares) + sides[0]
    return round_half(held.numbers)


def _enlarge_from_corner(image: Array, rows: Between, columns: Between) -> Array:
    """What lies between columns is held; two rows are weighed and added."""
    first, second = (read_halves(image[:, :, side]) for side in (columns.first, columns.second))
    held = blend(first, second, columns.shares.reshape(-1, 1))
    above, below = (Halves(held.numbers[:, side], held.units[:, side]) for side in (rows.first, rows.second))
    shares = rows.shares.reshape(-1, 1, 1)
    sums = above.weigh(1 - shares) + below.weigh(shares)
    return np.where(shares == 0, above.store(), sums.store())
