"""Quantizes a checkpoint layer by layer: one layer is in memory, and what it makes of a text."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.llm.forward import Weights, normalize, read_embeddings, read_layer, run_layer
from edgewright.llm.load.checkpoint import (
    EMBEDDING,
    FINAL_NORM,
    HEAD,
    Checkpoint,
    list_layer_shapes,
    name_layer_tensor,
)
from edgewright.llm.load.safetensors_file import StoredTensor
from edgewright.llm.matrix_errors import note_matrix_error
from edgewright.llm.recipe import BEST, FAST, Recipe
from edgewright.llm.rounding.codes import Codes, Grid
from edgewright.llm.rounding.gptq import Compensation
from edgewright.llm.rounding.refine import refine_codes
from edgewright.llm.rounding.scales import quantize_with_search

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
    texts = () if recipe.name == FAST else texts
    states = [read_embeddings(checkpoint, text) for text in texts]
    yield _quantize_rows(checkpoint.find(EMBEDDING), EMBEDDING, recipe, None)
    with announce_progress("quantizing layers", total=checkpoint.spec.layers) as step:
        for number in range(checkpoint.spec.layers):
            states = yield from _quantize_layer(checkpoint, recipe, number, states)
            step()
    gain = checkpoint.read(FINAL_NORM)
    yield Quantized(FINAL_NORM, iter([gain]))
    if not checkpoint.spec.is_tied:
        inputs = [normalize(state, gain, checkpoint.spec.norm_epsilon) for state in states]
        yield _quantize_rows(checkpoint.find(HEAD), HEAD, recipe, _sum_moments(inputs))


def list_tensor_names(checkpoint: Checkpoint) -> list[str]:
    """The tensors of the result, in the order in which they are made."""
    layers = [
        name_layer_tensor(number, name)
        for number in range(checkpoint.spec.layers)
        for name in list_layer_shapes(checkpoint.spec)
    ]
    return [EMBEDDING, *layers, FINAL_NORM, *([] if checkpoint.spec.is_tied else [HEAD])]


def _quantize_layer(
    checkpoint: Checkpoint, recipe: Recipe, number: int, states: list[Array]
) -> Generator[Quantized, None, list[Array]]:
    weights = read_layer(checkpoint, number)
    moments = _collect_moments(checkpoint, weights, states)
    for name in list(weights):
        full = name_layer_tensor(number, name)
        grid = recipe.find_grid(full) if weights[name].ndim == 2 else None
        if grid is None:
            yield Quantized(full, iter([weights[name]]))
            continue
        codes = _choose_codes(full, weights[name], grid, recipe, moments.get(name))
        weights[name] = codes.decode()
        yield Quantized(full, iter([codes]))
    # Layers to come are calibrated with what this one gives now.
    return [run_layer(checkpoint.spec, weights, state) for state in states]


def _collect_moments(checkpoint: Checkpoint, weights: Weights, states: Sequence[Array]) -> dict[str, Array]:
    """The products of inputs of each matrix, summed over all tokens."""
    moments: dict[str, Array] = {}

    def watch(name: str, inputs: Array) -> None:
        moments[name] = moments.get(name, np.float32(0)) + inputs.T @ inputs

    for state in states:
        run_layer(checkpoint.spec, weights, state, watch)
    return moments


def _sum_moments(inputs: Sequence[Array]) -> Array | None:
    return np.asarray(sum(part.T @ part for part in inputs)) if inputs else None


def _choose_codes(name: str, weights: Array, grid: Grid, recipe: Recipe, moments: Array | None) -> Codes:
    return next(_iterate_codes(name, iter([weights]), grid, recipe, moments))


def _quantize_rows(stored: StoredTensor, name: str, recipe: Recipe, moments: Array | None) -> Quantized:
    """A tall matrix, some rows at a time."""
    rows = max(1, PIECE // stored.shape[1])
    parts = (stored.read_rows(at, at + rows) for at in range(0, stored.shape[0], rows))
    grid = recipe.find_grid(name)
    return Quantized(name, parts if grid is None else _iterate_codes(name, parts, grid, recipe, moments))


def _iterate_codes(
    name: str, parts: Iterator[Array], grid: Grid, recipe: Recipe, moments: Array | None
) -> Iterator[Codes]:
    """8 bits are fine as they are; 4 need what the recipe says."""
    compensation = None if moments is None or grid.bits >= 8 else Compensation(moments)
    for part in parts:
        if compensation is None:
            codes = quantize_with_search(part, grid)
        else:
            codes = compensation.quantize(part, grid)
            codes = refine_codes(part, codes, compensation.moments) if recipe.name == BEST else codes
        note_matrix_error(name, part, codes, moments)
        yield codes
