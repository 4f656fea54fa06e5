"""Blocks of GGUF: the package gguf reads what we pack."""

import numpy as np
import pytest

from edgewright.core.errors import UnsupportedFeature
from edgewright.llm.rounding.codes import Grid
from edgewright.llm.rounding.scales import quantize_to_nearest, quantize_with_search
from edgewright.llm.writers.gguf_blocks import find_block_type, pack_blocks, pack_six_bits

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


def test_six_bits_are_near():
    weights = draw()
    values = unpack(pack_six_bits(weights), "Q6_K")
    noise = np.square(values - weights).sum() / np.square(weights).sum()
    stock = np.square(unpack(gguf.quantize(weights, gguf.GGMLQuantizationType.Q8_0), "Q8_0") - weights).sum()
    assert 10 * np.log10(noise) < -34
    assert noise > stock / np.square(weights).sum()
    assert not values[1].any()


def test_blocks_that_gguf_lacks_are_refused():
    with pytest.raises(UnsupportedFeature, match="blocks of 64"):
        find_block_type(Grid(4, 64))
