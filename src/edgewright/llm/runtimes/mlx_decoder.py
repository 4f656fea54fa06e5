"""A folder of mlx-lm."""

from pathlib import Path

import numpy as np

from edgewright.core.numbers import Array
from edgewright.core.optional import require


class MlxDecoder:
    """A model of mlx-lm and its cache."""

    def __init__(self, path: Path) -> None:
        self._mx = require("mlx.core", to="run MLX models")
        loading = require("mlx_lm.utils", to="run MLX models")
        self._caches = require("mlx_lm.models.cache", to="run MLX models")
        self._model, _ = loading.load_model(path)
        self.reset()

    def reset(self) -> None:
        """Forgets all tokens."""
        self._cache = self._caches.make_prompt_cache(self._model)

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens."""
        logits = self._model(self._mx.array(tokens[None]), cache=self._cache)
        return np.array(logits[0].astype(self._mx.float32))
