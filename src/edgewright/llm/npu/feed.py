"""What a run of a decoder's graphs is fed with: tokens, their positions, and the states of earlier ones."""

from collections.abc import Callable, Mapping

import numpy as np

from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.npu.decoder_graph import COSINES, KINDS, MASK, PAST, PRESENT, SINES, TOKENS
from edgewright.llm.npu.manifest import GraphShape
from edgewright.llm.rotary import make_rotary_tables

# Far below every score, and near enough that 16 bits still tell scores apart.
HIDDEN = -100.0
# What a graph stores for the real numbers of an input, by its name.
Encode = Callable[[str, Array], Array]


def keep_floats(name: str, values: Array) -> Array:
    """For graphs of real numbers."""
    return values


class Positions:
    """Which tokens count, and where they stand.

    Args:
        spec: the model.
        length: tokens of the longest text; LongRoPE has other factors for long texts.
        encode: what graphs store; asked once, not at every token.
    """

    def __init__(self, spec: ModelSpec, length: int, encode: Encode = keep_floats) -> None:
        self._window = spec.window
        tables = dict(zip((COSINES, SINES), make_rotary_tables(spec, length), strict=True))
        self._tables = {name: encode(name, table) for name, table in tables.items()}
        self._zeros = {name: encode(name, np.zeros((), np.float32)) for name in tables}
        self._seen, self._hidden = encode(MASK, np.array([0, HIDDEN], np.float32))

    def feed(self, start: int, count: int, shape: GraphShape) -> dict[str, Array]:
        """Of a run that takes so many tokens after others; they stand at the end of what it takes."""
        inputs = {MASK: self._make_mask(start, count, shape)}
        for name, table in self._tables.items():
            rows = np.full((1, 1, shape.tokens, table.shape[1]), self._zeros[name])
            rows[0, 0, shape.tokens - count :] = table[start : start + count]
            inputs[name] = rows
        return inputs

    def _make_mask(self, start: int, count: int, shape: GraphShape) -> Array:
        """0 where a token looks at another, far below it elsewhere."""
        places = np.full(shape.context, -1)
        places[:start] = np.arange(start)
        places[shape.context - count :] = np.arange(start, start + count)
        own = places[shape.past :, None]
        back = own - places[None]
        is_seen = (places[None] >= 0) & (back >= 0) & (own >= 0)
        if self._window:
            is_seen &= back < self._window
        # What stands where no token is looks at itself alone, so that its softmax has a sum.
        is_seen[np.arange(shape.tokens), np.arange(shape.past, shape.context)] = True
        mask: Array = np.where(is_seen, self._seen, self._hidden)
        return mask[None, None]


class LayerStates:
    """Keys and values of one layer, written in place: a token's stand where the token stands in the text.

    Args:
        spec: the model.
        number: of the layer.
        context: tokens of the longest text.
        encode: what graphs store.
    """

    def __init__(self, spec: ModelSpec, number: int, context: int, encode: Encode = keep_floats) -> None:
        self._names = [[name.format(kind=kind, layer=number) for kind in KINDS] for name in (PAST, PRESENT)]
        keys, values = (encode(name, np.zeros((), np.float32)) for name in self._names[0])
        self._keys = np.full((spec.kv_heads, 1, spec.head_dim, context), keys)
        self._values = np.full((spec.kv_heads, 1, context, spec.head_dim), values)

    def feed(self, shape: GraphShape) -> dict[str, Array]:
        """Those of earlier tokens, and places that no token has yet."""
        if not shape.past:
            return {}
        past = (self._keys[..., : shape.past], self._values[:, :, : shape.past])
        return dict(zip(self._names[0], past, strict=True))

    def list_kept(self, length: int) -> list[Array]:
        """Keys and values of so many tokens."""
        return [self._keys[..., :length], self._values[:, :, :length]]

    def take(self, outputs: Mapping[str, Array], start: int, count: int) -> None:
        """Keeps the keys and values of the newest tokens."""
        keys, values = (outputs[name] for name in self._names[1])
        self._keys[..., start : start + count] = keys[..., -count:]
        self._values[:, :, start : start + count] = values[:, :, -count:]


def pad_tokens(tokens: Array, shape: GraphShape) -> Array:
    """Fewer tokens than a run takes are preceded by ones that nothing looks at."""
    padded = np.zeros((1, shape.tokens), np.int32)
    padded[0, shape.tokens - len(tokens) :] = tokens
    return padded


class TextState:
    """A text as graphs of fixed shapes see it.

    Args:
        spec: the model.
        context: tokens that one run looks at, at most.
        encode: what graphs store; real numbers where nothing is said.
        length: tokens of the longest text that is expected; LongRoPE has other factors for long texts.
    """

    def __init__(
        self,
        spec: ModelSpec,
        context: int,
        encode: Encode = keep_floats,
        length: int | None = None,
    ) -> None:
        self._context, self.length = context, 0
        self._positions = Positions(spec, length or context, encode)
        self._layers = [LayerStates(spec, number, context, encode) for number in range(spec.layers)]

    def feed(self, tokens: Array, shape: GraphShape) -> dict[str, Array]:
        """The inputs of a run."""
        count = len(tokens)
        if self.length + count > self._context or self.length > shape.past:
            raise UsageError(
                f"the text has {self.length + count} tokens, the graphs look back on {self._context}",
                do="build with a longer --context, or shorten the text",
            )
        inputs = {TOKENS: pad_tokens(tokens, shape), **self._positions.feed(self.length, count, shape)}
        for layer in self._layers:
            inputs |= layer.feed(shape)
        return inputs

    def list_states(self) -> list[Array]:
        """Keys and values of all layers for the tokens so far."""
        return [array for layer in self._layers for array in layer.list_kept(self.length)]

    def take(self, outputs: Mapping[str, Array], count: int) -> None:
        """Keeps the keys and values of the newest tokens."""
        for layer in self._layers:
            layer.take(outputs, self.length, count)
        self.length += count
