"""What rounding does to each matrix is noted while it is quantized."""

import numpy as np
import pytest

from edgewright.llm.matrix_errors import MatrixErrors
from edgewright.llm.quantize_model import quantize_language_model
from edgewright.llm.recipe import Recipe
from edgewright.llm.rounding.codes import Grid
from edgewright.llm.rounding.scales import quantize_to_nearest
from tests.unit.llm.checkpoints import write_checkpoint


def test_decibels_are_those_of_the_definition_whatever_the_pieces():
    rng = np.random.default_rng(0)
    weights, inputs = rng.normal(size=(12, 64)).astype(np.float32), rng.normal(size=(500, 64))
    codes, moments = quantize_to_nearest(weights, Grid(4, 32)), (inputs.T @ inputs).astype(np.float32)
    gap = weights - codes.decode()
    errors = MatrixErrors()

    def measure(part):
        return float(((part @ moments) * part).sum())

    for rows in (slice(0, 5), slice(5, 12)):
        part = quantize_to_nearest(weights[rows], Grid(4, 32))
        errors.add("m", weights[rows], part, measure)
    (error,) = errors.list_errors()
    assert (error.name, error.bits, error.block, error.values) == ("m", 4, 32, 768)
    assert error.weight_db == pytest.approx(10 * np.log10((weights**2).sum() / (gap**2).sum()), abs=1e-4)
    products, missed = weights @ inputs.T, gap @ inputs.T
    expected = 10 * np.log10((products**2).sum() / (missed**2).sum())
    assert error.product_db == pytest.approx(expected, abs=1e-3)


def test_every_quantized_matrix_is_noted_once_and_a_text_tells_of_products(tmp_path):
    folder = write_checkpoint(tmp_path / "m")
    np.save(tmp_path / "text.npy", np.random.default_rng(1).integers(3, 96, 600))
    plain = quantize_language_model(folder, recipe=Recipe("int8"), output=tmp_path / "8.gguf")
    names = [matrix.name for matrix in plain.matrices]
    assert len(names) == len(set(names)) == 2 * 4 + 2
    assert all(matrix.product_db is None and matrix.weight_db > 40 for matrix in plain.matrices)
    with_text = quantize_language_model(
        folder, recipe=Recipe("int4", "best"), calibration=tmp_path / "text.npy", output=tmp_path / "4.gguf"
    )
    four = [matrix for matrix in with_text.matrices if matrix.bits == 4 and "layers" in matrix.name]
    # The products are what is kept, at the cost of the weights themselves.
    assert all(matrix.product_db > matrix.weight_db for matrix in four)
    floats = quantize_language_model(folder, recipe=Recipe("fp16"), output=tmp_path / "16.gguf")
    assert floats.matrices == ()
