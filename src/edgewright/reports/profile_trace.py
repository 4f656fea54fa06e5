"""A profile as a trace that Perfetto and chrome://tracing open."""

import json
from collections.abc import Iterator

from edgewright.model.profile.records import ProfileEvent, ProfileLog

# Lanes of the trace: what the tool measured, what the backend reported, and single ops.
_LANES = {"tool": 1, "backend": 2, "ops": 3}


def to_trace(log: ProfileLog) -> Iterator[bytes]:
    """The JSON file, one event per line; times in microseconds, as the format requires."""
    names = [_make_metadata("process_name", 0, f"{log.graph} on {log.backend}")]
    names += [_make_metadata("thread_name", lane, name) for name, lane in _LANES.items()]
    spans = [_make_span(event) for event in log.events if event.unit == "US"]
    yield b'{"displayTimeUnit": "ms", "traceEvents": [\n'
    lines = [json.dumps(item) for item in (*names, *spans)]
    yield ",\n".join(lines).encode()
    yield b"\n]}\n"


def _make_metadata(kind: str, lane: int, name: str) -> dict[str, object]:
    return {"ph": "M", "pid": 1, "tid": lane, "name": kind, "args": {"name": name}}


def _make_span(event: ProfileEvent) -> dict[str, object]:
    details = {"op": event.op, "kernel": event.kernel, "macs": event.macs, "run": event.run}
    return {
        "ph": "X",
        "pid": 1,
        "tid": _choose_lane(event),
        "ts": event.start,
        "dur": event.time,
        "cat": event.message,
        "name": event.identifier,
        "args": {name: value for name, value in details.items() if value not in ("", 0, -1)},
    }


def _choose_lane(event: ProfileEvent) -> int:
    if event.source == "NETRUN":
        return _LANES["tool"]
    return _LANES["ops" if event.level != "ROOT" else "backend"]
