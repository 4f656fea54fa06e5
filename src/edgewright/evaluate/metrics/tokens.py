"""Perplexity: how surprised a language model is by the next token of its own input."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.measure import Answer, Measure, Sums
from edgewright.evaluate.statistics import is_distribution

IDS, MASK = "input_ids", "attention_mask"
# A probability of nothing at all would count infinitely.
LEAST = -100.0


class Perplexity(Measure):
    """Against that of the float model on the same tokens."""

    name = "perplexity"
    text = "the float model's perplexity over the other's, in percent; the next tokens are those of the input"
    is_of_values = True

    def add_up(self, answer: Answer) -> tuple[float, ...]:
        """Logarithms of the next tokens' probabilities, the float model's and those of chance; the tokens."""
        tokens, is_text = find_tokens(answer)
        sums = [
            float(find_next(values, tokens)[is_text].sum())
            for values in (answer.result.reshape(answer.reference.shape), answer.reference)
        ]
        chance = -is_text.sum() * np.log(answer.reference.shape[-1])
        return (*sums, float(is_text.sum()), float(chance))

    def compute_score(self, sums: Array, span: Array) -> Array:
        """As a ratio of both perplexities; one that is less than the float model's is more than 100 %."""
        del span
        return np.asarray(100 * np.exp((sums[..., 0] - sums[..., 1]) / np.maximum(sums[..., 2], 1)))

    def describe_float_model(self, sums: Sums) -> str:
        """A model that knows less of the next token than chance does was not trained on such texts."""
        _, known, count, chance = np.sum(np.array(sums, np.float64), 0).tolist()
        if known > chance or not count:
            return ""
        figures = (math.exp(-min(each / count, 0.0)) for each in (known, chance))
        text = "the float model's own perplexity is {:.4g}, {:.4g} would be chance".format(*figures)
        return f"{text}: what is lost says little before the texts fit the model"

    def find_misfit(self, shapes: Mapping[str, Sequence[int]], output: str) -> str:
        """Scores of all steps."""
        if sum(size > 1 for size in shapes[output]) == 2:
            return ""
        return "expected scores of tokens for every step, [1,steps,vocabulary]"


def find_tokens(answer: Answer) -> tuple[Array, Array]:
    """The next token of each step but the last, and whether it is text and not padding."""
    steps = answer.reference.reshape(-1, answer.reference.shape[-1]).shape[0]
    fitting = [
        name
        for name, array in answer.inputs.items()
        if array.dtype.kind in "iu" and array.size == steps and "mask" not in name and "position" not in name
    ]
    name = IDS if IDS in fitting else fitting[0] if len(fitting) == 1 else ""
    if not name:
        raise UsageError(
            f"perplexity needs the input with the {steps} tokens of the output's steps, found "
            f"{', '.join(fitting) or 'none of whole numbers'}",
            do=f"use {spell_option('metric', 'same-answers')}, or name the input 'input_ids'",
        )
    tokens = answer.inputs[name].reshape(-1)[1:].astype(np.int64)
    mask = answer.inputs.get(MASK)
    is_text = np.ones(len(tokens), bool) if mask is None else mask.reshape(-1)[1:] > 0
    return tokens, is_text & (tokens >= 0) & (tokens < answer.reference.shape[-1])


def find_next(values: Array, tokens: Array) -> Array:
    """The logarithm of each next token's probability; scores that are no numbers know nothing."""
    rows = values.reshape(-1, values.shape[-1])[:-1].astype(np.float64)
    if is_distribution(rows):
        with np.errstate(divide="ignore"):
            rows = np.log(rows)
    rows = rows - rows.max(-1, keepdims=True)
    places = np.clip(tokens, 0, rows.shape[-1] - 1)[:, None]
    chosen = np.take_along_axis(rows, places, -1)[:, 0] - np.log(np.exp(rows).sum(-1))
    return np.asarray(np.maximum(np.nan_to_num(chosen, nan=LEAST), LEAST))
