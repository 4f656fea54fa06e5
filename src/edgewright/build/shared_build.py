"""Builds that are started twice in one folder: the second waits, and takes the result of the first."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from edgewright.build.ledger import take_fingerprint
from edgewright.build.records import RECORD, BuildRecord
from edgewright.build.request import BuildRequest
from edgewright.core.folder_lock import wait_for_same_work
from edgewright.core.plain import from_plain

# What no build is.
UNKNOWN = "unknown"


def identify_work(request: BuildRequest, fingerprint: Mapping[str, str]) -> str:
    """The same for builds that give the same: the names in their files count, and how long they may take."""
    dtypes = sorted((name, dtype.name) for name, dtype in request.input_dtypes.items())
    parts = [*fingerprint.values(), request.model.name, request.command, request.time_limit, dtypes]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def take_shared_build(request: BuildRequest) -> BuildRecord | None:
    """What another process builds in the folder; None where it did not finish.

    Raises where it builds something else.
    """
    path = request.output / RECORD
    before = _read_version(path)
    try:
        work = identify_work(request, take_fingerprint(request))
    except OSError:  # a model or data that is not there is no work that another does
        work = UNKNOWN
    wait_for_same_work(request.output, work)
    if _read_version(path) in {before, None}:
        return None
    return from_plain(BuildRecord, json.loads(path.read_bytes()))


def _read_version(path: Path) -> tuple[int, int] | None:
    """What tells one file from another that has replaced it; None where there is none."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns
