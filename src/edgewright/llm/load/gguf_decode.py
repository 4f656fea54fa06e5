"""The blocks of GGUF's types as the values that they stand for."""

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from edgewright.core.numbers import Array


@dataclass(frozen=True)
class StoredType:
    """A type of GGUF: so many values in so many bytes, and what they stand for."""

    name: str
    values: int
    size: int
    # From bytes [blocks, size] to values [blocks, values].
    decode: Callable[[Array], Array]


def _view(data: Array, dtype: object) -> Array:
    return np.ascontiguousarray(data).view(np.dtype(dtype)).astype(np.float32)  # type: ignore[call-overload]


def _split_nibbles(data: Array) -> Array:
    """Low halves first, then high ones."""
    return np.concatenate([data & 15, data >> 4], axis=-1)


def _read_bits(data: Array) -> Array:
    """One value for each bit."""
    return np.unpackbits(np.ascontiguousarray(data), axis=-1, bitorder="little")


def _decode_q4_0(data: Array) -> Array:
    return _view(data[:, :2], "<f2") * (_split_nibbles(data[:, 2:]).astype(np.float32) - 8)


def _decode_q4_1(data: Array) -> Array:
    return _view(data[:, :2], "<f2") * _split_nibbles(data[:, 4:]) + _view(data[:, 2:4], "<f2")


def _decode_q5_0(data: Array) -> Array:
    codes = _split_nibbles(data[:, 6:]) | _read_bits(data[:, 2:6]) << 4
    return np.asarray(_view(data[:, :2], "<f2") * (codes.astype(np.float32) - 16))


def _decode_q5_1(data: Array) -> Array:
    codes = _split_nibbles(data[:, 8:]) | _read_bits(data[:, 4:8]) << 4
    return np.asarray(_view(data[:, :2], "<f2") * codes + _view(data[:, 2:4], "<f2"))


def _decode_q8_0(data: Array) -> Array:
    return np.asarray(_view(data[:, :2], "<f2") * data[:, 2:].view(np.int8))


def _decode_q4_k(data: Array) -> Array:
    return _apply_scales(data, _split_pairs(data[:, 16:]))


def _decode_q5_k(data: Array) -> Array:
    # The fifth bits of part n are the bits n of 32 bytes.
    high = _read_bits(data[:, 16:48]).reshape(-1, 32, 8).swapaxes(1, 2)
    return _apply_scales(data, _split_pairs(data[:, 48:]) | high << 4)


def _split_pairs(data: Array) -> Array:
    """Eight parts of 32 codes: the low halves of 32 bytes are one, the high halves the next."""
    pairs = data.reshape(-1, 4, 32)
    return np.stack([pairs & 15, pairs >> 4], axis=2).reshape(-1, 8, 32)


def _apply_scales(data: Array, codes: Array) -> Array:
    """Scales and minima of the eight parts, in 6 bits each."""
    packed = data[:, 4:16]
    scales = np.concatenate([packed[:, :4] & 63, packed[:, 8:] & 15 | packed[:, :4] >> 6 << 4], axis=1)
    minima = np.concatenate([packed[:, 4:8] & 63, packed[:, 8:] >> 4 | packed[:, 4:8] >> 6 << 4], axis=1)
    scale, minimum = _view(data[:, :2], "<f2") * scales, _view(data[:, 2:4], "<f2") * minima
    return np.asarray(scale[..., None] * codes - minimum[..., None]).reshape(len(data), -1)


def _decode_q6_k(data: Array) -> Array:
    low, high = data[:, :128].reshape(-1, 2, 2, 32), data[:, 128:192].reshape(-1, 2, 32)
    nibbles = np.stack([low[:, :, 0] & 15, low[:, :, 1] & 15, low[:, :, 0] >> 4, low[:, :, 1] >> 4], axis=2)
    twos = np.stack([high >> shift & 3 for shift in (0, 2, 4, 6)], axis=2)
    codes = (nibbles | twos << 4).astype(np.float32).reshape(-1, 16, 16) - 32
    scales = _view(data[:, 208:], "<f2") * data[:, 192:208].view(np.int8)
    return np.asarray(codes * scales[..., None]).reshape(len(data), -1)


TYPES: dict[int, StoredType] = {
    0: StoredType("F32", 1, 4, lambda data: _view(data, "<f4")),
    1: StoredType("F16", 1, 2, lambda data: _view(data, "<f2")),
    30: StoredType("BF16", 1, 2, lambda data: _view(data, ml_dtypes.bfloat16)),
    2: StoredType("Q4_0", 32, 18, _decode_q4_0),
    3: StoredType("Q4_1", 32, 20, _decode_q4_1),
    6: StoredType("Q5_0", 32, 22, _decode_q5_0),
    7: StoredType("Q5_1", 32, 24, _decode_q5_1),
    8: StoredType("Q8_0", 32, 34, _decode_q8_0),
    12: StoredType("Q4_K", 256, 144, _decode_q4_k),
    13: StoredType("Q5_K", 256, 176, _decode_q5_k),
    14: StoredType("Q6_K", 256, 210, _decode_q6_k),
}
