"""Reads a profile log of any kind: ours, the genuine tools' or a CSV."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from edgewright.artifacts.profile_log.csv_log import HEADER, read_csv
from edgewright.artifacts.profile_log.genuine import is_genuine, read_genuine
from edgewright.artifacts.profile_log.writer import FORMAT, VERSION, ProfileEvent, ProfileLog
from edgewright.core.errors import BadInput, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json

LARGEST = 1 << 30
LARGEST_NUMBER = 1 << 63
_FIELDS = {field.name: field.type for field in fields(ProfileEvent)}
_KINDS: dict[Any, type] = {str: str, int: int, "str": str, "int": int}


def read_log(path: Path | str) -> ProfileLog:
    """The log in a file."""
    content = read_limited(path, LARGEST)
    where = Where(file=str(path))
    if is_genuine(memoryview(content)):
        return read_genuine(memoryview(content), where)
    if content.startswith(HEADER[0].encode()):
        return read_csv(content.decode("utf-8", "replace"), where)
    return _own(content, where)


def _own(content: bytes, where: Where) -> ProfileLog:
    document = _read_document(content, where)
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        found = f"'{shown(document.get('format'))}' version '{shown(document.get('version'))}'"
        raise BadInput(
            f"the log is {found}, expected '{FORMAT}' version '{VERSION}'",
            where,
            do="make it again with this version of qnn-net-run",
        )
    events = document.get("events")
    if not isinstance(events, list):
        raise BadInput("the log has no list of events", where)
    level, backend, graph = (_read_text(document, name, where) for name in ("level", "backend", "graph"))
    inferences, wall, dropped = (_number(document, name, where) for name in ("inferences", "wall", "dropped"))
    read = [_read_event(event, number, where) for number, event in enumerate(events)]
    return ProfileLog(level, backend, graph, read, inferences, wall, dropped)


def _read_document(content: bytes, where: Where) -> dict[str, Any]:
    try:
        document = parse_json(content)
    except (ValueError, RecursionError) as problem:
        if content.lstrip().startswith(b"{"):
            raise BadInput(
                f"the log is truncated or damaged: {shown(problem)}", where, do="make it again"
            ) from problem
        document = None
    if not isinstance(document, dict):
        raise BadInput(
            f"the file starts with {shown(content[:24])}, expected a profile log of this project, of the "
            "SDK's tools, or their CSV",
            where,
            do="make one with qnn-net-run --profiling_level detailed; it is qnn-profiling-data_0.log there",
        )
    return document


def _read_event(event: Any, number: int, where: Where) -> ProfileEvent:
    known = isinstance(event, dict) and all(_is_allowed(name, value) for name, value in event.items())
    if not known or not {"message", "start", "time", "identifier"} <= event.keys():
        raise BadInput(
            f"event {number} of the log is '{shown(event)}', expected the fields of an event", where
        )
    return ProfileEvent(**event)


def _is_allowed(name: str, value: Any) -> bool:
    if name not in _FIELDS or not isinstance(value, _KINDS[_FIELDS[name]]):
        return False
    return not isinstance(value, int) or abs(value) < LARGEST_NUMBER


def _read_text(document: dict[str, Any], name: str, where: Where) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise BadInput(f"'{name}' of the log is '{shown(value)}', expected a text", where)
    return value


def _number(document: dict[str, Any], name: str, where: Where) -> int:
    value = document.get(name, 0)
    if not isinstance(value, int) or not 0 <= value < LARGEST_NUMBER:
        raise BadInput(f"'{name}' of the log is '{shown(value)}', expected a whole number", where)
    return value
