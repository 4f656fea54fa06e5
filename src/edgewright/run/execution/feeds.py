"""Inputs of runs, read from their files each time or kept in memory up to a limit."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from edgewright.config.net_run import InputFiles
from edgewright.core.numbers import Array

Feed = dict[str, Array]


@dataclass(frozen=True)
class CacheLimits:
    """How much is kept: sets and bytes; -1 is all, 0 nothing."""

    sets: int = 0
    size: int = -1


def cache_limits(inputs: InputFiles) -> CacheLimits:
    """The limits of --max_input_cache_tensor_sets and --max_input_cache_size_mb."""
    if inputs.max_input_cache_size_mb is not None:
        return CacheLimits(-1, inputs.max_input_cache_size_mb << 20)
    return CacheLimits(inputs.max_input_cache_tensor_sets or 0)


class Feeds:
    """The inputs of each set; the first ones are kept, because lists repeat from the start."""

    def __init__(self, read: Callable[[int], Feed], count: int, limits: CacheLimits) -> None:
        self._read, self._count, self._limits = read, count, limits
        self._kept: dict[int, Feed] = {}
        self._size = 0
        self._lock = threading.Lock()

    def __call__(self, number: int) -> Feed:
        """The inputs of a run; runs repeat the sets."""
        index = number % self._count
        kept = self._kept.get(index)
        return self._read_and_keep(index) if kept is None else kept

    def _read_and_keep(self, index: int) -> Feed:
        feed = self._read(index)
        size = sum(array.nbytes for array in feed.values())
        with self._lock:
            if index not in self._kept and self._has_room(size):
                self._kept[index] = feed
                self._size += size
        return feed

    def _has_room(self, size: int) -> bool:
        is_short = self._limits.sets < 0 or len(self._kept) < self._limits.sets
        return is_short and (self._limits.size < 0 or self._size + size <= self._limits.size)
