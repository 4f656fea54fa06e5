"""The loops of rounding, compiled by numba: numpy goes over memory once for each of their steps.

They compute what `scales` and `gptq` say in words of arrays, for plain grids. Sums have another order, so of
scales that leave the same error another one may be taken. Rows stand side by side in a tile: processors take
several at once.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from edgewright.core.numbers import Array

# Rows of a tile: with a block of 32 weights it stays in the fastest memory, and loops over it are long
# enough for what they begin with.
TILE = 128
# Added and taken away again, it leaves whole numbers: single precision has no room for more.
WHOLE = np.float32(12582912.0)
LARGEST_HALF, SMALLEST_HALF = np.float32(65504.0), np.float32(2.0**-14)
# The same for half precision: 11 bits are left, or whole multiples of its smallest number.
SPLIT, TINY = np.float32(8193.0), np.float32(0.75)
NONE, ONE = np.float32(0.0), np.float32(1.0)
# What is known of each row of a tile.
SCALE, ZERO, LEAST, LOW, HIGH, TRIAL, TRIAL_ZERO, INVERSE, ABOVE, BELOW = range(10)


Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compile_kernel(signature: str, *freedoms: str) -> Callable[[Kernel], Kernel]:
    """Compiled once and kept on disk; other threads go on while it runs.

    Args:
        signature: the datatypes of its arguments.
        freedoms: what the compiler may do to sums: contract them with products, reassociate them.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": set(freedoms) or False}
    return cast("Callable[[Kernel], Kernel]", numba.njit(signature, **options))


@compile_kernel("float32(float32)")
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


@compile_kernel("void(float32[:,::1], float32[:,::1])", "contract")
def find_bounds(tile: Array, lanes: Array) -> None:
    """The smallest and the largest value of each lane."""
    low, high = lanes[LOW], lanes[HIGH]
    for lane in range(TILE):
        low[lane] = high[lane] = tile[0, lane]
        lanes[LEAST, lane] = np.inf
    for place in range(1, len(tile)):
        for lane in range(TILE):
            value = tile[place, lane]
            low[lane] = min(low[lane], value)
            high[lane] = max(high[lane], value)


@compile_kernel("void(float32[:,::1], float32, float32[::1], b1)", "contract")
def propose_scales(lanes: Array, shift: Any, limits: Array, is_symmetric: bool) -> None:
    """Scales that reach the largest value, or somewhat less or more."""
    lowest, highest = limits
    for lane in range(TILE):
        bottom, top, zero = lanes[LOW, lane], lanes[HIGH, lane], NONE
        if is_symmetric:
            # The code that is farthest from 0 takes the value that is, whatever its sign.
            scale = round_half((top if top > -bottom else bottom) / (lowest - shift))
        else:
            bottom, top = min(bottom, NONE), max(top, NONE)
            scale = round_half((top - bottom) / (highest + shift))
            if scale != NONE:
                zero = min(max((-bottom / scale + WHOLE) - WHOLE, lowest), highest)
        lanes[TRIAL, lane], lanes[TRIAL_ZERO, lane] = scale, zero
        lanes[INVERSE, lane] = NONE if scale == NONE else ONE / scale


@compile_kernel("void(float32[:,::1], float32[::1], float32[:,::1], float32[::1])", "contract")
def fit_scales(tile: Array, costs: Array, lanes: Array, limits: Array) -> None:
    """The scales at which the codes of the proposed ones are nearest to the values, by least squares."""
    lowest, highest = limits
    inverse, zeros, above, below = lanes[INVERSE], lanes[TRIAL_ZERO], lanes[ABOVE], lanes[BELOW]
    for lane in range(TILE):
        above[lane] = below[lane] = NONE
    for place in range(len(tile)):
        cost = costs[place]
        for lane in range(TILE):
            value, zero = tile[place, lane], zeros[lane]
            code = ((value * inverse[lane] + zero) + WHOLE) - WHOLE
            step = min(max(code, lowest), highest) - zero
            above[lane] += cost * step * value
            below[lane] += cost * step * step
    for lane in range(TILE):
        if below[lane] > NONE:
            lanes[TRIAL, lane] = round_half(above[lane] / below[lane])
        scale = lanes[TRIAL, lane]
        inverse[lane] = NONE if scale == NONE else ONE / scale


