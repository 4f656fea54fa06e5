"""Reads the profiling logs of QNN's own tools and of ONNX Runtime's QNN provider.

The format is not public. What is read here was found by comparing logs that the System library writes with
the CSV beside them: FlatBuffers one after another, each after its size; the first has the file's header.
"""

import struct
from collections.abc import Iterator

from edgewright.artifacts.profile_log.writer import ProfileEvent, ProfileLog
from edgewright.core.errors import BadInput, Where
from edgewright.core.flatbuffer import FlatBuffer, Table

GENUINE = "qnn"
MAGIC = 0x358637BD
_SIZE = struct.Struct("<I")
# Event types and units by QNN's numbers; an event without a type belongs to the section of its message.
_TYPES = {100: "INIT", 300: "FINALIZE", 400: "EXECUTE", 404: "NODE", 500: "DEINIT"}
_METHODS = {1: "EXECUTE", 2: "FINALIZE"}
_UNITS = {1: "US", 2: "BYTES", 3: "CYCLES", 4: "COUNT", 5: "OBJECT", 6: "NONE"}
DEEPEST = 16


def is_genuine(content: memoryview) -> bool:
    """Whether the bytes start like such a log."""
    if len(content) < 64:
        return False
    size = _SIZE.unpack_from(content)[0]
    if not 16 <= size <= len(content) - _SIZE.size:
        return False
    try:
        header = _read_messages(content, Where()).__next__().child(0)
        return header is not None and header.integer(0, "I") == MAGIC
    except BadInput:
        return False


def read_genuine(content: memoryview, where: Where) -> ProfileLog:
    """All events of a log, sub-events after their event."""
    events: list[ProfileEvent] = []
    graphs: dict[str, None] = {}
    maker, started, last = "", 0, 0
    for number, root in enumerate(_read_messages(content, where)):
        header = root.child(0)
        if number == 0 and header is not None:
            maker = f"{header.text(6)} {header.text(5)}".strip()
        for message in root.children(1):
            graphs[message.text(5)] = None
            span = message.child(2)
            start, stop = (span.integer(0, "Q"), span.integer(1, "Q")) if span is not None else (0, 0)
            started, last = started or start, max(last, stop)
            method = _METHODS.get(message.integer(1, "B"), "INIT")
            for event in message.children(4):
                events += _read_events(event, method, max(start - started, 0), 0)
    runs = sum(event.message == "EXECUTE" and event.identifier.startswith("QNN (execute") for event in events)
    backend = f"QNN, written by {maker}" if maker else "QNN"
    wall = _measure_execution(events, last - started)
    return ProfileLog("detailed", backend, ",".join(graphs), events, runs, wall, origin=GENUINE)


def _read_messages(content: memoryview, where: Where) -> Iterator[Table]:
    position = 0
    while position < len(content):
        left = len(content) - position - _SIZE.size
        size = _SIZE.unpack_from(content, position)[0] if left >= 0 else 0
        if not 0 < size <= left:
            raise BadInput(
                f"the profiling log is truncated: a part of {size} bytes starts at byte {position}, "
                f"{max(left, 0)} are left",
                where,
                do="copy the file again; a run that was stopped leaves a log without its end",
            )
        position += _SIZE.size
        yield FlatBuffer(content[position : position + size], "the profiling log", where).root()
        position += size


def _read_events(event: Table, method: str, start: int, depth: int) -> Iterator[ProfileEvent]:
    if depth > DEEPEST:
        raise BadInput(f"events are nested deeper than {DEEPEST}", event.buffer.where)
    kind = _TYPES.get(event.integer(1, "I"), method)
    yield ProfileEvent(
        kind,
        start,
        event.integer(2, "Q"),
        event.text(0),
        "BACKEND",
        _UNITS.get(event.integer(3, "I"), "BACKEND"),
        "SUB-EVENT" if depth else "ROOT",
    )
    for inner in event.children(4):
        yield from _read_events(inner, method, start, depth + 1)


def _measure_execution(events: list[ProfileEvent], span: int) -> int:
    """Microseconds from the first execution to the last; their sum if no times are recorded."""
    runs = [e for e in events if e.message == "EXECUTE" and e.unit == "US" and e.level == "ROOT"]
    if not runs:
        return 0
    return max(span - runs[0].start, 0) or sum(run.time for run in runs)
