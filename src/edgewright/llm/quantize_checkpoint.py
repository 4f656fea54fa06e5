"""Quantizes a checkpoint layer by layer: one layer is in memory, and what it makes of a text."""

import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from edgewright.core.errors import BadInput, Where
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.llm.arrays import Engine, fetch, find_library
from edgewright.llm.forward import (
    Weights,
    normalize,
    read_embeddings,
    read_layer,
    run_layer,
    run_side_by_side,
)
from edgewright.llm.layer_state import LayerState, open_layer_state
from edgewright.llm.load.checkpoint import (
    EMBEDDING,
    FINAL_NORM,
    HEAD,
    Checkpoint,
    list_layer_shapes,
    name_layer_tensor,
)
from edgewright.llm.load.gguf_model import GgufTensorView
from edgewright.llm.load.safetensors_file import StoredTensor
from edgewright.llm.matrix_errors import note_matrix_error
from edgewright.llm.moments import Moments
from edgewright.llm.recipe import BEST, FAST, Recipe
from edgewright.llm.rounding.codes import Codes, Grid
from edgewright.llm.rounding.refine import TURNS
from edgewright.llm.rounding.scales import quantize_with_search
from edgewright.llm.smoothing import smooth_layer

log = logging.getLogger(__name__)

# Values of a matrix that are in single precision at a time.
PIECE = 1 << 24
Piece = Codes | Array


@dataclass(frozen=True)
class Quantized:
    """A tensor of the result, in pieces of rows that are made as they are taken."""

    name: str
    pieces: Iterator[Piece]


@dataclass(frozen=True)
class TextStates:
    """What texts are after some layers, [tokens, values] of each."""

    # Through layers of codes; empty where nothing calibrates.
    rounded: list[Array]
    # Through the float layers; empty where the recipe does not look at them.
    floats: list[Array]


def quantize_checkpoint(
    checkpoint: Checkpoint, recipe: Recipe, texts: Sequence[Array] = ()
) -> Iterator[Quantized]:
    """All tensors, in the order of the layers; every piece must be taken before the next tensor.

    Args:
        checkpoint: what is quantized.
        recipe: how.
        texts: tokens that calibrate, piece by piece; the recipe 'fast' needs none.
    """
    needs_text = recipe.name != FAST or recipe.is_smoothed
    texts, engine = texts if needs_text else (), Engine(recipe.device)
    log.info("quantizing with %s", engine.name)
    states = _read_states(checkpoint, recipe, texts, engine)
    yield _quantize_rows(checkpoint.find(EMBEDDING), EMBEDDING, recipe, None, engine)
    state = open_layer_state(checkpoint, recipe, texts, engine.name)
    finished = 0 if state is None else state.count_layers(len(texts))
    with announce_progress("quantizing layers", total=checkpoint.spec.layers) as step:
        for number in range(checkpoint.spec.layers):
            if state is None:
                states = yield from _quantize_layer(checkpoint, recipe, number, states, engine)
            elif number < finished:
                yield from _take_kept_layer(checkpoint, recipe, number, state)
                if number + 1 == finished and texts:
                    states = _restore_states(state, number, states, engine)
            else:
                layer = _quantize_layer(checkpoint, recipe, number, states, engine)
                states = yield from _keep_layer(layer, number, state)
            step()
    gain = checkpoint.read(FINAL_NORM)
    yield Quantized(FINAL_NORM, iter([gain]))
    if not checkpoint.spec.is_tied:
        moments = _watch_head(checkpoint, recipe, engine.take(gain), states)
        yield _quantize_rows(checkpoint.find(HEAD), HEAD, recipe, moments, engine)


def list_tensor_names(checkpoint: Checkpoint) -> list[str]:
    """The tensors of the result, in the order in which they are made."""
    layers = [
        name_layer_tensor(number, name)
        for number in range(checkpoint.spec.layers)
        for name in list_layer_shapes(checkpoint.spec)
    ]
    return [EMBEDDING, *layers, FINAL_NORM, *([] if checkpoint.spec.is_tied else [HEAD])]


