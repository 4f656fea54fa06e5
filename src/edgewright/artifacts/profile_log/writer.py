"""Writes a profile log: one JSON document of events, in a format of our own (QNN's is not public).

``{"format": "edgewright-profile", "version": 1, "level", "backend", "graph", "events": [...]}``. An event has
the fields of QNN's own CSV: ``message`` (INIT, EXECUTE, DEINIT ...), ``time``, ``unit`` (US), ``source``
(NETRUN: the tool's, BACKEND: the backend's), ``level`` (ROOT, SUB-EVENT), ``identifier``; and
``start``, microseconds since the first event. If it is about one node it has ``op``, ``macs``, ``kernel``
(what the engine ran for it) and ``run``, the number of the execution; ``data`` is an opaque object in base64.
Empty fields are left out.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

FORMAT, VERSION = "edgewright-profile", 1
# Fields of an event that every event has.
_ALWAYS = frozenset({"message", "start", "time", "identifier", "source", "unit", "level"})


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
    op: str = ""
    kernel: str = ""
    macs: int = 0
    run: int = -1
    data: str = ""


@dataclass(frozen=True)
class ProfileLog:
    """All events of one run."""

    level: str
    backend: str
    graph: str
    events: Sequence[ProfileEvent]
    # All executions and the time from the first to the last of them including their files, in microseconds.
    inferences: int = 0
    wall: int = 0
    # Events that were not kept because there were too many.
    dropped: int = 0
    # The file format that it was read from.
    origin: str = FORMAT


def to_chunks(log: ProfileLog) -> Iterator[bytes]:
    """The file, one event per line."""
    head = {"format": FORMAT, "version": VERSION}
    head |= {"level": log.level, "backend": log.backend, "graph": log.graph}
    counted = {"inferences": log.inferences, "wall": log.wall, "dropped": log.dropped}
    head |= {name: number for name, number in counted.items() if number}
    yield json.dumps(head).removesuffix("}").encode() + b', "events": [\n'
    last = len(log.events) - 1
    for index, event in enumerate(log.events):
        yield json.dumps(_describe_event(event)).encode() + (b"\n" if index == last else b",\n")
    yield b"]}\n"


def _describe_event(event: ProfileEvent) -> dict[str, object]:
    # Not asdict: it copies every value deeply, and a log has a hundred thousand events.
    return {name: value for name, value in vars(event).items() if name in _ALWAYS or value != _EMPTY[name]}


_EMPTY = {field.name: field.default for field in fields(ProfileEvent)}
