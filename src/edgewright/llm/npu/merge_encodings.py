"""One file of encodings out of those of all blocks, of which one is in memory at a time."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


def iterate_merged(files: Sequence[Path], path: tuple[str, ...] = ()) -> Iterator[bytes]:
    """The JSON object that the files have at a path: lists one after another, of all else the last."""
    members: dict[str, Any] = {}
    for part in _iterate_parts(files, path):
        # Of objects and lists only the kind: a large model has millions of numbers in them.
        members |= {
            key: type(value)() if isinstance(value, dict | list) else value for key, value in part.items()
        }
    yield b"{"
    for place, (key, value) in enumerate(members.items()):
        yield f"{',' if place else ''}\n{json.dumps(key)}: ".encode()
        if isinstance(value, dict):
            yield from iterate_merged(files, (*path, key))
        elif isinstance(value, list):
            yield from _iterate_list(files, path, key)
        else:
            yield json.dumps(value).encode()
    yield b"}\n"


def _iterate_list(files: Sequence[Path], path: tuple[str, ...], key: str) -> Iterator[bytes]:
    known: set[str] = set()
    yield b"["
    for entry in (entry for part in _iterate_parts(files, path) for entry in part.get(key, [])):
        name = entry["name"] if isinstance(entry, dict) else str(entry)
        # What one block gives and the next takes is in both.
        if name not in known:
            yield f"{',' if known else ''}\n {json.dumps(entry)}".encode()
        known.add(name)
    yield b"\n]"


def _iterate_parts(files: Sequence[Path], path: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for file in files:
        part: Any = json.loads(file.read_bytes())
        for key in path:
            part = part.get(key, {})
        yield part
