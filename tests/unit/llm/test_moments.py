"""What a text says of the inputs of a matrix."""

import numpy as np
import pytest

from edgewright.llm.moments import Moments
from edgewright.llm.rounding.codes import LPBQ, Grid

COLUMNS = 512


def draw_texts(tokens, seed=0):
    """Inputs whose columns go together, a text for every 128 tokens."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(COLUMNS, COLUMNS)) * 0.5 ** (np.arange(COLUMNS) / 64)[:, None]
    texts = [rng.normal(size=(128, COLUMNS)) @ mix for _ in range(tokens // 128)]
    return [text.astype(np.float32) for text in texts], rng


def test_weights_make_up_for_what_inputs_have_lost():
    floats, rng = draw_texts(4096)
    weights = rng.normal(size=(16, COLUMNS)).astype(np.float32)
    # Rounded layers give less of everything, and something of their own.
    inputs = [(0.9 * text + 0.05 * rng.normal(size=text.shape)).astype(np.float32) for text in floats]
    moments = Moments(inputs, floats)
    aims = np.concatenate(floats) @ weights.T
    gaps = [
        np.square(aims - np.concatenate(inputs) @ rows.T).sum()
        for rows in (weights, moments.correct(weights))
    ]
    assert gaps[1] < 0.5 * gaps[0]
    assert Moments(inputs).correct(weights) is weights


def test_few_tokens_correct_little():
    floats, rng = draw_texts(4096)
    weights = rng.normal(size=(16, COLUMNS)).astype(np.float32)
    inputs = [(0.9 * text).astype(np.float32) for text in floats]
    many, few = Moments(inputs, floats), Moments(inputs[:4], floats[:4])
    changes = [np.abs(moments.correct(weights) - weights).mean() for moments in (many, few)]
    assert 0 < changes[1] < 0.7 * changes[0]


@pytest.mark.parametrize(
    "grid", [Grid(4, 32), Grid(4, 64, is_symmetric=False), LPBQ], ids=["32", "64", "lpbq"]
)
def test_columns_are_parted_where_tokens_are_fewer(grid):
    texts, rng = draw_texts(256)
    weights = rng.normal(size=(80, COLUMNS)).astype(np.float32)
    moments = Moments(texts, span=0 if grid is LPBQ else grid.block)
    codes = moments.quantize(weights, grid, 0)
    assert codes.codes.shape == weights.shape
    # As if each half were a matrix of its own, except where scales of a row belong together.
    halves = [slice(0, 256), slice(256, 512)]
    apart = [
        Moments([text[:, half] for text in texts]).quantize(weights[:, half], grid, 0) for half in halves
    ]
    same = np.array_equal(codes.codes, np.concatenate([part.codes for part in apart], axis=1))
    assert same is (grid is not LPBQ)


def test_the_measure_is_that_of_the_products():
    texts, rng = draw_texts(1024)
    rows = rng.normal(size=(5, COLUMNS)).astype(np.float32)
    expected = np.square(np.concatenate(texts) @ rows.T).sum()
    assert Moments(texts).measure(rows) == pytest.approx(expected, rel=1e-4)
