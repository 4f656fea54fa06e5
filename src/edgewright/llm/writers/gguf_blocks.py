"""Codes as the bytes of GGUF's block types."""

from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import UnsupportedFeature
from edgewright.core.numbers import Array
from edgewright.llm.rounding.codes import Q4_K, Q6_K, Codes, Grid

BLOCK = 32
# Values of a super-block.
SUPER = 256


@dataclass(frozen=True)
class BlockType:
    """A type of GGUF: so many values in so many bytes."""

    name: str
    values: int
    size: int

    def count_row_bytes(self, columns: int) -> int:
        """The bytes of one row."""
        return columns // self.values * self.size


F32, F16 = BlockType("F32", 1, 4), BlockType("F16", 1, 2)
Q4_0, Q4_1 = BlockType("Q4_0", BLOCK, 18), BlockType("Q4_1", BLOCK, 20)
Q8_0 = BlockType("Q8_0", BLOCK, 34)
SUPER_BLOCKS = {Q4_K: BlockType("Q4_K", SUPER, 144), Q6_K: BlockType("Q6_K", SUPER, 210)}


def find_block_type(grid: Grid) -> BlockType:
    """The type that holds codes of a grid as they are."""
    if grid in SUPER_BLOCKS:
        return SUPER_BLOCKS[grid]
    if grid.block != BLOCK or grid.bits not in {4, 8} or grid.nesting is not None:
        raise UnsupportedFeature(
            f"GGUF has no type for {grid.bits} bits in blocks of {grid.block or 'whole rows'}",
            do="choose blocks of 32",
        )
    if grid.bits == 8:
        return Q8_0
    return Q4_0 if grid.is_symmetric else Q4_1


def pack_blocks(codes: Codes) -> Array:
    """Rows of bytes."""
    if codes.nested is not None:
        return pack_super_blocks(codes)
    rows, blocks = codes.scales.shape
    parts = codes.codes.reshape(rows, blocks, BLOCK)
    heads = [codes.scales]
    if codes.zeros is not None:
        # GGUF adds the smallest value in place of subtracting a code.
        heads.append(-codes.scales * codes.zeros)
    if codes.grid.bits == 4:
        parts = (parts + (8 if codes.grid.is_symmetric else 0)).astype(np.uint8)
        parts = parts[..., : BLOCK // 2] | parts[..., BLOCK // 2 :] << 4
    data = [*(head.astype("<f2")[..., None].view(np.uint8) for head in heads), parts.view(np.uint8)]
    return np.concatenate(data, axis=-1).reshape(rows, -1)


def pack_super_blocks(codes: Codes) -> Array:
    """Rows of Q4_K or Q6_K: super-blocks of 256 values with scales of their parts in 6 or 8 bits."""
    nested = codes.nested
    assert nested is not None
    rows, count = len(codes.codes), nested.units.size
    parts = nested.steps.reshape(count, -1)
    if codes.grid.is_symmetric:
        quarters = (codes.codes.astype(np.int16) + 32).astype(np.uint8).reshape(count, 2, 4, 32)
        data = [*_split_six_bits(quarters), parts.astype(np.int8).view(np.uint8), _pack_halves(nested.units)]
    else:
        assert nested.minimum_units is not None
        assert nested.minimum_steps is not None
        minima = nested.minimum_steps.reshape(count, -1)
        nibbles = codes.codes.reshape(count, 4, 2, 32)
        data = [
            _pack_halves(nested.units),
            _pack_halves(nested.minimum_units),
            _pack_six_bit_scales(parts.astype(np.uint8), minima.astype(np.uint8)),
            (nibbles[:, :, 0] | nibbles[:, :, 1] << 4).reshape(count, -1),
        ]
    return np.concatenate(data, axis=1).reshape(rows, -1)


def _pack_halves(units: Array) -> Array:
    return units.reshape(-1, 1).astype("<f2").view(np.uint8)


def _split_six_bits(quarters: Array) -> list[Array]:
    """Low nibbles, then the two bits above them, in halves of four times 32 values."""
    low, high = quarters & 15, quarters >> 4
    nibbles = np.concatenate([low[:, :, 0] | low[:, :, 2] << 4, low[:, :, 1] | low[:, :, 3] << 4], axis=-1)
    twos = high[:, :, 0] | high[:, :, 1] << 2 | high[:, :, 2] << 4 | high[:, :, 3] << 6
    return [nibbles.reshape(len(quarters), -1), twos.reshape(len(quarters), -1)]


def _pack_six_bit_scales(scales: Array, minima: Array) -> Array:
    """Eight scales and eight minima in 12 bytes: the upper two bits of the later ones stand in the first."""
    first = scales[:, :4] | (scales[:, 4:] >> 4) << 6
    second = minima[:, :4] | (minima[:, 4:] >> 4) << 6
    third = scales[:, 4:] & 15 | (minima[:, 4:] & 15) << 4
    return np.concatenate([first, second, third], axis=1)
