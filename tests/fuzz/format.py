"""What a format is that is fuzzed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import mutate, seeds


@dataclass(frozen=True)
class Format:
    """A format: its seeds by name, its damage, and a reader that is given the path of a file."""

    file: str
    seeds: Callable[[], seeds.Seeds]
    change: mutate.Mutate
    read: Callable[[Path], object]
    needs_torch: bool = False


def lay_beside(path: Path, name: str, content: bytes) -> Path:
    """A sound file in the folder of the damaged one."""
    beside = path.parent / name
    if not beside.exists():
        beside.write_bytes(content)
    return beside
