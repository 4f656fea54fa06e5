"""Samples that are copies of others: they prove nothing new, and judge nothing that has calibrated."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array
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

# Where there are copies, so many times the samples that a build uses are looked at.
SEARCHED_TIMES = 4


def read_unique_samples(graph: Graph, request: DataRequest) -> BuildSamples:
    """The samples for a graph without copies, which are left out before it is settled what each is for.

    Of data that are named apart one sample is left in any case.
    """
    samples = read_samples(graph, request)
    if samples.is_random or not _has_copies(samples):
        return samples
    known: set[bytes] = set()
    searched = [_select_searched(samples.calibration, request)]
    if request.eval_data is not None:
        searched.append(_select_searched(samples.judging.selection, request))
    unique = [_leave_out_known(selection, known) for selection in searched]
    divided = divide_samples(unique[0], unique[-1], request)
    note = _describe_copies(sum(map(len, searched)), sum(map(len, unique)))
    return replace(divided, notes=(*divided.notes, *note))


def _has_copies(samples: BuildSamples) -> bool:
    parts = (samples.calibration, samples.choosing.selection, samples.judging.selection)
    hashes = [_hash_sample(sample) for part in parts for sample in part]
    return len(set(hashes)) < len(hashes)


def _select_searched(part: SampleSelection, request: DataRequest) -> SampleSelection:
    """All samples that a part was taken from, or as many as can be looked at in time."""
    most = SEARCHED_TIMES * (request.calibration_samples + 2 * request.evaluation_samples)
    return SampleSelection(part.samples, spread_evenly(range(count_samples(part.samples)), most))


def _leave_out_known(selection: SampleSelection, known: set[bytes]) -> SampleSelection:
    """Those that were not known before, or the first one; all of them are known afterwards."""
    numbers: list[int] = []
    for number, sample in zip(selection.numbers, selection, strict=True):
        digest = _hash_sample(sample)
        if digest not in known:
            known.add(digest)
            numbers.append(number)
    return SampleSelection(selection.samples, numbers or selection.numbers[:1])


def _hash_sample(sample: Mapping[str, Array]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(sample):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(sample[name]).tobytes())
    return digest.digest()


def _describe_copies(count: int, left: int) -> list[str]:
    if left == count:
        return []
    copies = count - left
    said = "one is a copy of another and is" if copies == 1 else f"{copies} are copies of others and are"
    return [f"of {count} samples {said} left out: {left} count"]
