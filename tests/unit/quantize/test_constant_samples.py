"""Samples that never change: nothing can be learned from them, and nothing breaks."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.config.algorithms import ALGORITHMS
from tests.cli.models import DIGITS_MODEL


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_algorithm_gives_numbers_whatever_the_samples_are(algorithm):
    sample = {"Input3": np.ones((1, 1, 28, 28), np.float32)}
    quantized = ew.quantize(DIGITS_MODEL, [sample] * 6, algorithms=(algorithm,))
    (output,) = quantized.run(sample).values()
    assert np.isfinite(output).all()
