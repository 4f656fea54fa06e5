"""How the time that a build may take is shared between the search, the emulator and what comes at the end."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

# What of the whole the emulator may take, and of that: each check of a candidate, the comparison of layers.
EMULATOR_PART, CHECK_PART, LAYERS_PART = 1 / 3, 1 / 8, 1 / 4
# What of the whole comparing layers and the report have at least, with the emulator or without, and at most.
REPORT_PART, MOST_REPORT_PART = EMULATOR_PART * LAYERS_PART, 1 / 5
# The first candidate may be evaluated for this part of the rest of the search, whatever is reserved.
FIRST_PART = 1 / 2
# The verdict has this part of it however long the checks took, and this part of what is left of all.
JUDGING_PART, JUDGING_REST = 1 / 3, 1 / 2
# What of the time that is left for the verdict the float model may take, and it and the simulation together.
FLOAT_PART, SIMULATION_PART = 1 / 6, 1 / 2
# The float model on the samples that choose, of the time of the search.
CHOOSING_PART = 1 / 4
# What the search leaves for the verdict, of its time, at most; less where all that is built misses the limit:
# a better candidate is worth more than a sure figure of a bad one.
MOST_RESERVED, MOST_RESERVED_FOR_MISS = 0.4, 0.2
# What evaluates the last candidate of the search may go on for so much of the whole.
GRACE_PART = 1 / 20
# Passes over the samples that the search may take, so that all of the build stays below 40, unless that is
# less than what is never too much work.
MOST_PASSES = 36.0


class TimeBudget:
    """The time since the build began, and what is left of its limit.

    Args:
        limit: seconds; infinite where there is none.
        has_emulator: whether the genuine emulator takes its part.
        started: when the build began, of ``time.monotonic()``; now where nothing is said.
    """

    def __init__(self, limit: float, *, has_emulator: bool, started: float | None = None) -> None:
        self.limit = limit
        self._emulator = limit * EMULATOR_PART if has_emulator else 0.0
        self._emulated = 0.0
        self._start = time.monotonic() if started is None else started
        self._reserved = 0.0 if math.isinf(limit) else limit * REPORT_PART

    @property
    def seconds(self) -> float:
        """The time since the build began."""
        return time.monotonic() - self._start

    @property
    def search_seconds(self) -> float:
        """What everything but the emulator may take."""
        return self.limit if math.isinf(self.limit) else self.limit - self._emulator

    @property
    def choosing_seconds(self) -> float:
        """What the float model may take for the samples that choose."""
        return CHOOSING_PART * max(0.0, self.search_seconds - self.seconds)

    @property
    def grace_seconds(self) -> float:
        """What the search may take longer to evaluate what it found."""
        return GRACE_PART * self.limit

    @property
    def simulation_seconds(self) -> float:
        """What float model and simulation may take to judge: all but the parts of the emulator and layers."""
        return self.verdict_seconds * (SIMULATION_PART if self._emulator else 1.0)

    @property
    def float_seconds(self) -> float:
        """What the float model alone may take to judge."""
        return self.verdict_seconds * FLOAT_PART

    @property
    def verdict_seconds(self) -> float:
        """What is left for the verdict: all but comparing layers and the report."""
        return max(0.0, self.limit - self._reserved - self.seconds)

    def reserve_report(self, seconds: float) -> None:
        """Keeps time for comparing layers and the report, as they are estimated now."""
        if not math.isinf(self.limit):
            self._reserved = min(max(seconds, self.limit * REPORT_PART), self.limit * MOST_REPORT_PART)

    def find_search_deadline(self, reserved: float, *, is_missed: bool = False) -> float:
        """When the search ends, of ``time.monotonic()``: the emulator and what is reserved come after it.

        No more than a part can be reserved: the verdict does with fewer samples then.
        """
        most = (MOST_RESERVED_FOR_MISS if is_missed else MOST_RESERVED) * self.search_seconds
        return self._start + max(0.0, self.search_seconds - min(reserved, most))

    def find_first_deadline(self, deadline: float) -> float:
        """When the evaluation of the first candidate ends, where the search ends then: others go by it."""
        rest = max(0.0, self.search_seconds - self.seconds)
        return max(deadline, time.monotonic() + FIRST_PART * rest)

    @property
    def check_seconds(self) -> float:
        """What the emulator may take to check one candidate."""
        return min(self._emulator * CHECK_PART, self._find_emulator_rest())

    @property
    def layers_seconds(self) -> float:
        """What it may take to compare layers."""
        return min(self._emulator * LAYERS_PART, self._find_emulator_rest())

    @property
    def rest(self) -> float:
        """What is left of all."""
        return max(0.0, self.limit - self.seconds)

    def has_time_for(self, seconds: float) -> bool:
        """Whether so many are left: what the emulator did not take of its part is there for others."""
        return seconds < self.rest

    @property
    def judging_seconds(self) -> float:
        """What it may take to judge: its own time but that of layers, or what the search has left over."""
        rest = self._find_emulator_rest()
        if math.isinf(rest) or not self._emulator:
            return rest
        own = max(self._emulator * JUDGING_PART, rest - self._emulator * LAYERS_PART)
        return min(max(own, JUDGING_REST * self.verdict_seconds), self.verdict_seconds)

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
