"""Weights as small whole numbers with a scale for each block of a row: what every writer packs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewright.core.errors import UnsupportedFeature
from edgewright.core.numbers import Array
from edgewright.llm.arrays import cast, fetch, find_library, load_kernels
from edgewright.llm.threads import cut_among_cores, share_among_cores

# Bits of a scale.
HALF = 16
# The bits of a byte that are signs, of one code or of two.
SIGNS = {4: 0x88, 8: 0x80}


@dataclass(frozen=True)
class Nesting:
    """Scales that are whole multiples of a unit, which several blocks share."""

    # The multiples.
    lowest: int
    highest: int
    # Values of a row that share a unit; 0: the whole row.
    span: int = 0
    # Whether units are stored in half precision.
    is_half: bool = True


@dataclass(frozen=True)
class Grid:
    """The values that weights may take."""

    bits: int
    # Neighbours in a row that share a scale; 0: the whole row.
    block: int = 32
    is_symmetric: bool = True
    nesting: Nesting | None = None
    # Whether scales are above 0, as QNN wants them; else the value that is farthest has the lowest code.
    is_positive: bool = False

    @property
    def lowest(self) -> int:
        """The smallest code; asymmetric codes count from 0."""
        return -(1 << (self.bits - 1)) if self.is_symmetric else 0

    @property
    def highest(self) -> int:
        """The largest code."""
        return self.lowest + (1 << self.bits) - 1

    def count_bits(self, columns: int) -> float:
        """Of a weight with its share of scales and zeros, in a row of so many."""
        block, nesting = self.find_block(columns), self.nesting
        parts = 1 if self.is_symmetric else 2
        if nesting is None:
            return self.bits + (HALF + (parts - 1) * self.bits) / block
        unit = HALF if nesting.is_half else 2 * HALF
        step = (nesting.highest - nesting.lowest).bit_length()
        return self.bits + parts * (step / block + unit / self.find_span(columns))

    def find_block(self, columns: int) -> int:
        """How many values of a row share a scale."""
        return self._divide(columns, self.block or columns)

    def find_span(self, columns: int) -> int:
        """How many values of a row share what scales are made of."""
        if self.nesting is None:
            return self.find_block(columns)
        return self._divide(columns, self.nesting.span or columns)

    def _divide(self, columns: int, block: int) -> int:
        if columns % block or block % (self.block or block):
            raise UnsupportedFeature(
                f"rows of {columns} values cannot be cut into blocks of {block}",
                do="choose a block that divides them, 32 for example",
            )
        return block


# Low-power blockwise quantization: QNN multiplies a channel's scale by 4 bits for each block of 64 weights.
LPBQ = Grid(4, 64, nesting=Nesting(1, 16, is_half=False))
# 8 bits with a scale for each row, which is positive: QNN has no others.
ROWS_8 = Grid(8, 0, nesting=Nesting(1, 1))
# The super-blocks of llama.cpp. A multiple of 0 is never needed: where all codes are 0, any scale does.
Q4_K = Grid(4, 32, is_symmetric=False, nesting=Nesting(1, 63, 256))
Q6_K = Grid(6, 16, nesting=Nesting(-128, 127, 256))


@dataclass(frozen=True)
class Nested:
    """What scales and minima are made of: scale = unit x step, minimum = minimum unit x minimum step."""

    # One for each row and span.
    units: Array
    # One for each row and block.
    steps: Array
    minimum_units: Array | None = None
    minimum_steps: Array | None = None


@dataclass(frozen=True)
class Codes:
    """A matrix on a grid: value = scale x (code - zero)."""

    grid: Grid
    # int8 where symmetric, else uint8; [rows, columns].
    codes: Array
    # Of plain grids, numbers that half precision holds, so that all formats have the same; [rows, blocks].
    scales: Array
    # Codes of the value 0, [rows, blocks]: whole numbers for plain grids; None where that is 0.
    zeros: Array | None = None
    nested: Nested | None = None

    def decode(self, into: Array | None = None) -> Array:
        """The values, in single precision.

        Args:
            into: an array of their shape that nobody needs any more: memory that is new takes time.
        """
        rows, columns = self.codes.shape
        kernels = load_kernels() if isinstance(self.codes, np.ndarray) else None
        if kernels is not None:
            return self._decode_compiled(kernels, into)
        parts = cast(self.codes, "float32").reshape(rows, self.scales.shape[1], -1)
        if self.zeros is not None:
            parts = parts - cast(self.zeros, "float32")[..., None]
        return (parts * self.scales[..., None]).reshape(rows, columns)

    def _decode_compiled(self, kernels: Any, into: Array | None) -> Array:
        is_free = into is not None and into.flags.writeable and into.flags.c_contiguous
        values = into if into is not None and is_free else np.empty(self.codes.shape, np.float32)
        scales = np.ascontiguousarray(self.scales, np.float32)
        zeros = np.zeros((0, 0), np.float32) if self.zeros is None else self.zeros.astype(np.float32)
        # Codes of both kinds as bytes: the first half of them is negative where they are signed.
        codes, is_signed = np.ascontiguousarray(self.codes), self.codes.dtype == np.int8
        data = codes.view(np.uint8)

        def decode_rows(rows: slice) -> None:
            kernels.decode_blocks(data[rows], is_signed, scales[rows], zeros[rows], values[rows])

        share_among_cores(decode_rows, cut_among_cores(len(data), data.size))
        return values

    def fetch(self) -> "Codes":
        """With arrays of numpy."""
        return _combine([self], lambda arrays: fetch(arrays[0]))


def join_codes(parts: Sequence[Codes], axis: int = 0) -> Codes:
    """The codes of all rows, or of spans of the same rows that stand side by side."""
    if len(parts) == 1:
        return parts[0]
    library = find_library(parts[0].codes)
    return _combine(parts, lambda arrays: library.concatenate(arrays, axis=axis))


def pick_rows(codes: Codes, rows: slice | Array) -> Codes:
    """Some rows of a matrix."""
    return _combine([codes], lambda arrays: arrays[0][rows])


def choose_rows(is_other: Array, codes: Codes, other: Codes) -> Codes:
    """The rows of two quantizations of a matrix, each from the one that is chosen."""
    library = find_library(codes.codes)
    return _combine([codes, other], lambda arrays: library.where(is_other[:, None], arrays[1], arrays[0]))


def pack_codes(
    codes: Array, scales: Array, zeros: Array | None, grid: Grid, nested: Nested | None = None
) -> Codes:
    """Codes in their smallest datatypes."""
    kind = "int8" if grid.is_symmetric else "uint8"
    zeros = zeros if zeros is None or nested is not None else cast(zeros, "uint8")
    return Codes(grid, cast(codes, kind), scales, zeros, nested)


def pack_bytes(codes: Codes) -> Array:
    """Rows of bytes, the first of two codes in the lower half; symmetric codes count from the middle."""
    packed = pack_bits(codes.codes.view(np.uint8), codes.grid.bits)
    # To count from the middle is to turn the sign.
    return packed ^ np.uint8(SIGNS[codes.grid.bits]) if codes.grid.is_symmetric else packed


def pack_bits(values: Array, bits: int) -> Array:
    """Rows of bytes of numbers without a sign, or of their lowest bits."""
    if bits == 8:
        return values
    if values.shape[1] % 2:
        values = np.pad(values, ((0, 0), (0, 1)))
    return np.asarray(values[:, ::2] & 15 | values[:, 1::2] << 4)


def round_to_half(values: Array) -> Array:
    """As half precision holds them; those that are too small for it are 0."""
    return cast(cast(find_library(values).clip(values, -65504, 65504), "float16"), "float32")


def _combine(parts: Sequence[Codes], combine: Callable[[list[Array]], Array]) -> Codes:
    """Of each array of the parts, one."""

    def collect(owners: Sequence[Codes | Nested], name: str) -> Array | None:
        arrays = [getattr(owner, name) for owner in owners]
        return None if arrays[0] is None else combine(arrays)

    codes, scales, zeros = (collect(parts, name) for name in ("codes", "scales", "zeros"))
    assert codes is not None
    assert scales is not None
    inner = [part.nested for part in parts if part.nested is not None]
    return Codes(parts[0].grid, codes, scales, zeros, _combine_nested(inner, collect) if inner else None)


def _combine_nested(
    parts: Sequence[Nested], collect: Callable[[Sequence[Codes | Nested], str], Array | None]
) -> Nested:
    units, steps = collect(parts, "units"), collect(parts, "steps")
    assert units is not None
    assert steps is not None
    return Nested(units, steps, collect(parts, "minimum_units"), collect(parts, "minimum_steps"))
