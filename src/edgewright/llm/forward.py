"""The float model, layer by layer: what calibration looks at and what quantized weights are compared with."""

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.arrays import find_library, move_like
from edgewright.llm.load.checkpoint import (
    EMBEDDING,
    FINAL_NORM,
    HEAD,
    Checkpoint,
    list_layer_shapes,
    name_layer_tensor,
)
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.rotary import make_rotary_tables, turn_heads
from edgewright.llm.threads import map_in_threads, share_among_cores

LEAST = -1e30
# Texts that are within a layer at once.
TEXTS = 16

# Tokens that are multiplied at once, and rows of a matrix that a core takes.
TOKENS, ROWS = 1024, 384

# Gets the name of a matrix and what it is multiplied with, [tokens, values].
Watch = Callable[[str, Array], None]
# The same with the inputs of all texts of each run.
Prepare = Callable[[str, Sequence[Sequence[Array]]], None]
Weights = Mapping[str, Array]
# Names of matrices, and what all texts give them.
Step = tuple[list[str], list[Array]]


def read_layer(checkpoint: Checkpoint, number: int) -> dict[str, Array]:
    """The tensors of one layer by their names within it."""
    names = list(list_layer_shapes(checkpoint.spec))
    arrays = share_among_cores(lambda name: checkpoint.read(name_layer_tensor(number, name)), names)
    return dict(zip(names, arrays, strict=True))


def read_embeddings(checkpoint: Checkpoint, tokens: Array) -> Array:
    """The state of each token before the first layer."""
    return checkpoint.find(EMBEDDING).pick_rows(tokens)


def run_layer(spec: ModelSpec, weights: Weights, state: Array, watch: Watch | None = None) -> Array:
    """The state [tokens, values] of one text after a layer."""
    prepare = None if watch is None else lambda name, runs: watch(name, runs[0][0])
    return run_side_by_side(spec, [(weights, [state])], prepare)[0][0]


def run_texts(spec: ModelSpec, weights: Weights, states: Sequence[Array]) -> list[Array]:
    """The states of all texts after a layer."""
    return run_side_by_side(spec, [(weights, states)])[0]


def run_side_by_side(
    spec: ModelSpec, runs: Sequence[tuple[Weights, Sequence[Array]]], prepare: Prepare | None = None
) -> list[list[Array]]:
    """The states of all texts after a layer, of each run.

    Args:
        spec: what the model is.
        runs: weights of the layer, and the states [tokens, values] of each text before it.
        prepare: is told what each matrix will be multiplied with in every run, before it is, and may put
            other weights in its place.
    """
    finals: list[list[Array]] = [[] for _ in runs]

    def walk(weights: Weights, states: Sequence[Array], end: list[Array]) -> Iterator[Step]:
        end.extend((yield from _iterate_steps(spec, weights, states)))

    for steps in zip(*(walk(*run, end) for run, end in zip(runs, finals, strict=True)), strict=True):
        for name in steps[0][0]:
            if prepare is not None:
                prepare(f"{name}.weight", [inputs for _, inputs in steps])
    return finals


def _iterate_steps(
    spec: ModelSpec, weights: Weights, states: Sequence[Array]
) -> Generator[Step, None, list[Array]]:
    """Stops before matrices are multiplied with their inputs."""
    normals = _normalize_texts(spec, states, weights["input_layernorm.weight"])
    yield _name_projections(spec), normals
    projected = _multiply_texts(weights, _name_projections(spec), normals)
    mixed = map_in_threads(partial(_attend, spec, weights), projected)
    yield ["self_attn.o_proj"], mixed
    states = _add_products(states, weights, "self_attn.o_proj", mixed)
    normals = _normalize_texts(spec, states, weights["post_attention_layernorm.weight"])
    yield _name_gates(spec), normals
    inner = map_in_threads(partial(_gate, spec), _multiply_texts(weights, _name_gates(spec), normals))
    yield ["mlp.down_proj"], inner
    return _add_products(states, weights, "mlp.down_proj", inner)


def iterate_float_logits(checkpoint: Checkpoint, texts: Sequence[Array]) -> Iterator[Array]:
    """The logits after each token of each text, one layer in memory."""
    states = [read_embeddings(checkpoint, text) for text in texts]
    for number in range(checkpoint.spec.layers):
        weights = read_layer(checkpoint, number)
        states = [
            state
            for start in range(0, len(states), TEXTS)
            for state in run_texts(checkpoint.spec, weights, states[start : start + TEXTS])
        ]
    gain, head = checkpoint.read(FINAL_NORM), checkpoint.read(checkpoint.head)
    for state in states:
        yield np.asarray(normalize(state, gain, checkpoint.spec.norm_epsilon) @ head.T)


def measure_text(checkpoint: Checkpoint, state: Array, targets: Array, head: Array | None = None) -> Array:
    """How unlikely each next token is, in nats, from the state after the last layer."""
    normal = normalize(state, checkpoint.read(FINAL_NORM), checkpoint.spec.norm_epsilon)
    logits = normal @ (checkpoint.read(HEAD) if head is None else head).T
    return compute_losses(logits, targets)


def compute_losses(logits: Array, targets: Array) -> Array:
    """The negative logarithm of each target's probability."""
    largest = logits.max(axis=-1, keepdims=True)
    totals = np.log(np.exp(logits - largest).sum(axis=-1, dtype=np.float64)) + largest[:, 0]
    return np.asarray(totals - logits[np.arange(len(targets)), targets])


