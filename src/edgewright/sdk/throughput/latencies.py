"""Latencies of any number of executions in a fixed amount of memory."""

import math
from dataclasses import dataclass

# Neighbouring buckets differ by half a percent; 2**44 ns is almost five hours.
_GROWTH = math.log(1.005)
_BUCKETS = int(44 * math.log(2) / _GROWTH) + 2


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
        self._counts = [0] * _BUCKETS
        self._total = 0
        self._least, self._most = 0, 0
        self.count = 0

    def add(self, nanoseconds: int) -> None:
        """Counts one execution."""
        index = int(math.log(nanoseconds) / _GROWTH) if nanoseconds > 1 else 0
        self._counts[min(index, _BUCKETS - 1)] += 1
        self._least = nanoseconds if not self.count else min(self._least, nanoseconds)
        self._most = max(self._most, nanoseconds)
        self._total += nanoseconds
        self.count += 1

    def summary(self) -> Latency:
        """What was counted so far."""
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
        rank, counted = math.ceil(share * self.count), 0
        for index, count in enumerate(self._counts):
            counted += count
            if counted >= rank:
                middle = math.exp((index + 0.5) * _GROWTH)
                return min(max(middle, self._least), self._most)
        return self._most