@compile_kernel("void(float32[:,::1], float32[::1], float32[:,::1], float32[::1])", "contract")
def keep_better(tile: Array, costs: Array, lanes: Array, limits: Array) -> None:
    """Of each lane, the scale that leaves less error."""
    lowest, highest = limits
    inverse, scales, zeros, errors = lanes[INVERSE], lanes[TRIAL], lanes[TRIAL_ZERO], lanes[ABOVE]
    for lane in range(TILE):
        errors[lane] = NONE
    for place in range(len(tile)):
        cost = costs[place]
        for lane in range(TILE):
            value, zero = tile[place, lane], zeros[lane]
            code = ((value * inverse[lane] + zero) + WHOLE) - WHOLE
            gap = value - (min(max(code, lowest), highest) - zero) * scales[lane]
            errors[lane] += cost * gap * gap
    for lane in range(TILE):
        if errors[lane] < lanes[LEAST, lane]:
            lanes[LEAST, lane] = errors[lane]
            lanes[SCALE, lane], lanes[ZERO, lane] = scales[lane], zeros[lane]


@compile_kernel(
    "void(float32[:,::1], float32[::1], float32[::1], float32[::1], b1, float32[:,::1])", "contract"
)
def search_tile(
    tile: Array, costs: Array, shifts: Array, limits: Array, is_symmetric: bool, lanes: Array
) -> None:
    """The scale and the zero of each lane."""
    find_bounds(tile, lanes)
    for number in range(len(shifts)):
        propose_scales(lanes, shifts[number], limits, is_symmetric)
        fit_scales(tile, costs, lanes, limits)
        keep_better(tile, costs, lanes, limits)
    for lane in range(TILE):
        scale = lanes[SCALE, lane]
        lanes[INVERSE, lane] = NONE if scale == NONE else ONE / scale


@compile_kernel(
    "void(float32[:,:,:], float32[:,::1], float32[::1], float32[::1], b1, float32[:,:,::1])", "contract"
)
def search_blocks(
    blocks: Array, costs: Array, shifts: Array, limits: Array, is_symmetric: bool, chosen: Array
) -> None:
    """The scales and zeros [2, rows, blocks] of values [rows, blocks, values]."""
    height, width, count = blocks.shape
    tile, lanes = np.empty((count, TILE), np.float32), np.empty((10, TILE), np.float32)
    for start in range(0, height, TILE):
        rows = min(TILE, height - start)
        for block in range(width):
            for lane in range(TILE):
                # Rows of the last tile that are not there are its first.
                row = start + (lane if lane < rows else 0)
                for place in range(count):
                    tile[place, lane] = blocks[row, block, place]
            search_tile(tile, costs[block], shifts, limits, is_symmetric, lanes)
            for lane in range(rows):
                chosen[0, start + lane, block] = lanes[SCALE, lane]
                chosen[1, start + lane, block] = lanes[ZERO, lane]


@compile_kernel(
    "void(float32[:,:,:], float32[:,::1], float32[:,::1], float32[::1], uint8[:,:,::1])", "contract"
)
def code_blocks(blocks: Array, scales: Array, zeros: Array, limits: Array, codes: Array) -> None:
    """The nearest codes of values [rows, blocks, values], negative ones as bytes."""
    lowest, highest = limits
    height, width, count = blocks.shape
    for row in range(height):
        for block in range(width):
            scale, zero = scales[row, block], zeros[row, block]
            inverse = NONE if scale == NONE else ONE / scale
            for place in range(count):
                code = ((blocks[row, block, place] * inverse + zero) + WHOLE) - WHOLE
                codes[row, block, place] = np.uint8(np.int32(min(max(code, lowest), highest)) & 255)