def _read_states(
    checkpoint: Checkpoint, recipe: Recipe, texts: Sequence[Array], engine: Engine
) -> TextStates:
    """What texts are before the first layer."""
    floats = [engine.take(read_embeddings(checkpoint, text)) for text in texts]
    if recipe.name != BEST:
        return TextStates(floats, [])
    # A tied one is wide, in each format in its own way; layers have the same codes in all.
    grid = None if checkpoint.spec.is_tied else recipe.find_grid(EMBEDDING)
    # Rows know nothing of each other: these are those of the embedding.
    rounded = floats if grid is None else [quantize_with_search(text, grid).decode() for text in floats]
    return TextStates(rounded, floats)


def _restore_states(state: LayerState, number: int, like: TextStates, engine: Engine) -> TextStates:
    """As an earlier run has left them."""
    count = len(like.rounded)
    arrays = [engine.take(array) for array in state.read_states(number, count + len(like.floats))]
    return TextStates(arrays[:count], arrays[count:])


def _watch_head(checkpoint: Checkpoint, recipe: Recipe, gain: Array, states: TextStates) -> Moments | None:
    rounded, floats = (
        [normalize(text, gain, checkpoint.spec.norm_epsilon) for text in texts]
        for texts in (states.rounded, states.floats)
    )
    return Moments(rounded, floats, _find_span(recipe)) if rounded else None


def _find_span(recipe: Recipe) -> int:
    """Columns that must not be parted; 0: all."""
    return 0 if recipe.has_precision("lpbq") else recipe.block


def _quantize_layer(
    checkpoint: Checkpoint, recipe: Recipe, number: int, states: TextStates, engine: Engine
) -> Generator[Quantized, None, TextStates]:
    weights = {name: engine.take(array) for name, array in read_layer(checkpoint, number).items()}
    if recipe.is_smoothed and states.rounded:
        moments = _collect_moments(checkpoint, weights, states.rounded)
        weights, _ = _smooth(checkpoint, recipe, number, weights, moments)
    layer = _Layer(recipe, number, dict(weights))
    if states.rounded:
        # What a matrix is calibrated with has passed through those before it as they are now.
        runs = [(layer.weights, states.rounded), *([(weights, states.floats)] if states.floats else [])]
        finals = run_side_by_side(checkpoint.spec, runs, layer.prepare)
        states = TextStates(finals[0], finals[1] if states.floats else [])
    for name in weights:
        yield Quantized(name_layer_tensor(number, name), iter([layer.finish(name)]))
    return states


class _Layer:
    """The codes of a layer's matrices, each chosen once its inputs are known.

    Args:
        recipe: how.
        number: of the layer.
        weights: its tensors; what the codes stand for takes their places.
    """

    def __init__(self, recipe: Recipe, number: int, weights: dict[str, Array]) -> None:
        self.weights = weights
        self._recipe, self._number = recipe, number
        self._codes: dict[str, Codes] = {}
        self._inputs: Sequence[Array] = ()
        self._moments: Moments | None = None

    def prepare(self, name: str, runs: Sequence[Sequence[Array]]) -> None:
        """Chooses the codes of a matrix for what it will be multiplied with, and float inputs beside it."""
        if runs[0] is not self._inputs:
            # Matrices side by side have the same.
            floats = runs[1] if len(runs) > 1 else ()
            self._inputs, self._moments = runs[0], Moments(runs[0], floats, _find_span(self._recipe))
        self._quantize(name, self._moments)
        if name in self._codes:
            # The floats are needed no more, unless they are what a float run goes through.
            into = self.weights[name] if len(runs) == 1 else None
            self.weights[name] = self._codes[name].decode(into)

    def finish(self, name: str) -> Piece:
        """A tensor as it is written; of a matrix that was not prepared, codes without a text."""
        if name not in self._codes:
            self._quantize(name, None)
        return self._codes[name].fetch() if name in self._codes else fetch(self.weights[name])

    def _quantize(self, name: str, moments: Moments | None) -> None:
        values, full = self.weights[name], name_layer_tensor(self._number, name)
        grid = self._recipe.find_grid(full) if values.ndim == 2 else None
        if grid is not None:
            self._codes[name] = next(_iterate_codes(full, iter([values]), grid, self._recipe, moments))


