"""Samples that are copies of others, all or most of them: they prove nothing new, and judge nothing known."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array
from edgewright.data.overlaps import is_overlapping
from edgewright.data.samples import (
    BuildSamples,
    DataRequest,
    SampleSelection,
    count_samples,
    divide_samples,
    read_samples,
    spread_evenly,
)
from edgewright.ir.graph import Graph

# Neighbours that are looked at, to see whether samples overlap.
NEIGHBOURS = 16
# Where there are copies, so many times the samples that a build uses are looked at.
SEARCHED_TIMES = 4


def read_unique_samples(graph: Graph, request: DataRequest) -> BuildSamples:
    """The samples for a graph without copies, which are left out before it is settled what each is for.

    Windows of one series that share most of their values count as copies, too.

    Of data that are named apart one sample is left in any case.
    """
    samples = read_samples(graph, request)
    if samples.is_random or not (_has_copies(samples) or _has_overlaps(samples)):
        return samples
    known = _KnownSamples()
    searched = [_select_searched(samples.calibration, request)]
    if request.eval_data is not None:
        searched.append(_select_searched(samples.judging.selection, request))
    unique = [_leave_out_known(selection, known) for selection in searched]
    divided = divide_samples(unique[0], unique[-1], request)
    return replace(divided, notes=(*divided.notes, *known.describe(sum(map(len, searched)))))


class _KnownSamples:
    """What was looked at so far, one sample after the other."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()
        self._last: Mapping[str, Array] | None = None
        self._copies = self._overlapping = 0

    def add(self, sample: Mapping[str, Array]) -> bool:
        """Takes in one more; whether it is a new one."""
        digest = _hash_sample(sample)
        if digest in self._digests:
            self._copies += 1
            return False
        if self._last is not None and is_overlapping(self._last, sample):
            self._overlapping += 1
            return False
        self._digests.add(digest)
        self._last = sample
        return True

    def describe(self, count: int) -> list[str]:
        """What was left out of so many samples."""
        left_out = []
        if self._copies:
            left_out.append(
                "one is a copy of another" if self._copies == 1 else f"{self._copies} are copies of others"
            )
        if self._overlapping:
            verb = "one shares" if self._overlapping == 1 else f"{self._overlapping} share"
            left_out.append(f"{verb} half of the values of the one before or more")
        number = self._copies + self._overlapping
        is_left_out = "is" if number == 1 else "are"
        text = (
            f"of {count} samples {' and '.join(left_out)} and {is_left_out} left out: {count - number} count"
        )
        return [text] if left_out else []


def _has_copies(samples: BuildSamples) -> bool:
    parts = (samples.calibration, samples.choosing.selection, samples.judging.selection)
    hashes = [_hash_sample(sample) for part in parts for sample in part]
    return len(set(hashes)) < len(hashes)


def _has_overlaps(samples: BuildSamples) -> bool:
    """Whether neighbours at some places of the data share most of their values."""
    for part in (samples.calibration, samples.judging.selection):
        count = count_samples(part.samples)
        for number in spread_evenly(range(count - 1), NEIGHBOURS):
            first, second = SampleSelection(part.samples, [number, number + 1])
            if is_overlapping(first, second):
                return True
    return False


def _select_searched(part: SampleSelection, request: DataRequest) -> SampleSelection:
    """All samples that a part was taken from, or as many as can be looked at in time."""
    most = SEARCHED_TIMES * (request.calibration_samples + 2 * request.evaluation_samples)
    return SampleSelection(part.samples, spread_evenly(range(count_samples(part.samples)), most))


def _leave_out_known(selection: SampleSelection, known: _KnownSamples) -> SampleSelection:
    """Those that were not known before, or the first one; all of them are known afterwards."""
    pairs = zip(selection.numbers, selection, strict=True)
    numbers = [number for number, sample in pairs if known.add(sample)]
    return SampleSelection(selection.samples, numbers or selection.numbers[:1])


def _hash_sample(sample: Mapping[str, Array]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(sample):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(sample[name]).tobytes())
    return digest.digest()
