"""Profile logs as the CSV of QNN's viewer and of ONNX Runtime's QNN provider."""

import csv
import io
from collections.abc import Iterator

from edgewright.artifacts.profile_log.writer import ProfileEvent, ProfileLog
from edgewright.core.errors import BadInput, Where, shown

CSV = "csv"
HEADER = (
    *("Msg Timestamp", "Message", "Time", "Unit of Measurement"),
    *("Timing Source", "Event Level", "Event Identifier"),
)
# Events without their own section belong to the current one.
_SECTIONS = frozenset({"INIT", "FINALIZE", "EXECUTE", "DEINIT", "COMPOSE"})


def to_csv(log: ProfileLog) -> Iterator[bytes]:
    """The file, one event per line."""
    yield _write_line(HEADER)
    for event in log.events:
        cells = (event.start, event.message, event.time, event.unit, event.source, event.level)
        yield _write_line((*map(str, cells), event.identifier))


def read_csv(text: str, where: Where) -> ProfileLog:
    """The log of such a file."""
    try:
        rows = list(enumerate(csv.reader(io.StringIO(text)), start=1))
    except csv.Error as problem:
        raise BadInput(f"the file is no table: {problem}", where) from None
    events = [_read_event(row, number, where) for number, row in rows if number > 1 and row]
    whole = [event for event in events if event.message == "EXECUTE" and event.level == "ROOT"]
    # Count the tool's events; without a tool, those of the backend.
    runs = len([event for event in whole if event.source == "NETRUN"] or whole)
    return ProfileLog("detailed", "as in the CSV", "", _place_events(events), runs, origin=CSV)


def _place_events(events: list[ProfileEvent]) -> list[ProfileEvent]:
    """BACKEND events belong to executions; sub-events without a message to the event before them."""
    placed, parent = [], "INIT"
    for event in events:
        message = event.message
        if message in _SECTIONS:
            parent = message
        elif message == "BACKEND":
            message = parent = "EXECUTE"
        elif message != "NODE":
            message = parent
        placed.append(
            ProfileEvent(
                message, event.start, event.time, event.identifier, event.source, event.unit, event.level
            )
        )
    return placed


def _read_event(row: list[str], line: int, where: Where) -> ProfileEvent:
    try:
        start, message, time, unit, source, level, *identifier = row
        return ProfileEvent(message, int(start), int(time), ",".join(identifier), source, unit, level)
    except ValueError:
        raise BadInput(
            f"line {line} is '{shown(','.join(row))}', expected {len(HEADER)} values",
            where,
            do="give the CSV that a profile viewer wrote",
        ) from None


def _write_line(cells: tuple[str, ...]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue().encode()
