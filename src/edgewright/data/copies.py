"""Samples that are copies of others: they prove nothing new, and judge nothing that has calibrated."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from edgewright.core.numbers import Array
from edgewright.data.samples import BuildSamples, LabelledSamples, SampleSelection


def leave_out_copies(samples: BuildSamples) -> BuildSamples:
    """The same without samples that choose or judge and have the same values as another one before them.

    One of each part is left in any case.
    """
    if samples.is_random:
        return samples
    known = set(_hash_samples(samples.calibration))
    choosing, unneeded = _leave_out_known(samples.choosing, known)
    # Samples that are named apart may judge what others of them chose.
    judging, copies = _leave_out_known(samples.judging, known)
    notes = list(samples.notes)
    if copies or unneeded:
        notes.append(
            f"{copies} samples that judge and {unneeded} that choose are copies of others and are left out: "
            f"{len(judging.selection)} judge, {len(choosing.selection)} choose"
        )
    return replace(samples, choosing=choosing, judging=judging, notes=tuple(notes))


def _leave_out_known(part: LabelledSamples, known: set[bytes]) -> tuple[LabelledSamples, int]:
    """Those that were not known before, and how many were; all that are left are known afterwards."""
    places: list[int] = []
    for place, digest in enumerate(_hash_samples(part.selection)):
        if digest not in known:
            known.add(digest)
            places.append(place)
    copies = len(part.selection) - len(places)
    if not copies:
        return part, 0
    places = places or [0]
    numbers = [part.selection.numbers[place] for place in places]
    labels = None if part.labels is None else part.labels.select(places)
    selection = SampleSelection(part.selection.samples, numbers)
    return LabelledSamples(selection, labels), len(part.selection) - len(places)


def _hash_samples(selection: SampleSelection) -> list[bytes]:
    return [_hash_sample(sample) for sample in selection]


def _hash_sample(sample: Mapping[str, Array]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(sample):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(sample[name]).tobytes())
    return digest.digest()