def cut_windows(tokens: Array, length: int, most: int | None = None) -> list[tuple[Array, Array]]:
    """Pieces of a text, each with the tokens that follow."""
    starts = range(0, len(tokens) - length, length)
    pieces = [(tokens[at : at + length], tokens[at + 1 : at + length + 1]) for at in starts]
    return pieces[:most]


def normalize(state: Array, gain: Array, epsilon: float) -> Array:
    """By the root of the mean square."""
    library = find_library(state)
    mean = library.mean(state * state, axis=-1, keepdims=True)
    normal: Array = state / library.sqrt(mean + epsilon) * gain
    return normal


def _normalize_texts(spec: ModelSpec, states: Sequence[Array], gain: Array) -> list[Array]:
    return [normalize(state, gain, spec.norm_epsilon) for state in states]


def _attend(spec: ModelSpec, weights: Weights, projected: Array) -> Array:
    """What the heads take from the values of earlier tokens, [tokens, values]."""
    library, tokens = find_library(projected), len(projected)
    queries, keys, values = _part_heads(spec, weights, projected)
    cosines, sines = (move_like(table, projected) for table in make_rotary_tables(spec, tokens))
    queries, keys = (turn_heads(part, cosines, sines) for part in (queries, keys))
    # Heads that share keys and values stand together.
    queries = queries.reshape(spec.kv_heads, -1, tokens, spec.head_dim)
    scores = queries @ keys[:, None].swapaxes(2, 3) / math.sqrt(spec.head_dim)
    scores = library.where(move_like(_list_visible(tokens, spec.window), projected), scores, LEAST)
    shares = library.exp(scores - library.amax(scores, axis=-1, keepdims=True))
    shares = shares / library.sum(shares, axis=-1, keepdims=True)
    mixed: Array = (shares @ values[:, None]).reshape(spec.heads, tokens, -1)
    return mixed.swapaxes(0, 1).reshape(tokens, -1)


def _list_visible(tokens: int, window: int) -> Array:
    """Which earlier tokens each token looks at."""
    back = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
    return np.asarray((back >= 0) & ((back < window) if window else True))


def _name_projections(spec: ModelSpec) -> list[str]:
    return [f"self_attn.{name}_proj" for name in (("qkv",) if spec.is_fused else ("q", "k", "v"))]


def _name_gates(spec: ModelSpec) -> list[str]:
    return [f"mlp.{name}_proj" for name in (("gate_up",) if spec.is_fused else ("gate", "up"))]


def _part_heads(spec: ModelSpec, weights: Weights, projected: Array) -> tuple[Array, Array, Array]:
    """Queries, keys and values as [heads, tokens, values]."""
    borders = (0, spec.query_rows, spec.query_rows + spec.key_rows, spec.query_rows + 2 * spec.key_rows)
    queries, keys, values = (
        projected[:, start:stop].reshape(len(projected), -1, spec.head_dim).swapaxes(0, 1)
        for start, stop in pairwise(borders)
    )
    if spec.has_qk_norm:
        queries = normalize(queries, weights["self_attn.q_norm.weight"], spec.norm_epsilon)
        keys = normalize(keys, weights["self_attn.k_norm.weight"], spec.norm_epsilon)
    return queries, keys, values


def _gate(spec: ModelSpec, both: Array) -> Array:
    """What goes down again, [tokens, values], of gates and ups side by side."""
    gates, ups = both[:, : spec.intermediate], both[:, spec.intermediate :]
    inner: Array = gates / (1 + find_library(both).exp(-gates)) * ups
    return inner


def _add_products(
    states: Sequence[Array], weights: Weights, name: str, inputs: Sequence[Array]
) -> list[Array]:
    products = _multiply_texts(weights, [name], inputs)
    return [state + product for state, product in zip(states, products, strict=True)]


def _multiply_texts(weights: Weights, names: Sequence[str], texts: Sequence[Array]) -> list[Array]:
    """The products of each text with some matrices, side by side."""
    if isinstance(texts[0], np.ndarray):
        return [text for group in _group_texts(texts) for text in _multiply_group(weights, names, group)]
    join = find_library(texts[0]).concatenate
    return [join([_multiply(weights, name, slice(None), text) for name in names], axis=1) for text in texts]


def _group_texts(texts: Sequence[Array]) -> list[list[Array]]:
    """Texts that are multiplied at once: products of many tokens take less time for each."""
    groups: list[list[Array]] = []
    for text in texts:
        if not groups or sum(map(len, groups[-1])) + len(text) > TOKENS:
            groups.append([])
        groups[-1].append(text)
    return groups


def _multiply_group(weights: Weights, names: Sequence[str], texts: Sequence[Array]) -> list[Array]:
    """Rows of the matrices are shared among cores."""
    inputs = np.concatenate(texts)
    heights = [len(weights[f"{name}.weight"]) for name in names]
    products = np.empty((len(inputs), sum(heights)), np.float32)

    def fill(part: tuple[str, int, slice]) -> None:
        name, first, rows = part
        product = _multiply(weights, name, rows, inputs)
        products[:, first + rows.start : first + rows.start + product.shape[1]] = product

    parts = [
        (name, first, slice(start, start + ROWS))
        for name, first, height in zip(names, accumulate([0, *heights]), heights, strict=False)
        for start in range(0, height, ROWS)
    ]
    share_among_cores(fill, parts)
    return np.split(products, list(accumulate(map(len, texts)))[:-1])


def _multiply(weights: Weights, name: str, rows: slice, inputs: Array) -> Array:
    result: Array = inputs @ weights[f"{name}.weight"][rows].T
    bias = weights.get(f"{name}.bias")
    return result if bias is None else result + bias[rows]
