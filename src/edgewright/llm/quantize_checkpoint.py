"""Quantizes a checkpoint layer by layer: one layer is in memory, and what it makes of a text."""

import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from edgewright.core.errors import BadInput, Where
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.llm.arrays import Engine, fetch, find_library
from edgewright.llm.forward import Weights, normalize, read_embeddings, read_layer, run_layer, run_texts
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
from edgewright.llm.recipe import BEST, FAST, Recipe
from edgewright.llm.rounding.codes import Codes, Grid
from edgewright.llm.rounding.gptq import Compensation
from edgewright.llm.rounding.refine import TURNS
from edgewright.llm.rounding.scales import quantize_with_search
from edgewright.llm.smoothing import smooth_layer

log = logging.getLogger(__name__)

# Values of a matrix that are in single precision at a time.
PIECE = 1 << 24
# Texts whose products are summed at once.
TEXTS = 16
Piece = Codes | Array


class Moments:
    """Sums over tokens of the products of inputs, [columns, columns], and what GPTQ makes of them."""

    def __init__(self, products: Array) -> None:
        self.products = products

    @cached_property
    def compensation(self) -> Compensation:
        """Made once for matrices that take the same inputs."""
        return Compensation(self.products)


@dataclass(frozen=True)
class Quantized:
    """A tensor of the result, in pieces of rows that are made as they are taken."""

    name: str
    pieces: Iterator[Piece]


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
    states = [engine.take(read_embeddings(checkpoint, text)) for text in texts]
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
                    states = [engine.take(array) for array in state.read_states(number, len(texts))]
            else:
                layer = _quantize_layer(checkpoint, recipe, number, states, engine)
                states = yield from _keep_layer(layer, number, state)
            step()
    gain = checkpoint.read(FINAL_NORM)
    yield Quantized(FINAL_NORM, iter([gain]))
    if not checkpoint.spec.is_tied:
        inputs = [normalize(state, engine.take(gain), checkpoint.spec.norm_epsilon) for state in states]
        moments = Moments(_sum_products(inputs)) if inputs else None
        yield _quantize_rows(checkpoint.find(HEAD), HEAD, recipe, moments, engine)


def list_tensor_names(checkpoint: Checkpoint) -> list[str]:
    """The tensors of the result, in the order in which they are made."""
    layers = [
        name_layer_tensor(number, name)
        for number in range(checkpoint.spec.layers)
        for name in list_layer_shapes(checkpoint.spec)
    ]
    return [EMBEDDING, *layers, FINAL_NORM, *([] if checkpoint.spec.is_tied else [HEAD])]


def _quantize_layer(
    checkpoint: Checkpoint, recipe: Recipe, number: int, states: list[Array], engine: Engine
) -> Generator[Quantized, None, list[Array]]:
    weights = {name: engine.take(array) for name, array in read_layer(checkpoint, number).items()}
    if recipe.is_smoothed and states:
        moments = _collect_moments(checkpoint, weights, states)
        weights, _ = _smooth(checkpoint, recipe, number, weights, moments)
    layer = _Layer(recipe, number, weights)
    # What a matrix is calibrated with has passed through those before it as they are now.
    states = run_texts(checkpoint.spec, weights, states, layer.prepare) if states else []
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
        self._recipe, self._number, self._weights = recipe, number, weights
        self._codes: dict[str, Codes] = {}
        self._inputs: Sequence[Array] = ()
        self._moments: Moments | None = None

    def prepare(self, name: str, inputs: Sequence[Array]) -> None:
        """Chooses the codes of a matrix for what it will be multiplied with."""
        if inputs is not self._inputs:
            # Matrices side by side have the same.
            self._inputs, self._moments = inputs, Moments(_sum_products(inputs))
        self._quantize(name, self._moments)

    def finish(self, name: str) -> Piece:
        """A tensor as it is written; of a matrix that was not prepared, codes without a text."""
        if name not in self._codes:
            self._quantize(name, None)
        return self._codes[name].fetch() if name in self._codes else fetch(self._weights[name])

    def _quantize(self, name: str, moments: Moments | None) -> None:
        values, full = self._weights[name], name_layer_tensor(self._number, name)
        grid = self._recipe.find_grid(full) if values.ndim == 2 else None
        if grid is not None:
            parts = _iterate_codes(full, iter([values]), grid, self._recipe, moments)
            self._codes[name], self._weights[name] = next(parts)


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
    layer: Generator[Quantized, None, list[Array]], number: int, state: LayerState
) -> Generator[Quantized, None, list[Array]]:
    """Passes a layer on, and keeps it."""
    pieces: dict[str, Piece] = {}
    states: list[Array] = []

    def run() -> Iterator[Quantized]:
        states.extend((yield from layer))

    for tensor in run():
        (pieces[tensor.name],) = tensor.pieces
        yield Quantized(tensor.name, iter([pieces[tensor.name]]))
    state.write_layer(number, pieces, [fetch(array) for array in states])
    return states


def _collect_moments(checkpoint: Checkpoint, weights: Weights, states: Sequence[Array]) -> dict[str, Array]:
    """The products of inputs of each matrix, summed over all tokens."""
    moments: dict[str, Array] = {}

    def watch(name: str, inputs: Array) -> None:
        products = inputs.T @ inputs
        moments[name] = products if name not in moments else moments[name] + products

    for state in states:
        run_layer(checkpoint.spec, weights, state, watch)
    return moments


def _sum_products(inputs: Sequence[Array]) -> Array:
    """Of all tokens, many texts at a time."""
    library = find_library(inputs[0])
    products: Array | None = None
    for start in range(0, len(inputs), TEXTS):
        joined = library.concatenate(inputs[start : start + TEXTS], axis=0)
        part: Array = joined.T @ joined
        products = part if products is None else products + part
    assert products is not None
    return products


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
    return Quantized(name, (part.fetch() for part, _ in codes))


def _iterate_codes(
    name: str, parts: Iterator[Array], grid: Grid, recipe: Recipe, moments: Moments | None
) -> Iterator[tuple[Codes, Array]]:
    """Codes and what they stand for: more than 4 bits are fine as they are; 4 need what the recipe says."""
    is_plain = moments is None or grid.bits > 4 or recipe.name == FAST
    compensation = None if moments is None or is_plain else moments.compensation
    for part in parts:
        if not bool(find_library(part).isfinite(part).all()):
            raise BadInput("the weights hold values that are not finite", Where(tensor=name))
        if compensation is None:
            codes = quantize_with_search(part, grid)
        else:
            codes = compensation.quantize(part, grid, TURNS if recipe.name == BEST else 0)
        values = codes.decode()
        note_matrix_error(name, (part, values), codes, None if moments is None else moments.products)
        yield codes, values
