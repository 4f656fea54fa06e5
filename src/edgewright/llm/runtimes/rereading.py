"""Texts that outgrow LongRoPE's short factors while they are written."""

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.runtimes.decoder import Decoder, OwnProbe


class RereadingDecoder:
    """Reads a text anew, once, when it becomes longer than the short factors are for.

    A model turns all queries and keys by the factors of the text's length, but keeps the keys of earlier
    tokens as they were turned when the text was shorter. PyTorch computes them anew there, too.

    Args:
        decoder: what runs the model.
        short: tokens that the short factors are for.
    """

    def __init__(self, decoder: Decoder, short: int) -> None:
        self._decoder, self._short = decoder, short
        self._tokens: Array = np.zeros(0, np.int64)

    def reset(self) -> None:
        """Forgets all tokens."""
        self._tokens = self._tokens[:0]
        self._decoder.reset()

    def split_probe(self, text: str) -> list[int] | None:
        """As the model's own runtime does."""
        return self._decoder.split_probe(text) if isinstance(self._decoder, OwnProbe) else None

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens."""
        start = len(self._tokens)
        self._tokens = np.concatenate([self._tokens, tokens])
        if not 0 < start <= self._short < len(self._tokens):
            return self._decoder.feed(tokens)
        self._decoder.reset()
        return self._decoder.feed(self._tokens)[start:]
