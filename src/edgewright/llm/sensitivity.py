"""Which matrices need more bits: each is rounded alone, and what the model then says is compared."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from edgewright.core.errors import UsageError
from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array
from edgewright.llm.arrays import Engine, find_library
from edgewright.llm.forward import normalize, read_embeddings, read_layer, run_layer
from edgewright.llm.load.checkpoint import EMBEDDING, FINAL_NORM, HEAD, Checkpoint, name_layer_tensor
from edgewright.llm.recipe import Recipe
from edgewright.llm.rounding.codes import Grid
from edgewright.llm.rounding.scales import quantize_with_search

# Tokens that are run for every matrix: each passes through all layers after it.
MOST_TOKENS = 2048
# What a matrix gets in place of few bits.
WIDER = {"int4": "int8", "q4_k": "q6_k", "lpbq": "int8"}
States = list[Array]


def widen_sensitive(
    checkpoint: Checkpoint, recipe: Recipe, texts: Sequence[Array], bits: float
) -> tuple[Recipe, dict[str, float]]:
    """The recipe with more bits for the matrices that gain most by them, and the divergence of each alone.

    Args:
        checkpoint: what will be quantized.
        recipe: with all that its format adds.
        texts: tokens that the model reads.
        bits: of a weight, on the average over all matrices, scales included.
    """
    sizes = {name: tensor.shape for name, tensor in checkpoint.tensors.items() if len(tensor.shape) == 2}
    total = sum(rows * columns for rows, columns in sizes.values())
    room = bits * total - sum(_count_bits(recipe, name, shape) for name, shape in sizes.items())
    if room < 0:
        raise UsageError(
            f"{bits:g} bits a weight are fewer than the {bits - room / total:.2f} of this recipe",
            do="give more with --mixed, or keep fewer matrices wide",
        )
    divergences = measure_sensitivity(checkpoint, recipe, _take_tokens(texts))
    costs = {name: _count_extra_bits(recipe, name, sizes[name]) for name in divergences}
    keep = dict(recipe.keep)
    for name in sorted(divergences, key=lambda name: divergences[name] / costs[name], reverse=True):
        if costs[name] <= room:
            room -= costs[name]
            keep = {name: WIDER[recipe.find_precision(name)], **keep}
    return replace(recipe, keep=keep), divergences


def measure_sensitivity(checkpoint: Checkpoint, recipe: Recipe, texts: Sequence[Array]) -> dict[str, float]:
    """Of each matrix in few bits: nats by which the model says something else when it alone is rounded."""
    engine, spec = Engine(recipe.device), checkpoint.spec
    float_states = [engine.take(read_embeddings(checkpoint, text)) for text in texts]
    variants: dict[str, States] = {}
    if _find_few(recipe, EMBEDDING) is not None:
        # Rows know nothing of each other: those of other tokens are not needed.
        variants[EMBEDDING] = [_round(state, _find_few(recipe, EMBEDDING)) for state in float_states]
    with announce_progress("measuring sensitivity", total=spec.layers) as step:
        for number in range(spec.layers):
            weights = {name: engine.take(array) for name, array in read_layer(checkpoint, number).items()}
            fresh = {}
            for name, values in weights.items():
                full = name_layer_tensor(number, name)
                grid = _find_few(recipe, full) if values.ndim == 2 else None
                if grid is not None:
                    changed = {**weights, name: _round(values, grid)}
                    fresh[full] = [run_layer(spec, changed, state) for state in float_states]
            variants = {
                name: [run_layer(spec, weights, state) for state in states]
                for name, states in variants.items()
            }
            variants |= fresh
            float_states = [run_layer(spec, weights, state) for state in float_states]
            step()
    return _compare_logits(checkpoint, recipe, engine, float_states, variants)


def _compare_logits(
    checkpoint: Checkpoint, recipe: Recipe, engine: Engine, states: States, variants: Mapping[str, States]
) -> dict[str, float]:
    """The mean divergence of what each variant says from what the float model says."""
    gain, head = engine.take(checkpoint.read(FINAL_NORM)), engine.take(checkpoint.read(checkpoint.head))
    epsilon = checkpoint.spec.norm_epsilon
    sums, count = dict.fromkeys(variants, 0.0), 0
    grid = None if checkpoint.spec.is_tied else _find_few(recipe, HEAD)
    rounded = None if grid is None else _round(head, grid)
    for number, state in enumerate(states):
        normal = normalize(state, gain, epsilon)
        expected = _normalize_logits(normal @ head.T)
        count += len(state)
        for name, others in variants.items():
            logits = normalize(others[number], gain, epsilon) @ head.T
            sums[name] += _sum_divergence(expected, logits)
        if rounded is not None:
            sums[HEAD] = sums.get(HEAD, 0.0) + _sum_divergence(expected, normal @ rounded.T)
    return {name: total / count for name, total in sums.items()}


def _sum_divergence(expected: Array, logits: Array) -> float:
    library = find_library(logits)
    return float((library.exp(expected) * (expected - _normalize_logits(logits))).sum())


def _normalize_logits(logits: Array) -> Array:
    library = find_library(logits)
    shifted = logits - library.amax(logits, axis=-1, keepdims=True)
    normal: Array = shifted - library.log(library.exp(shifted).sum(axis=-1, keepdims=True))
    return normal


def _round(values: Array, grid: Grid | None) -> Array:
    assert grid is not None
    return quantize_with_search(values, grid).decode()


def _find_few(recipe: Recipe, name: str) -> Grid | None:
    """The grid of a matrix that could have more bits and of which the user says nothing."""
    is_free = recipe.find_precision(name) in WIDER and not recipe.is_kept(name)
    return recipe.find_grid(name) if is_free else None


def _count_bits(recipe: Recipe, name: str, shape: tuple[int, ...]) -> float:
    grid = recipe.find_grid(name)
    each = (
        grid.count_bits(shape[1]) if grid is not None else 16 if recipe.find_precision(name) == "fp16" else 32
    )
    return each * shape[0] * shape[1]


def _count_extra_bits(recipe: Recipe, name: str, shape: tuple[int, ...]) -> float:
    wide = replace(recipe, keep={name: WIDER[recipe.find_precision(name)], **recipe.keep})
    return _count_bits(wide, name, shape) - _count_bits(recipe, name, shape)


def _take_tokens(texts: Sequence[Array]) -> list[Array]:
    """Pieces from all over the text."""
    count = max(1, MOST_TOKENS // max(map(len, texts), default=MOST_TOKENS))
    places = np.unique(np.linspace(0, len(texts) - 1, min(count, len(texts))).astype(int))
    return [texts[place] for place in places]
