"""Writes a profile log: one JSON document of events, in a format of our own (QNN's is not public).

``{"format": "edgewright-profile", "version": 1, "level", "backend", "graph", "events": [...]}``. An event has
the fields of QNN's own CSV: ``message`` (INIT, EXECUTE, DEINIT ...), ``time``, ``unit`` (US), ``source``
(NETRUN: seen by the tool, BACKEND: told by the backend), ``level`` (ROOT, SUB-EVENT), ``identifier``; and
``start``, microseconds since the first event.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

__all__ = ["ProfileEvent", "ProfileLog", "to_chunks"]


@dataclass(frozen=True)
class ProfileEvent:
    """One measured span of time."""

    message: str
    start: int
    time: int
    identifier: str
    source: str = "NETRUN"
    unit: str = "US"
    level: str = "ROOT"


@dataclass(frozen=True)
class ProfileLog:
    """All events of one run."""

    level: str
    backend: str
    graph: str
    events: Sequence[ProfileEvent]


def to_chunks(log: ProfileLog) -> Iterator[bytes]:
    """The file, one event a line."""
    head = {"format": "edgewright-profile", "version": 1}
    head |= {"level": log.level, "backend": log.backend, "graph": log.graph}
    yield json.dumps(head).removesuffix("}").encode() + b', "events": [\n'
    last = len(log.events) - 1
    for index, event in enumerate(log.events):
        yield json.dumps(asdict(event)).encode() + (b"\n" if index == last else b",\n")
    yield b"]}\n"
