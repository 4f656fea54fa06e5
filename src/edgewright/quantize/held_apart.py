"""Samples held apart: neither ranges nor weights are chosen from them, so they can judge both."""

from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.quantize.executor import Samples

# One of so many samples judges, so many at most.
TURN, JUDGES = 3, 64
SEED = 0


@dataclass(frozen=True)
class SplitSamples:
    """Samples to choose ranges and weights from, and samples to judge them by."""

    fitting: Samples
    judging: list[Mapping[str, Array]]
    # Of a single sample no other can be held apart: it does both.
    is_apart: bool

    def describe(self) -> str:
        """What figures come from."""
        count = f"{len(self.judging)} sample{'s' if len(self.judging) != 1 else ''}"
        return f"{count} held apart" if self.is_apart else f"{count} that ranges were chosen from"


def split_samples(samples: Samples) -> SplitSamples:
    """Holds a third of the samples apart, spread over all of them."""
    count = len(samples) if isinstance(samples, Sized) else sum(1 for _ in samples)
    numbers = _choose_judges(count)
    judging = [sample for number, sample in enumerate(samples) if number in numbers]
    if count < 2:
        return SplitSamples(samples, judging, is_apart=False)
    return SplitSamples(_Others(samples, numbers), judging, is_apart=True)


def _choose_judges(count: int) -> frozenset[int]:
    """One of each three neighbours: any order of the data, and any period in it, is met by chance only."""
    if count < TURN:
        return frozenset({count - 1} if count else ())
    blocks = count // TURN
    chosen = np.arange(blocks) * TURN + np.random.default_rng(SEED).integers(0, TURN, blocks)
    kept = min(blocks, JUDGES)
    return frozenset(int(chosen[place * blocks // kept]) for place in range(kept))


@dataclass(frozen=True)
class _Others:
    """The samples that do not judge; walked anew each time."""

    samples: Samples
    judges: frozenset[int]

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        for number, sample in enumerate(self.samples):
            if number not in self.judges:
                yield sample
