"""Perplexity: the next tokens are those of the input, padding is left out."""

import numpy as np
import pytest

from edgewright.core.errors import UsageError
from edgewright.evaluate.loss import measure_score
from edgewright.evaluate.metrics import find_measure
from edgewright.evaluate.metrics.measure import Answer

PERPLEXITY = find_measure("perplexity")
IDS = np.array([[3, 1, 4, 1, 5]])


def score(*answers):
    sums = [PERPLEXITY.add_up(answer) for answer in answers]
    return measure_score(PERPLEXITY, sums, np.array([1.0]))[0]


def compute_perplexity(scores, ids):
    shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    return np.exp(-np.log(shares[0, np.arange(ids.size - 1), ids[0, 1:]]).mean())


def test_it_is_the_ratio_of_both_perplexities():
    random = np.random.default_rng(0)
    first, second = random.normal(size=(2, 1, 5, 8))
    expected = 100 * compute_perplexity(first, IDS) / compute_perplexity(second, IDS)
    answer = Answer(first, second, inputs={"input_ids": IDS})
    assert score(answer) == pytest.approx(expected)
    shares = Answer(
        *(np.exp(x) / np.exp(x).sum(-1, keepdims=True) for x in (first, second)), inputs=answer.inputs
    )
    assert score(shares) == pytest.approx(expected)


def test_padding_is_left_out():
    random = np.random.default_rng(1)
    first, second = random.normal(size=(2, 1, 5, 8))
    mask = np.array([[1, 1, 1, 0, 0]])
    short = Answer(first[:, :3], second[:, :3], inputs={"input_ids": IDS[:, :3]})
    padded = Answer(first, second, inputs={"input_ids": IDS, "attention_mask": mask})
    assert score(padded) == pytest.approx(score(short))


def test_what_is_no_number_is_a_loss():
    first = np.zeros((1, 5, 8))
    assert score(Answer(first, np.full_like(first, np.nan), inputs={"tokens": IDS})) < 1


def test_without_tokens_there_is_nothing_to_predict():
    first = np.zeros((1, 5, 8))
    with pytest.raises(UsageError, match="needs the input with the 5 tokens"):
        score(Answer(first, first, inputs={"x": np.zeros((1, 5), np.float32)}))
