"""What a text says of the inputs of a matrix."""

import numpy as np
import pytest

from edgewright.llm import forward
from edgewright.llm.calibration import read_calibration_texts
from edgewright.llm.forward import read_layer, run_layer, run_texts
from edgewright.llm.load.checkpoint import Checkpoint
from edgewright.llm.moments import Moments
from edgewright.llm.rounding.codes import LPBQ, Grid
from tests.unit.llm.checkpoints import write_checkpoint

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


def test_products_of_columns_are_those_of_numpy_whatever_the_squares():
    rng = np.random.default_rng(0)
    texts = [rng.normal(size=(40, 300)).astype(np.float32) for _ in range(20)]
    rows, every = rng.normal(size=(5, 300)).astype(np.float32), np.concatenate(texts).astype(np.float64)
    expected = np.square(every @ rows.T.astype(np.float64)).sum()
    assert Moments(texts).measure(rows) == pytest.approx(expected, rel=1e-4)
    # With inputs that have drifted, products of two kinds.
    gaps, floats = every * 0.1, [text * 1.1 for text in texts]
    system = every.T @ every + 0.01 * np.eye(300) * (every**2).sum(axis=0).mean()
    share = len(every) / (len(every) + 2 * 300)
    damping = 0.05 * 300 / len(every) * (every**2).sum(axis=0).mean()
    solved = np.linalg.solve(system + damping * np.eye(300), (gaps.T @ every).T)
    corrected = rows + share * rows @ solved.T
    np.testing.assert_allclose(Moments(texts, floats).correct(rows), corrected, rtol=1e-3, atol=1e-3)


def test_texts_are_multiplied_together_as_each_by_itself(tmp_path, monkeypatch):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", "qwen2"))
    rng = np.random.default_rng(0)
    states = [rng.normal(size=(length, 256)).astype(np.float32) for length in (5, 30, 1, 17, 9)]
    weights = read_layer(checkpoint, 0)
    expected = [run_layer(checkpoint.spec, weights, state) for state in states]
    monkeypatch.setattr(forward, "TOKENS", 32)
    monkeypatch.setattr(forward, "ROWS", 100)
    for actual, alone in zip(run_texts(checkpoint.spec, weights, states), expected, strict=True):
        np.testing.assert_allclose(actual, alone, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("most", "length", "count"), [(1024, 128, 8), (64, 32, 2), (1 << 16, 256, 15)])
def test_few_tokens_are_from_many_places(tmp_path, most, length, count):
    checkpoint = Checkpoint(write_checkpoint(tmp_path / "m", max_position_embeddings=512))
    tokens = np.random.default_rng(0).integers(3, 96, 4000)
    np.save(tmp_path / "text.npy", tokens)
    pieces = read_calibration_texts(checkpoint, tmp_path / "text.npy", most)
    assert [len(piece) for piece in pieces] == [length] * count
    np.testing.assert_array_equal(pieces[0], tokens[:length])
    start = len(tokens) - 1 - (len(tokens) - 1) % length - length
    np.testing.assert_array_equal(pieces[-1], tokens[start : start + length])
