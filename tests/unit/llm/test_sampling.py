"""How the next token is chosen."""

import numpy as np
import pytest

from edgewright.core.errors import UsageError
from edgewright.llm.sampling import Sampler, Sampling

LOGITS = np.log(np.array([0.1, 0.4, 0.2, 0.3], np.float32))


def draw(count=400, known=(), **choices):
    sampler = Sampler(Sampling(**choices))
    return [sampler.choose(LOGITS, list(known)) for _ in range(count)]


def test_the_likeliest_is_taken_without_a_temperature():
    assert set(draw(5)) == {1}


def test_shares_are_those_of_the_model_at_temperature_1():
    counts = np.bincount(draw(4000, temperature=1.0), minlength=4) / 4000
    np.testing.assert_allclose(counts, [0.1, 0.4, 0.2, 0.3], atol=0.03)


@pytest.mark.parametrize(
    ("choice", "possible"),
    [
        ({"top_k": 1}, {1}),
        ({"top_k": 2}, {1, 3}),
        ({"top_p": 0.39}, {1}),
        ({"top_p": 0.6}, {1, 3}),
        ({"top_p": 0.8}, {1, 2, 3}),
        ({"top_p": 1.0}, {0, 1, 2, 3}),
        ({"top_k": 3, "top_p": 0.7}, {1, 3}),
    ],
)
def test_only_the_likeliest_are_drawn(choice, possible):
    assert set(draw(temperature=1.0, **choice)) == possible


def test_tokens_of_the_text_are_less_likely_with_a_penalty():
    assert set(draw(5, known=[1], repetition_penalty=5.0)) == {3}
    assert set(draw(5, known=[1], repetition_penalty=1.0)) == {1}
    assert Sampler(Sampling(repetition_penalty=2.0)).choose(np.array([3.0, 2.0]), [0]) == 1


def test_the_same_seed_gives_the_same_tokens():
    assert draw(temperature=1.0, seed=3) == draw(temperature=1.0, seed=3)
    assert draw(temperature=1.0, seed=3) != draw(temperature=1.0, seed=4)


@pytest.mark.parametrize(
    "choice", [{"temperature": -1}, {"top_k": -1}, {"top_p": 0}, {"top_p": 1.1}, {"repetition_penalty": 0}]
)
def test_what_means_nothing_is_refused(choice):
    with pytest.raises(UsageError, match="temperature is"):
        Sampling(**choice)
