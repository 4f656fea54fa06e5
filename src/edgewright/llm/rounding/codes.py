"""Weights as small whole numbers with a scale for each block of a row: what every writer packs."""

from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import UnsupportedFeature
from edgewright.core.numbers import Array


@dataclass(frozen=True)
class Grid:
    """The values that weights may take."""

    bits: int
    # Neighbours in a row that share a scale; 0: the whole row.
    block: int = 32
    is_symmetric: bool = True

    @property
    def lowest(self) -> int:
        """The smallest code; asymmetric codes count from 0."""
        return -(1 << (self.bits - 1)) if self.is_symmetric else 0

    @property
    def highest(self) -> int:
        """The largest code."""
        return self.lowest + (1 << self.bits) - 1

    def find_block(self, columns: int) -> int:
        """How many values of a row share a scale."""
        block = self.block or columns
        if columns % block:
            raise UnsupportedFeature(
                f"rows of {columns} values cannot be cut into blocks of {block}",
                do="choose a block that divides them, 32 for example",
            )
        return block


@dataclass(frozen=True)
class Codes:
    """A matrix on a grid: value = scale x (code - zero)."""

    grid: Grid
    # int8 where symmetric, else uint8; [rows, columns].
    codes: Array
    # Numbers that half precision holds, so that all formats have the same; [rows, blocks].
    scales: Array
    # Codes of the value 0, [rows, blocks]; None where that is 0.
    zeros: Array | None = None

    def decode(self) -> Array:
        """The values, in single precision."""
        rows, columns = self.codes.shape
        parts = self.codes.reshape(rows, self.scales.shape[1], -1).astype(np.float32)
        if self.zeros is not None:
            parts -= self.zeros[..., None].astype(np.float32)
        return (parts * self.scales[..., None]).reshape(rows, columns)


def round_scales(scales: Array) -> Array:
    """As half precision holds them; those that are too small for it are 0."""
    return np.clip(scales, -65504, 65504).astype(np.float16).astype(np.float32)


def choose_codes(values: Array, scales: Array, zeros: Array | None, grid: Grid) -> Array:
    """The nearest codes of values [..., block] with scales [...]."""
    inverse = np.divide(1.0, scales, out=np.zeros_like(scales), where=scales != 0)
    steps = values * inverse[..., None]
    if zeros is not None:
        steps = steps + zeros[..., None]
    return np.asarray(np.clip(np.rint(steps), grid.lowest, grid.highest))
