"""The loops of rounding, compiled by numba: numpy goes over memory once for each of their steps.

They compute what `scales` and `gptq` say in words of arrays, for plain grids. Sums have another order, so of
scales that leave the same error another one may be taken. Rows stand side by side in a tile: processors take
several at once.
"""

from typing import Any

import numba
import numpy as np

from edgewright.core.numbers import Array

# Rows of a tile: with a block of 32 weights it stays in the fastest memory.
TILE = 64
# Added and taken away again, it leaves whole numbers: single precision has no room for more.
WHOLE = np.float32(12582912.0)
LARGEST_HALF, SMALLEST_HALF = np.float32(65504.0), np.float32(2.0**-14)
# The same for half precision: 11 bits are left, or whole multiples of its smallest number.
SPLIT, TINY = np.float32(8193.0), np.float32(0.75)
ZERO = np.float32(0.0)


def compile_kernel(signature: str, *, may_contract: bool = True) -> Any:
    """Compiled once and kept on disk; other threads go on while it runs."""
    return numba.njit(signature, cache=True, nogil=True, fastmath={"contract"} if may_contract else False)


@compile_kernel("float32(float32)", may_contract=False)
def round_half(value: Any) -> Any:
    """As half precision holds it."""
    if value >= LARGEST_HALF:
        return LARGEST_HALF
    if value <= -LARGEST_HALF:
        return -LARGEST_HALF
    if -SMALLEST_HALF < value < SMALLEST_HALF:
        return (value + TINY) - TINY
    split = value * SPLIT
    return split - (split - value)


@compile_kernel("void(float32[:,::1], float32[::1], float32[:,::1], float32[::1], float32, float32, b1)")
def search_tile(
    values: Array, costs: Array, rows: Array, shifts: Array, lowest: Any, highest: Any, is_symmetric: bool
) -> None:
    """Scales and zeros of a tile [values, rows] into the first two of eight rows of working space."""
    count, lanes = values.shape
    scales, zeros, least, low, high = rows[0], rows[1], rows[2], rows[3], rows[4]
    trial, inverse, above, below = rows[5], rows[6], rows[7], rows[8]
    for lane in range(lanes):
        low[lane] = high[lane] = values[0, lane]
        least[lane] = np.inf
        zeros[lane] = ZERO
    for place in range(1, count):
        for lane in range(lanes):
            value = values[place, lane]
            low[lane] = min(low[lane], value)
            high[lane] = max(high[lane], value)
    for number in range(len(shifts)):
        shift = shifts[number]
        for lane in range(lanes):
            bottom, top, zero = low[lane], high[lane], ZERO
            if is_symmetric:
                scale = round_half((top if top > -bottom else bottom) / (lowest - shift))
            else:
                bottom, top = min(bottom, ZERO), max(top, ZERO)
                scale = round_half((top - bottom) / (highest + shift))
                if scale != ZERO:
                    zero = min(max((-bottom / scale + WHOLE) - WHOLE, lowest), highest)
            trial[lane], rows[9, lane] = scale, zero
            inverse[lane] = ZERO if scale == ZERO else np.float32(1.0) / scale
            above[lane] = below[lane] = ZERO
        for place in range(count):
            cost = costs[place]
            for lane in range(lanes):
                value, zero = values[place, lane], rows[9, lane]
                code = ((value * inverse[lane] + zero) + WHOLE) - WHOLE
                step = min(max(code, lowest), highest) - zero
                above[lane] += cost * step * value
                below[lane] += cost * step * step
        for lane in range(lanes):
            if below[lane] > ZERO:
                trial[lane] = round_half(above[lane] / below[lane])
            scale = trial[lane]
            inverse[lane] = ZERO if scale == ZERO else np.float32(1.0) / scale
            above[lane] = ZERO
        for place in range(count):
            cost = costs[place]
            for lane in range(lanes):
                value, zero = values[place, lane], rows[9, lane]
                code = ((value * inverse[lane] + zero) + WHOLE) - WHOLE
                gap = value - (min(max(code, lowest), highest) - zero) * trial[lane]
                above[lane] += cost * gap * gap
        for lane in range(lanes):
            if above[lane] < least[lane]:
                least[lane], scales[lane], zeros[lane] = above[lane], trial[lane], rows[9, lane]


@compile_kernel(
    "void(float32[:,:,:], float32[:,::1], float32[::1], float32, float32, b1, float32[:,:], float32[:,:])"
)
def search_blocks(  # noqa: PLR0913, PLR0917 - by position
    blocks: Array,
    costs: Array,
    shifts: Array,
    lowest: Any,
    highest: Any,
    is_symmetric: bool,
    scales: Array,
    zeros: Array,
) -> None:
    """The scales and zeros [rows, blocks] of values [rows, blocks, values]."""
    height, width, count = blocks.shape
    tile, rows = np.empty((count, TILE), np.float32), np.empty((10, TILE), np.float32)
    for start in range(0, height, TILE):
        lanes = min(TILE, height - start)
        for block in range(width):
            for lane in range(TILE):
                # Rows of the last tile that are not there are those of its first.
                row = start + (lane if lane < lanes else 0)
                for place in range(count):
                    tile[place, lane] = blocks[row, block, place]
            search_tile(tile, costs[block], rows, shifts, lowest, highest, is_symmetric)
            for lane in range(lanes):
                scales[start + lane, block] = rows[0, lane]
                zeros[start + lane, block] = rows[1, lane]


@compile_kernel(
    "void(float32[:,::1], float32[:,::1], float32[:,::1], float32[::1], float32[::1], float32, float32,"
    " float32[:,::1], float32[:,::1])"
)
def round_columns(  # noqa: PLR0913, PLR0917 - by position
    targets: Array,
    weights: Array,
    shares: Array,
    scales: Array,
    zeros: Array,
    lowest: Any,
    highest: Any,
    codes: Array,
    errors: Array,
) -> None:
    """The columns of a block, which are rows here, each corrected for the errors of those before it."""
    count, height = targets.shape
    tile, gaps = np.empty((count, TILE), np.float32), np.empty(TILE, np.float32)
    inverse = np.empty(TILE, np.float32)
    for start in range(0, height, TILE):
        lanes = min(TILE, height - start)
        for lane in range(lanes):
            scale = scales[start + lane]
            inverse[lane] = ZERO if scale == ZERO else np.float32(1.0) / scale
        for column in range(count):
            for lane in range(lanes):
                tile[column, lane] = targets[column, start + lane]
        for column in range(count):
            for lane in range(lanes):
                row = start + lane
                code = ((tile[column, lane] * inverse[lane] + zeros[row]) + WHOLE) - WHOLE
                code = min(max(code, lowest), highest)
                codes[column, row] = code
                gaps[lane] = weights[column, row] - (code - zeros[row]) * scales[row]
                errors[column, row] = gaps[lane]
            for later in range(column + 1, count):
                share = shares[column, later]
                for lane in range(TILE):
                    tile[later, lane] += share * gaps[lane]
