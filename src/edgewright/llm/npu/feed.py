"""What a run of a decoder's graph is fed with: tokens, their positions, and the states of earlier ones."""

from collections.abc import Mapping

import numpy as np

from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.npu.decoder_graph import COSINES, KINDS, MASK, PAST, PRESENT, SINES, TOKENS
from edgewright.llm.npu.manifest import GraphShape
from edgewright.llm.rotary import make_rotary_tables

# Far below every score, and near enough that 16 bits still tell scores apart.
HIDDEN = -100.0


class TextState:
    """A text as graphs of fixed shapes see it: the newest tokens stand at the end of the context.

    Args:
        spec: the model.
        context: tokens that one run looks at, at most.
    """

    def __init__(self, spec: ModelSpec, context: int) -> None:
        self._spec, self._context = spec, context
        self.length = 0
        self._tables = make_rotary_tables(spec, context)
        across = np.zeros((spec.kv_heads, 1, spec.head_dim, context), np.float32)
        self._keys = [across.copy() for _ in range(spec.layers)]
        self._values = [np.swapaxes(across, 2, 3).copy() for _ in range(spec.layers)]

    def feed(self, tokens: Array, shape: GraphShape) -> dict[str, Array]:
        """The inputs of a run; fewer tokens than it takes are preceded by ones that nothing looks at."""
        count, past = len(tokens), shape.past
        if self.length + count > self._context:
            raise UsageError(
                f"the text has {self.length + count} tokens, the graphs look back on {self._context}",
                do="build with a longer --context, or shorten the text",
            )
        padded = np.zeros((1, shape.tokens), np.int32)
        padded[0, shape.tokens - count :] = tokens
        inputs = {TOKENS: padded, MASK: self._make_mask(count, shape)}
        for name, table in zip((COSINES, SINES), self._tables, strict=True):
            rows = np.zeros((1, 1, shape.tokens, table.shape[1]), np.float32)
            rows[0, 0, shape.tokens - count :] = table[self.length : self.length + count]
            inputs[name] = rows
        for layer in range(self._spec.layers if past else 0):
            start = self._context - past
            inputs[PAST.format(kind=KINDS[0], layer=layer)] = self._keys[layer][..., start:]
            inputs[PAST.format(kind=KINDS[1], layer=layer)] = self._values[layer][:, :, start:]
        return inputs

    def take(self, outputs: Mapping[str, Array], count: int) -> None:
        """Keeps the keys and values of the newest tokens; the oldest leave."""
        for layer in range(self._spec.layers):
            keys = outputs[PRESENT.format(kind=KINDS[0], layer=layer)][..., -count:]
            values = outputs[PRESENT.format(kind=KINDS[1], layer=layer)][:, :, -count:]
            self._keys[layer] = np.concatenate([self._keys[layer][..., count:], keys], axis=3)
            self._values[layer] = np.concatenate([self._values[layer][:, :, count:], values], axis=2)
        self.length += count

    def _make_mask(self, count: int, shape: GraphShape) -> Array:
        """0 where a token looks at another, far below it elsewhere."""
        places = np.full(shape.context, -1)
        known = min(self.length, shape.past)
        places[shape.past - known : shape.past] = np.arange(self.length - known, self.length)
        places[shape.context - count :] = np.arange(self.length, self.length + count)
        own = places[shape.past :, None]
        back = own - places[None]
        is_seen = (places[None] >= 0) & (back >= 0) & (own >= 0)
        if self._spec.window:
            is_seen &= back < self._spec.window
        # What stands where no token is looks at itself alone, so that its softmax has a sum.
        is_seen[np.arange(shape.tokens), np.arange(shape.past, shape.context)] = True
        return np.where(is_seen, np.float32(0), np.float32(HIDDEN))[None, None]
