"""Latencies of any number of executions in a fixed amount of memory."""

import math
from dataclasses import dataclass

import numpy as np

# Neighbouring buckets differ by half a percent; 2**44 ns is almost five hours.
_GROWTH = math.log(1.005)
_BUCKETS = int(44 * math.log(2) / _GROWTH) + 2
_AT_ONCE = 1024


@dataclass(frozen=True)
class Latency:
    """Times of executions in microseconds; least, most and mean are exact, the rest within 0.5 %."""

    least: float = 0.0
    mean: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    p999: float = 0.0
    most: float = 0.0


class Latencies:
    """Counts times in buckets; only one thread may add to it."""

    def __init__(self) -> None:
        self._counts = np.zeros(_BUCKETS, np.int64)
        self._total = 0
        self._least, self._most = 0, 0
        self._counted = 0
        # Times that are in no bucket yet: many at once cost a tenth, and who counts holds up other threads.
        self._fresh: list[int] = []

    @property
    def count(self) -> int:
        """How many there were."""
        return self._counted + len(self._fresh)

    def add(self, nanoseconds: int) -> None:
        """Counts one execution."""
        self._fresh.append(nanoseconds)
        if len(self._fresh) >= _AT_ONCE:
            self._count_fresh()

    def _count_fresh(self) -> None:
        if not self._fresh:
            return
        times = np.asarray(self._fresh, np.int64)
        places = (np.log(np.maximum(times, 1)) / _GROWTH).astype(np.int64)
        self._counts += np.bincount(np.minimum(places, _BUCKETS - 1), minlength=_BUCKETS)
        least, most = int(times.min()), int(times.max())
        self._least = min(self._least, least) if self._counted else least
        self._most = max(self._most, most)
        self._total += int(times.sum())
        self._counted += len(self._fresh)
        self._fresh = []

    def summary(self) -> Latency:
        """What was counted so far."""
        self._count_fresh()
        if not self.count:
            return Latency()
        return Latency(
            least=self._least / 1e3,
            mean=self._total / self.count / 1e3,
            p50=self._find_percentile(0.5) / 1e3,
            p90=self._find_percentile(0.9) / 1e3,
            p95=self._find_percentile(0.95) / 1e3,
            p99=self._find_percentile(0.99) / 1e3,
            p999=self._find_percentile(0.999) / 1e3,
            most=self._most / 1e3,
        )

    def _find_percentile(self, share: float) -> float:
        """The time that this share of the executions does not exceed."""
        rank = math.ceil(share * self.count)
        index = int(np.searchsorted(np.cumsum(self._counts), rank))
        return min(max(math.exp((index + 0.5) * _GROWTH), self._least), self._most)
