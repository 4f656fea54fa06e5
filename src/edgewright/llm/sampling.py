"""Which token comes next: the likeliest, or one by chance among likely ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen."""

    # 0 takes the likeliest token; more makes unlikely ones likelier.
    temperature: float = 0.0
    # Only so many of the likeliest; 0: all.
    top_k: int = 0
    # Only the likeliest that have this share together.
    top_p: float = 1.0
    # Above 1, tokens of the text so far are less likely.
    repetition_penalty: float = 1.0
    # The same seed gives the same text.
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuses what means nothing."""
        if self.temperature < 0 or self.top_k < 0 or not 0 < self.top_p <= 1 or self.repetition_penalty <= 0:
            raise UsageError(
                f"temperature is {self.temperature}, top_k {self.top_k}, top_p {self.top_p}, "
                f"repetition_penalty {self.repetition_penalty}",
                do="give a temperature and top_k of 0 or more, top_p above 0 to 1, a penalty above 0",
            )


class Sampler:
    """Chooses one token after another.

    Args:
        sampling: how.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._rng = np.random.default_rng(sampling.seed)

    def choose(self, logits: Array, known: Sequence[int]) -> int:
        """The next token after those that are known."""
        scores = self._lower_known(logits.astype(np.float64), known)
        if self._sampling.temperature <= 0:
            return int(scores.argmax())
        order = np.argsort(-scores, kind="stable")[: self._sampling.top_k or None]
        scaled = scores[order] / self._sampling.temperature
        shares = np.exp(scaled - scaled[0])
        shares /= shares.sum()
        # The likeliest that together reach the share, one at least.
        count = int(np.searchsorted(shares.cumsum(), self._sampling.top_p)) + 1
        shares = shares[:count] / shares[:count].sum()
        return int(self._rng.choice(order[:count], p=shares))

    def _lower_known(self, scores: Array, known: Sequence[int]) -> Array:
        penalty = self._sampling.repetition_penalty
        if penalty == 1 or not known:
            return scores
        tokens = np.unique(known)
        scores[tokens] = np.where(scores[tokens] > 0, scores[tokens] / penalty, scores[tokens] * penalty)
        return scores
