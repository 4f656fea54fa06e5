"""A folder of mlx-lm."""

from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.numbers import Array
from edgewright.core.optional import require


class MlxDecoder:
    """A model of mlx-lm and its cache."""

    def __init__(self, path: Path) -> None:
        self._mx = require("mlx.core", to="run MLX models")
        loading = require("mlx_lm.utils", to="run MLX models")
        self._caches = require("mlx_lm.models.cache", to="run MLX models")
        try:
            self._model, _ = loading.load_model(path)
        except (ValueError, KeyError, TypeError, AttributeError, OSError, RuntimeError) as problem:
            raise BadInput(f"mlx-lm cannot load it: {shown(problem)}", Where(file=str(path))) from None
        # On a processor, MLX emulates half precision in products with quantized matrices, 30 times slower.
        # The numbers of the file are the same in single precision; only sums are rounded less.
        if self._mx.default_device() == self._mx.Device(self._mx.cpu):
            self._model.set_dtype(self._mx.float32)
        self.reset()

    def reset(self) -> None:
        """Forgets all tokens."""
        self._cache = self._caches.make_prompt_cache(self._model)

    def feed(self, tokens: Array) -> Array:
        """The logits after each of these tokens."""
        logits = self._model(self._mx.array(tokens[None]), cache=self._cache)
        return np.array(logits[0].astype(self._mx.float32))
