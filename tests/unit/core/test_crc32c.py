"""The checksum of TensorFlow's checkpoints against its definition."""

import numpy as np
import pytest

from edgewright.core import crc32c
from edgewright.core.crc32c import POLYNOMIAL, compute_crc32c, read_masked_crc32c


def compute_slowly(data):
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (POLYNOMIAL if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"), [(b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"", 0)]
)
def test_published_values(data, expected):
    assert compute_crc32c(memoryview(data)) == expected


@pytest.mark.parametrize("size", [1, 1023, 1024, 1025, 5000])
def test_any_length_is_what_the_definition_gives(size):
    data = np.random.default_rng(size).bytes(size)
    assert compute_crc32c(memoryview(data)) == compute_slowly(data)


def test_chunks_are_joined(monkeypatch):
    monkeypatch.setattr(crc32c, "CHUNK", 2048)
    data = np.random.default_rng(1).bytes(9000)
    assert compute_crc32c(memoryview(data)) == compute_slowly(data)


def test_the_stored_form_is_read():
    value = 0xE3069283
    masked = ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert read_masked_crc32c(masked) == value
