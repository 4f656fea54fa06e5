"""Texts on their way through a model, one layer after another: what shows the ranges of activations."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgewright.core.numbers import Array
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.npu.array_store import RowTable
from edgewright.llm.npu.decoder_graph import name_state
from edgewright.llm.npu.feed import LayerStates, Positions, pad_tokens
from edgewright.llm.npu.manifest import GraphShape
from edgewright.model.model import Model

Sample = dict[str, Array]


@dataclass
class TextPiece:
    """Tokens of one run: their state so far, and where they stand."""

    start: int
    count: int
    positions: Sample
    state: Array


class CalibrationRun:
    """The states of all texts, each in pieces of what a run takes.

    Args:
        spec: the model.
        shape: of the graphs that the texts run through.
        texts: tokens; what is beyond the context is left out.
        table: the embeddings.
    """

    def __init__(self, spec: ModelSpec, shape: GraphShape, texts: Sequence[Array], table: RowTable) -> None:
        self._spec, self._shape = spec, shape
        self._positions = Positions(spec, shape.context)
        self._texts = [self._cut_text(text[: shape.context], table) for text in texts]

    def _cut_text(self, text: Array, table: RowTable) -> list[TextPiece]:
        pieces = []
        for start in range(0, len(text), self._shape.tokens):
            tokens = pad_tokens(text[start : start + self._shape.tokens], self._shape)
            count = min(self._shape.tokens, len(text) - start)
            positions = self._positions.feed(start, count, self._shape)
            pieces.append(TextPiece(start, count, positions, table.pick(tokens[0])[None]))
        return pieces

    def run_layer(self, number: int, model: Model) -> list[Sample]:
        """What a layer is fed with; afterwards the states are those after it."""
        samples = []
        for text in self._texts:
            past = LayerStates(self._spec, number, self._shape.context)
            for piece in text:
                # Later pieces change the buffers.
                earlier = {name: array.copy() for name, array in past.feed(self._shape).items()}
                samples.append({name_state(number): piece.state, **piece.positions, **earlier})
                outputs = model.run(samples[-1])
                past.take(outputs, piece.start, piece.count)
                piece.state = outputs[name_state(number + 1)]
        return samples

    def list_states(self) -> list[Array]:
        """The states of all pieces."""
        return [piece.state for text in self._texts for piece in text]
