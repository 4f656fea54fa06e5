"""Blocks of GGUF: the package gguf reads what we pack."""

import numpy as np
import pytest

from edgewright.core.errors import UnsupportedFeature
from edgewright.llm.rounding.codes import Q4_K, Q6_K, Codes, Grid, Nested
from edgewright.llm.rounding.scales import quantize_to_nearest, quantize_with_search
from edgewright.llm.writers.gguf_blocks import find_block_type, pack_blocks

gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")


def draw(rows=6, columns=512):
    weights = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    weights[1] = 0
    weights[2, :32] *= 1e-9
    return weights


def unpack(data, name):
    return gguf.dequantize(data, gguf.GGMLQuantizationType[name])


@pytest.mark.parametrize("grid", [Grid(4), Grid(4, 32, False), Grid(8)])
@pytest.mark.parametrize("quantize", [quantize_to_nearest, quantize_with_search])
def test_gguf_reads_the_values_that_the_codes_stand_for(grid, quantize):
    codes, kind = quantize(draw(), grid), find_block_type(grid)
    data = pack_blocks(codes)
    assert data.shape == (6, kind.count_row_bytes(512))
    # The smallest value of an asymmetric block is rounded to half precision.
    tolerance = 0 if grid.is_symmetric else 2e-3
    np.testing.assert_allclose(unpack(data, kind.name), codes.decode(), atol=tolerance)


@pytest.mark.parametrize(("grid", "name", "least"), [(Q6_K, "Q6_K", 34), (Q4_K, "Q4_K", 22.4)])
def test_super_blocks_arrive_as_their_codes_say(grid, name, least):
    weights = draw()
    codes = quantize_with_search(weights, grid)
    values = unpack(pack_blocks(codes), name)
    np.testing.assert_allclose(values, codes.decode(), rtol=1e-5, atol=1e-6)
    noise = np.square(values - weights).sum() / np.square(weights).sum()
    assert -10 * np.log10(noise) > least
    assert not values[1].any()


@pytest.mark.parametrize("grid", [Q6_K, Q4_K])
def test_any_codes_survive_super_blocks(grid):
    """Every code and every multiple, not only those that a search finds."""
    rng = np.random.default_rng(5)
    low, high = grid.lowest, grid.highest
    codes = rng.integers(low, high + 1, (4, 512)).astype(np.int8 if low else np.uint8)
    steps = rng.integers(grid.nesting.lowest, grid.nesting.highest + 1, (4, 512 // grid.block))
    units = rng.uniform(0.001, 1, (4, 2)).astype(np.float16).astype(np.float32)
    nested, zeros = Nested(units, steps), None
    scales = (steps * units.repeat(steps.shape[1] // 2, axis=1)).astype(np.float32)
    if not grid.is_symmetric:
        lows = rng.integers(0, 64, steps.shape)
        nested, zeros = Nested(units, steps, units, lows), lows / steps
    packed = pack_blocks(Codes(grid, codes, scales, zeros, nested))
    expected = Codes(grid, codes, scales, zeros, nested).decode()
    np.testing.assert_allclose(unpack(packed, "Q6_K" if low else "Q4_K"), expected, rtol=1e-4, atol=1e-4)


def test_blocks_that_gguf_lacks_are_refused():
    with pytest.raises(UnsupportedFeature, match="blocks of 64"):
        find_block_type(Grid(4, 64))
