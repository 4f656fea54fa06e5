"""The registry of networks that the conformance table is made of, and the data each of them takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewright.core.numbers import Array

Draw = Callable[[np.random.Generator], Array]
SEED = 7


@dataclass(frozen=True)
class Network:
    """A network: what kind it is, how it is made, and how samples of each input are drawn."""

    name: str
    kind: str
    make: Callable[[], Any]
    # So many samples that do not calibrate behind so many that do; each has the inputs in their order.
    draw_samples: Callable[[int, int], list[tuple[Array, ...]]]


NETWORKS: dict[str, Network] = {}


def network(kind: str, *draws: Draw) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Registers a function that makes a torch module or an ONNX model, under its name."""

    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        name = make.__name__
        if name in NETWORKS:
            raise ValueError(f"two networks are named {name}")
        NETWORKS[name] = Network(name, kind, make, draw_samples)
        return make

    def draw_samples(calibrating: int, others: int) -> list[tuple[Array, ...]]:
        random = np.random.default_rng(SEED)
        return [tuple(draw(random) for draw in draws) for _ in range(calibrating + others)]

    return register


def normal(*shape: int, scale: float = 1.0) -> Draw:
    """Normal numbers; neighbours on the last axis are alike, as in pictures and sound."""

    def draw(random: np.random.Generator) -> Array:
        rough = random.normal(size=shape)
        smooth = (rough + np.roll(rough, 1, -1)) / np.sqrt(2)
        return (scale * smooth).astype(np.float32)

    return draw


def numbers_below(high: int, *shape: int, dtype: Any = np.int64) -> Draw:
    """Indices, such as those of words."""
    return lambda random: random.integers(0, high, shape).astype(dtype)


def mask(length: int, dtype: Any = np.float32) -> Draw:
    """Ones for words, zeros for the padding behind them."""

    def draw(random: np.random.Generator) -> Array:
        words = int(random.integers(length // 2, length + 1))
        return (np.arange(length)[None] < words).astype(dtype)

    return draw
