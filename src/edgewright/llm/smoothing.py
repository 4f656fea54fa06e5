"""AWQ: inputs that are large get finer weights; what weights are multiplied by is divided out before them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.arrays import find_library
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.rounding.codes import Grid
from edgewright.llm.rounding.refine import measure_row_errors
from edgewright.llm.rounding.scales import quantize_to_nearest, quantize_with_search

# How strongly the size of inputs counts: 0 is not at all.
STRENGTHS = np.linspace(0.0, 1.0, 11)
# Columns are multiplied by no more than this, and by no less than its inverse.
LARGEST_FACTOR = 100.0
# Codes of a few rows tell which strength is best.
MOST_ROWS = 2048


@dataclass(frozen=True)
class Link:
    """Matrices that take the same input, and what gives it: rows of that are divided by their factors."""

    takers: tuple[str, ...]
    giver: str
    # The rows of the giver; None: it is a norm.
    rows: slice | None = None
    # How many times each row of the giver is an input, group by group.
    repeats: int = 1


def smooth_layer(
    spec: ModelSpec, weights: Mapping[str, Array], moments: Mapping[str, Array], grids: Mapping[str, Grid]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Weights of a layer that mean the same and lose less on their grids, and the moments of their inputs.

    Args:
        spec: what the model is.
        weights: of the layer.
        moments: of the inputs of each matrix.
        grids: of the matrices that are rounded.
    """
    smooth, changed = dict(weights), dict(moments)
    for link in _list_links(spec):
        if not all(name in grids for name in link.takers):
            continue
        first = link.takers[0]
        factors = _choose_factors(
            [smooth[name] for name in link.takers], changed[first], grids[first], link, spec
        )
        if factors is None:
            continue
        for name in link.takers:
            smooth[name] = smooth[name] * factors
            changed[name] = changed[name] / factors[:, None] / factors[None, :]
        _divide_giver(smooth, link, factors, spec)
    return smooth, changed


def _list_links(spec: ModelSpec) -> list[Link]:
    attention: tuple[str, ...]
    feed: tuple[str, ...]
    if spec.is_fused:
        attention, feed = ("self_attn.qkv_proj",), ("mlp.gate_up_proj",)
        values = slice(spec.query_rows + spec.key_rows, spec.query_rows + 2 * spec.key_rows)
        ups = slice(spec.intermediate, 2 * spec.intermediate)
    else:
        attention = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
        feed, values, ups = ("mlp.gate_proj", "mlp.up_proj"), slice(None), slice(None)
    # Those that change rows come first: norms then see the rows as they are.
    return [
        Link(("mlp.down_proj.weight",), feed[-1], ups),
        Link(("self_attn.o_proj.weight",), attention[-1], values, spec.heads // spec.kv_heads),
        Link(tuple(f"{name}.weight" for name in attention), "input_layernorm"),
        Link(tuple(f"{name}.weight" for name in feed), "post_attention_layernorm"),
    ]


def _choose_factors(
    matrices: Sequence[Array], moments: Array, grid: Grid, link: Link, spec: ModelSpec
) -> Array | None:
    """The factors of columns that leave the least error in the products; None where none are better."""
    library = find_library(moments)
    sizes = _share_repeats(library.sqrt(library.diagonal(moments) + 1e-12), link, spec)
    rows = library.concatenate([matrix[:: max(1, len(matrix) // MOST_ROWS)] for matrix in matrices], axis=0)
    best, least = None, float("inf")
    for strength in STRENGTHS.tolist():
        factors = sizes**strength
        factors = factors / library.exp(library.mean(library.log(factors)))
        factors = library.clip(factors, 1 / LARGEST_FACTOR, LARGEST_FACTOR)
        error = _measure_error(rows * factors, moments / factors[:, None] / factors[None, :], grid)
        if error < least:
            best, least = (None if strength == 0 else factors), error
    return best


def _share_repeats(sizes: Array, link: Link, spec: ModelSpec) -> Array:
    """Heads that share values have the same factors."""
    if link.repeats == 1:
        return sizes
    groups = sizes.reshape(spec.kv_heads, link.repeats, -1)
    shared: Array = 0.0 * groups + groups.mean(axis=1)[:, None]
    return shared.reshape(-1)


def _measure_error(rows: Array, moments: Array, grid: Grid) -> float:
    quantize = quantize_to_nearest if grid.nesting is None else quantize_with_search
    return float(measure_row_errors(rows, quantize(rows, grid), moments).sum())


def _divide_giver(smooth: dict[str, Array], link: Link, factors: Array, spec: ModelSpec) -> None:
    """What the takers are multiplied by is divided out here."""
    if link.rows is None:
        smooth[f"{link.giver}.weight"] = smooth[f"{link.giver}.weight"] / factors
        return
    if link.repeats > 1:
        factors = factors.reshape(spec.kv_heads, link.repeats, -1)[:, 0].reshape(-1)
    for ending in ("weight", "bias"):
        name = f"{link.giver}.{ending}"
        if name in smooth:
            whole = smooth[name] + 0.0
            whole[link.rows] /= factors[:, None] if whole.ndim == 2 else factors
            smooth[name] = whole
