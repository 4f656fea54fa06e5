"""A checkpoint in the float arithmetic of this package: slow, and in need of nothing."""

from pathlib import Path

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.forward import iterate_float_logits
from edgewright.llm.load.checkpoint import Checkpoint


class FloatDecoder:
    """Computes all tokens so far anew, one layer in memory."""

    def __init__(self, path: Path) -> None:
        self._checkpoint = Checkpoint(path)
        self.reset()

    def reset(self) -> None:
        """Forgets all tokens."""
        self._tokens: Array = np.zeros(0, np.int64)

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens."""
        self._tokens = np.concatenate([self._tokens, tokens])
        return next(iterate_float_logits(self._checkpoint, [self._tokens]))[-len(tokens) :]
