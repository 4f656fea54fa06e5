"""Quantizes a checkpoint layer by layer: one layer is in memory, and what it makes of a text."""

import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from edgewright.core.errors import BadInput, Where
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.llm.arrays import Engine, fetch, find_library
from edgewright.llm.forward import Weights, normalize, read_embeddings, read_layer, run_layer
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
Piece = Codes | Array


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
        yield _quantize_rows(checkpoint.find(HEAD), HEAD, recipe, _sum_moments(inputs), engine)


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
    moments = _collect_moments(checkpoint, weights, states)
    if recipe.is_smoothed and moments:
        weights, moments = _smooth(checkpoint, recipe, number, weights, moments)
    for name in list(weights):
        full = name_layer_tensor(number, name)
        grid = recipe.find_grid(full) if weights[name].ndim == 2 else None
        if grid is None:
            yield Quantized(full, iter([fetch(weights[name])]))
            continue
        codes = _choose_codes(full, weights[name], grid, recipe, moments.get(name))
        weights[name] = codes.decode()
        yield Quantized(full, iter([codes.fetch()]))
    # Layers to come are calibrated with what this one gives now.
    return [run_layer(checkpoint.spec, weights, state) for state in states]


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


def _sum_moments(inputs: Sequence[Array]) -> Array | None:
    return sum(part.T @ part for part in inputs) if inputs else None  # type: ignore[return-value]


def _choose_codes(name: str, weights: Array, grid: Grid, recipe: Recipe, moments: Array | None) -> Codes:
    return next(_iterate_codes(name, iter([weights]), grid, recipe, moments))


def _quantize_rows(
    stored: StoredTensor | GgufTensorView, name: str, recipe: Recipe, moments: Array | None, engine: Engine
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
    name: str, parts: Iterator[Array], grid: Grid, recipe: Recipe, moments: Array | None
) -> Iterator[Codes]:
    """More than 4 bits are fine as they are; 4 need what the recipe says."""
    is_plain = moments is None or grid.bits > 4 or recipe.name == FAST
    compensation = None if moments is None or is_plain else Compensation(moments)
    for part in parts:
        if not bool(find_library(part).isfinite(part).all()):
            raise BadInput("the weights hold values that are not finite", Where(tensor=name))
        if compensation is None:
            codes = quantize_with_search(part, grid)
        else:
            codes = compensation.quantize(part, grid, TURNS if recipe.name == BEST else 0)
        note_matrix_error(name, part, codes, moments)
        yield codes
