"""Sines and cosines of positions, plain and stretched for long contexts."""

import math

import numpy as np

from edgewright.core.numbers import Array
from edgewright.llm.arrays import find_library
from edgewright.llm.load.spec import ModelSpec, RopeSpec


def make_rotary_tables(spec: ModelSpec, tokens: int) -> tuple[Array, Array]:
    """Cosines and sines [tokens, turned values / 2]; factors of long texts for texts that are long."""
    rope = spec.rope
    angles = np.outer(np.arange(tokens) / rope.linear_factor, list_frequencies(rope, tokens))
    factor = rope.attention_factor
    return (np.cos(angles) * factor).astype(np.float32), (np.sin(angles) * factor).astype(np.float32)


def list_frequencies(rope: RopeSpec, tokens: int) -> Array:
    """Radians per position for a text of so many tokens."""
    plain = rope.theta ** (-np.arange(0, rope.dims, 2) / rope.dims)
    if rope.short_factors:
        return np.asarray(plain / np.array(list_factors(rope, tokens)))
    return _stretch_low_frequencies(rope, plain) if rope.llama3 else np.asarray(plain)


def list_factors(rope: RopeSpec, tokens: int) -> tuple[float, ...]:
    """LongRoPE's divisors for a text of so many tokens."""
    return rope.long_factors if tokens > rope.original_context else rope.short_factors


def _stretch_low_frequencies(rope: RopeSpec, plain: Array) -> Array:
    """Llama 3: waves longer than the original context are slowed down, those between are blended."""
    factor, low, high = rope.llama3
    turns = rope.original_context * plain / (2 * math.pi)
    share = np.clip((turns - low) / (high - low), 0.0, 1.0) if high > low else (turns >= high).astype(float)
    return np.asarray(plain * (share + (1 - share) / factor))


def turn_heads(values: Array, cosines: Array, sines: Array) -> Array:
    """Heads [heads, tokens, values] by their positions; what is beyond the turned values stays."""
    half = cosines.shape[1]
    first, second, rest = values[..., :half], values[..., half : 2 * half], values[..., 2 * half :]
    turned = (first * cosines - second * sines, second * cosines + first * sines, rest)
    whole: Array = find_library(values).concatenate(turned, axis=-1)
    return whole
