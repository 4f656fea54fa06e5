"""Samples held apart: neither ranges nor weights are chosen from them, so they can judge both."""

from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass

import numpy as np

from edgewright.core.numbers import Array
from edgewright.quantize.executor import Samples

# One of so many samples judges, so many at most.
TURN, JUDGES = 3, 64
ROUGH = 16
SEED = 0


@dataclass(frozen=True)
class SplitSamples:
    """Samples to choose ranges and weights from, and samples to judge them by."""

    fitting: Samples
    judging: "JudgingSamples"
    # Some of those to choose from, where a rough answer will do.
    rough: Samples
    # Of a single sample no other can be held apart: it does both.
    is_apart: bool
    # Of all samples.
    count: int

    def describe(self) -> str:
        """What figures come from."""
        count = f"{len(self.judging)} sample{'s' if len(self.judging) != 1 else ''}"
        return f"{count} held apart" if self.is_apart else f"{count} that ranges were chosen from"


def split_samples(samples: Samples) -> SplitSamples:
    """Holds a third of the samples apart, spread over all of them."""
    count = len(samples) if isinstance(samples, Sized) else sum(1 for _ in samples)
    judges = _choose_judges(count)
    judging = JudgingSamples(sample for number, sample in enumerate(samples) if number in judges)
    judging.numbers = tuple(sorted(judges))
    if count < 2:
        return SplitSamples(samples, judging, samples, is_apart=False, count=count)
    others = tuple(number for number in range(count) if number not in judges)
    few = min(len(others), ROUGH)
    rough = _Others(samples, tuple(others[place * len(others) // few] for place in range(few)))
    return SplitSamples(_Others(samples, others), judging, rough, is_apart=True, count=count)


def _choose_judges(count: int) -> frozenset[int]:
    """One of each three neighbours: any order of the data, and any period in it, is met by chance only."""
    if count < TURN:
        return frozenset({count - 1} if count else ())
    blocks = count // TURN
    chosen = np.arange(blocks) * TURN + np.random.default_rng(SEED).integers(0, TURN, blocks)
    kept = min(blocks, JUDGES)
    return frozenset(int(chosen[place * blocks // kept]) for place in range(kept))


class JudgingSamples(list[Mapping[str, Array]]):
    """Samples in memory, with the numbers that they have in the data."""

    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Others:
    """The samples that do not judge; walked anew each time."""

    samples: Samples
    numbers: tuple[int, ...]

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        fitting = frozenset(self.numbers)
        yield from (sample for number, sample in enumerate(self.samples) if number in fitting)