@compile_kernel(
    "void(float32[:,::1], float32[:,::1], float32[:,::1], float32[::1], float32[::1], float32, float32,"
    " float32[:,::1], float32[:,::1])",
    "contract",
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
            inverse[lane] = NONE if scale == NONE else ONE / scale
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


@compile_kernel(
    "void(float32[:,::1], float32[:,:], float32[:,::1], float32[::1], float32[:,::1])", "contract"
)
def round_tile(tile: Array, shares: Array, lanes: Array, limits: Array, values: Array) -> None:
    """Codes in place of targets, each corrected for those before it; errors in place of values."""
    lowest, highest = limits
    inverse, scales, zeros = lanes[INVERSE], lanes[SCALE], lanes[ZERO]
    for column in range(len(tile)):
        for lane in range(TILE):
            code = ((tile[column, lane] * inverse[lane] + zeros[lane]) + WHOLE) - WHOLE
            code = min(max(code, lowest), highest)
            tile[column, lane] = code
            values[column, lane] -= (code - zeros[lane]) * scales[lane]
        for later in range(column + 1, len(tile)):
            share = shares[later, column]
            for lane in range(TILE):
                tile[later, lane] += share * values[column, lane]


@compile_kernel("UniTuple(float32, 4)(float32[:,:], int64, int64)")
def take_four(shares: Array, row: int, column: int) -> Any:
    """Neighbours in a row."""
    return shares[row, column], shares[row, column + 1], shares[row, column + 2], shares[row, column + 3]


@compile_kernel("void(float32[:,::1], float32[:,:], float32[:,::1])", "contract")
def pass_on(targets: Array, shares: Array, errors: Array) -> None:
    """Adds their shares of the errors of a block to later columns, four of each at a time."""
    for later in range(0, len(targets), 4):
        first, second = targets[later], targets[later + 1]
        third, fourth = targets[later + 2], targets[later + 3]
        for column in range(0, len(errors), 4):
            a0, a1, a2, a3 = take_four(shares, later, column)
            b0, b1, b2, b3 = take_four(shares, later + 1, column)
            c0, c1, c2, c3 = take_four(shares, later + 2, column)
            d0, d1, d2, d3 = take_four(shares, later + 3, column)
            for lane in range(TILE):
                e0, e1 = errors[column, lane], errors[column + 1, lane]
                e2, e3 = errors[column + 2, lane], errors[column + 3, lane]
                first[lane] += a0 * e0 + a1 * e1 + a2 * e2 + a3 * e3
                second[lane] += b0 * e0 + b1 * e1 + b2 * e2 + b3 * e3
                third[lane] += c0 * e0 + c1 * e1 + c2 * e2 + c3 * e3
                fourth[lane] += d0 * e0 + d1 * e1 + d2 * e2 + d3 * e3


@compile_kernel("void(float32[:,:], int64, float32[:,::1])", "contract")
def load_tile(rows: Array, start: int, tile: Array) -> None:
    """Columns of rows from a place on, as many as a tile has; rows that are not there are the first."""
    for lane in range(TILE):
        row = rows[lane if lane < len(rows) else 0]
        for place in range(len(tile)):
            tile[place, lane] = row[start + place]


@compile_kernel(
    "void(float32[:,:], float32[:,::1], float32[:,::1], float32[::1], float32[::1], b1, uint8[:,::1],"
    " float32[:,:,::1])",
    "contract",
)
def round_rows(  # noqa: PLR0913, PLR0917 - by position
    weights: Array,
    shares: Array,
    costs: Array,
    shifts: Array,
    limits: Array,
    is_symmetric: bool,
    codes: Array,
    chosen: Array,
) -> None:
    """GPTQ of rows, a tile at a time: shares[later, earlier] of errors, costs [blocks, values]."""
    (height, columns), (count, block) = weights.shape, costs.shape
    targets, lanes = np.empty((columns, TILE), np.float32), np.empty((10, TILE), np.float32)
    errors = np.empty((block, TILE), np.float32)
    for start in range(0, height, TILE):
        rows = weights[start : start + TILE]
        load_tile(rows, 0, targets)
        for number in range(count):
            first, after = number * block, (number + 1) * block
            tile = targets[first:after]
            load_tile(rows, first, errors)
            search_tile(tile, costs[number], shifts, limits, is_symmetric, lanes)
            round_tile(tile, shares[first:after, first:after], lanes, limits, errors)
            pass_on(targets[after:], shares[after:, first:after], errors)
            for lane in range(len(rows)):
                chosen[0, start + lane, number] = lanes[SCALE, lane]
                chosen[1, start + lane, number] = lanes[ZERO, lane]
                for place in range(block):
                    codes[start + lane, first + place] = np.uint8(np.int32(tile[place, lane]) & 255)


@compile_kernel("void(uint8[:,::1], b1, float32[:,::1], float32[:,::1], float32[:,::1])", "contract")
def decode_blocks(codes: Array, is_signed: bool, scales: Array, zeros: Array, values: Array) -> None:
    """What bytes stand for: scale x (code - zero), zeros of no size where all are 0."""
    height, width = scales.shape
    count = codes.shape[1] // width
    for row in range(height):
        for block in range(width):
            scale = scales[row, block]
            zero = zeros[row, block] if zeros.size else NONE
            first = block * count
            for place in range(first, first + count):
                code = np.int32(codes[row, place])
                if is_signed:
                    code = (code ^ 128) - 128
                values[row, place] = (np.float32(code) - zero) * scale


@compile_kernel("void(float32[:,::1], float32[:,::1], float32[:,::1])", "contract", "reassoc")
def sum_block_products(left: Array, right: Array, sums: Array) -> None:
    """Of each row and block, the sum of products of values that stand at the same place."""
    height, width = sums.shape
    count = left.shape[1] // width
    for row in range(height):
        for block in range(width):
            total = NONE
            for place in range(block * count, (block + 1) * count):
                total += left[row, place] * right[row, place]
            sums[row, block] = total


@compile_kernel(
    "void(float32[:,::1], float32[:,::1], float32[:,::1], float32[:,::1], float32[:,::1], float32[::1],"
    " float32[:,::1], float32[:,::1])",
    "contract",
)
def choose_columns(  # noqa: PLR0913, PLR0917 - by position
    values: Array,
    slopes: Array,
    moments: Array,
    scales: Array,
    zeros: Array,
    limits: Array,
    codes: Array,
    changes: Array,
) -> None:
    """Codes of columns, which are rows here, each the best while all others stay; slopes go along."""
    lowest, highest = limits
    count, height = values.shape
    tile, moves = np.empty((count, TILE), np.float32), np.zeros(TILE, np.float32)
    for start in range(0, height, TILE):
        lanes = min(TILE, height - start)
        for column in range(count):
            for lane in range(lanes):
                tile[column, lane] = slopes[column, start + lane]
        for column in range(count):
            weight = ONE / moments[column, column]
            for lane in range(lanes):
                row = start + lane
                scale, zero = scales[column, row], zeros[column, row]
                best = values[column, row] + tile[column, lane] * weight
                code = (((best / scale if scale != NONE else NONE) + zero) + WHOLE) - WHOLE
                code = min(max(code, lowest), highest)
                moves[lane] = (code - zero) * scale - values[column, row]
                codes[column, row], changes[column, row] = code, moves[lane]
            for other in range(count):
                share = moments[other, column]
                for lane in range(TILE):
                    tile[other, lane] -= share * moves[lane]
        for column in range(count):
            for lane in range(lanes):
                slopes[column, start + lane] = tile[column, lane]
