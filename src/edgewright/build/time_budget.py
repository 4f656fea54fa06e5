"""How the time that a build may take is shared between the search, the emulator and what comes at the end."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

# What of the whole the emulator may take, and of that: each check of a candidate, the comparison of layers.
EMULATOR_PART, CHECK_PART, LAYERS_PART = 1 / 3, 1 / 8, 1 / 4
# The verdict has this part of it however long the checks took.
JUDGING_PART = 1 / 3
# Passes over the samples that the search may take, so that all of the build stays below 40.
MOST_PASSES = 36.0


class TimeBudget:
    """The time since the build began, and what is left of its limit.

    Args:
        limit: seconds; infinite where there is none.
        has_emulator: whether the genuine emulator takes its part.
    """

    def __init__(self, limit: float, *, has_emulator: bool) -> None:
        self.limit = limit
        self._emulator = limit * EMULATOR_PART if has_emulator else 0.0
        self._emulated = 0.0
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """The time since the build began."""
        return time.monotonic() - self._start

    @property
    def search_seconds(self) -> float:
        """What everything but the emulator may take."""
        return self.limit if math.isinf(self.limit) else self.limit - self._emulator

    def find_search_deadline(self, reserved: float) -> float:
        """When the search ends, of ``time.monotonic()``: the emulator and what is reserved come after it."""
        return self._start + max(0.0, self.search_seconds - reserved)

    @property
    def check_seconds(self) -> float:
        """What the emulator may take to check one candidate."""
        return min(self._emulator * CHECK_PART, self._find_emulator_rest())

    @property
    def layers_seconds(self) -> float:
        """What it may take to compare layers."""
        return min(self._emulator * LAYERS_PART, self._find_emulator_rest())

    @property
    def judging_seconds(self) -> float:
        """What it may take to judge: all but the comparison of layers."""
        rest = self._find_emulator_rest()
        if math.isinf(rest):
            return rest
        return max(self._emulator * JUDGING_PART, rest - self._emulator * LAYERS_PART)

    @contextmanager
    def count_emulator(self) -> Iterator[None]:
        """Counts the block as time of the emulator."""
        start = time.monotonic()
        try:
            yield
        finally:
            self._emulated += time.monotonic() - start

    def _find_emulator_rest(self) -> float:
        """The rest of its share, and never more than the rest of all."""
        if math.isinf(self.limit):
            return math.inf
        return max(0.0, min(self._emulator - self._emulated, self.limit - self.seconds))