def _smooth(
    checkpoint: Checkpoint, recipe: Recipe, number: int, weights: Weights, moments: dict[str, Array]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Of matrices in few bits; the others lose nothing."""
    all_grids = {name: recipe.find_grid(name_layer_tensor(number, name)) for name in moments}
    grids = {name: grid for name, grid in all_grids.items() if grid is not None and grid.bits <= 4}
    return smooth_layer(checkpoint.spec, weights, moments, grids)


def _take_kept_layer(
    checkpoint: Checkpoint, recipe: Recipe, number: int, state: LayerState
) -> Iterator[Quantized]:
    """A layer that an earlier run has finished."""
    shapes = list_layer_shapes(checkpoint.spec)
    names = {name_layer_tensor(number, name): len(shape) for name, shape in shapes.items()}
    grids = {name: recipe.find_grid(name) if rank == 2 else None for name, rank in names.items()}
    for name, piece in state.read_layer(number, grids).items():
        yield Quantized(name, iter([piece]))


def _keep_layer(
    layer: Generator[Quantized, None, TextStates], number: int, state: LayerState
) -> Generator[Quantized, None, TextStates]:
    """Passes a layer on, and keeps it."""
    pieces: dict[str, Piece] = {}
    finals: list[TextStates] = []

    def run() -> Iterator[Quantized]:
        finals.append((yield from layer))

    for tensor in run():
        (pieces[tensor.name],) = tensor.pieces
        yield Quantized(tensor.name, iter([pieces[tensor.name]]))
    state.write_layer(number, pieces, [fetch(array) for array in (*finals[0].rounded, *finals[0].floats)])
    return finals[0]


def _collect_moments(checkpoint: Checkpoint, weights: Weights, states: Sequence[Array]) -> dict[str, Array]:
    """The products of inputs of each matrix, summed over all tokens."""
    moments: dict[str, Array] = {}

    def watch(name: str, inputs: Array) -> None:
        products = inputs.T @ inputs
        moments[name] = products if name not in moments else moments[name] + products

    for state in states:
        run_layer(checkpoint.spec, weights, state, watch)
    return moments


def _quantize_rows(
    stored: StoredTensor | GgufTensorView,
    name: str,
    recipe: Recipe,
    moments: Moments | None,
    engine: Engine,
) -> Quantized:
    """A tall matrix, some rows at a time."""
    rows = max(1, PIECE // stored.shape[1])
    parts = (stored.read_rows(at, at + rows) for at in range(0, stored.shape[0], rows))
    grid = recipe.find_grid(name)
    if grid is None:
        return Quantized(name, parts)
    codes = _iterate_codes(name, map(engine.take, parts), grid, recipe, moments)
    return Quantized(name, (part.fetch() for part in codes))


def _iterate_codes(
    name: str, parts: Iterator[Array], grid: Grid, recipe: Recipe, moments: Moments | None
) -> Iterator[Codes]:
    """Of some rows after others: more than 4 bits are fine as they are; 4 need what the recipe says."""
    is_plain = moments is None or grid.bits > 4 or recipe.name == FAST
    for part in parts:
        if not bool(find_library(part).isfinite(part).all()):
            raise BadInput("the weights hold values that are not finite", Where(tensor=name))
        aim = part if moments is None else moments.correct(part)
        if moments is None or is_plain:
            codes = quantize_with_search(aim, grid)
        else:
            codes = moments.quantize(aim, grid, TURNS if recipe.name == BEST else 0)
        note_matrix_error(name, aim, codes, None if moments is None else moments.measure)
        yield codes
