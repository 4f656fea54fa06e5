"""Codes as the bytes of GGUF's block types."""

from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import UnsupportedFeature
from edgewright.core.numbers import Array
from edgewright.llm.rounding.codes import Codes, Grid
from edgewright.llm.rounding.scales import search_scales

BLOCK = 32
# Values of a super-block of Q6_K, and of one of its scales.
SUPER, PART = 256, 16
Q6_BITS = 6


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
Q8_0, Q6_K = BlockType("Q8_0", BLOCK, 34), BlockType("Q6_K", SUPER, 210)


def find_block_type(grid: Grid) -> BlockType:
    """The type that holds codes of a grid as they are."""
    if grid.block != BLOCK or grid.bits not in {4, 8}:
        raise UnsupportedFeature(
            f"GGUF has no type for {grid.bits} bits in blocks of {grid.block or 'whole rows'}",
            do="choose blocks of 32",
        )
    if grid.bits == 8:
        return Q8_0
    return Q4_0 if grid.is_symmetric else Q4_1


def pack_blocks(codes: Codes) -> Array:
    """Rows of bytes."""
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


def pack_six_bits(weights: Array) -> Array:
    """Rows of Q6_K: super-blocks with a scale of 8 bits for every 16 values."""
    rows, columns = weights.shape
    blocks = np.asarray(weights, np.float32).reshape(rows * columns // SUPER, SUPER // PART, PART)
    scales = _search_part_scales(blocks)
    largest = np.take_along_axis(scales, np.abs(scales).argmax(-1)[:, None], axis=-1)
    unit = (largest[:, 0] / -128).astype(np.float16).astype(np.float32)
    inverse = np.divide(1.0, unit, out=np.zeros_like(unit), where=unit != 0)
    steps = np.clip(np.rint(scales * inverse[:, None]), -128, 127)
    real = (steps * unit[:, None])[..., None]
    codes = np.clip(np.rint(np.divide(blocks, real, out=np.zeros_like(blocks), where=real != 0)), -32, 31)
    return _pack_super_blocks((codes + 32).astype(np.uint8), steps, unit).reshape(rows, -1)


def _search_part_scales(blocks: Array) -> Array:
    """The scales of 6-bit codes with the least error."""
    return search_scales(blocks, np.ones(blocks.shape[1:], np.float32), Grid(Q6_BITS, PART))[0]


def _pack_super_blocks(codes: Array, steps: Array, unit: Array) -> Array:
    """Low nibbles, then the two bits above them, in halves of four times 32 values."""
    quarters = codes.reshape(-1, 2, 4, 32)
    low, high = quarters & 15, quarters >> 4
    nibbles = np.concatenate([low[:, :, 0] | low[:, :, 2] << 4, low[:, :, 1] | low[:, :, 3] << 4], axis=-1)
    twos = high[:, :, 0] | high[:, :, 1] << 2 | high[:, :, 2] << 4 | high[:, :, 3] << 6
    count = len(unit)
    return np.concatenate(
        [
            nibbles.reshape(count, -1),
            twos.reshape(count, -1),
            steps.astype(np.int8).view(np.uint8),
            unit.astype("<f2")[:, None].view(np.uint8),
        ],
        axis=1,
    )
