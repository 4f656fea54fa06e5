"""The checksum that TensorFlow's checkpoints store (CRC-32C), computed by numpy in many places at once."""

from functools import cache

import numpy as np

from edgewright.core.numbers import Array

POLYNOMIAL = 0x82F63B78
# Bytes that are taken at once, and those that one place of it goes through.
CHUNK, STRIP = 1 << 22, 1 << 10
_ONES = 0xFFFFFFFF


def compute_crc32c(data: memoryview) -> int:
    """The checksum of bytes."""
    state = _ONES
    for start in range(0, len(data), CHUNK):
        part = np.frombuffer(data[start : start + CHUNK], np.uint8)
        state = _skip(state, len(part)) ^ _compute_from_zero(part)
    return state ^ _ONES


def read_masked_crc32c(stored: int) -> int:
    """The checksum behind the form in which it is stored: turned by 15 bits, with a constant added."""
    turned = (stored - 0xA282EAD8) & _ONES
    return (turned >> 17 | turned << 15) & _ONES


def _compute_from_zero(part: Array) -> int:
    """The remainder of bytes alone: zeros before them change nothing, and strips of them go side by side."""
    strips = 1 << max(0, (-(-len(part) // STRIP) - 1).bit_length())
    padded = np.zeros(strips * STRIP, np.uint8)
    padded[len(padded) - len(part) :] = part
    columns = np.ascontiguousarray(padded.reshape(strips, STRIP).T)
    table, states = _make_table(), np.zeros(strips, np.uint32)
    for column in columns:
        states = table[(states ^ column) & 0xFF] ^ (states >> 8)
    # Neighbours are joined, then those, until one is left.
    step = _list_skips()[STRIP.bit_length() - 1 :]
    for operator in step:
        if len(states) == 1:
            break
        states = _apply(operator, states[::2]) ^ states[1::2]
    return int(states[0])


def _skip(state: int, count: int) -> int:
    """The state after so many zero bytes."""
    values = np.array([state], np.uint32)
    for bit, operator in enumerate(_list_skips()):
        if count >> bit & 1:
            values = _apply(operator, values)
    return int(values[0])


def _apply(operator: Array, values: Array) -> Array:
    """A linear map of bits: what becomes of each, added up."""
    result = np.zeros_like(values)
    for bit in range(32):
        result ^= operator[bit] * (values >> np.uint32(bit) & np.uint32(1))
    return result


@cache
def _make_table() -> Array:
    table: Array = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ (table & 1) * np.uint32(POLYNOMIAL)
    return table


@cache
def _list_skips() -> list[Array]:
    """For 1, 2, 4 ... zero bytes: what becomes of each bit of the state."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    operators = [_make_table()[bits & 0xFF] ^ (bits >> 8)]
    for _ in range(CHUNK.bit_length()):
        operators.append(_apply(operators[-1], operators[-1]))
    return operators
