"""What modules register under a name: translations, engine writers, passes, ops."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class _Entry(Generic[V]):
    value: V
    place: str


class Registry(Mapping[K, V]):
    """Values by key, each from a version on; as a mapping it holds the newest of each key.

    Args:
        kind: what a value is, for messages, as in "translation of the ONNX op".
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[K, dict[int, _Entry[V]]] = {}
        self._home = _find_caller({__name__})[0]

    def add(self, key: K, value: V, since: int = 1) -> None:
        """Register a value from version `since` on, up to the next one that is registered."""
        module, line = _find_caller({__name__, self._home})
        entry = _Entry(value, f"{module}:{line}")
        first = self._entries.setdefault(key, {}).setdefault(since, entry)
        if first is not entry:
            name = key.__name__ if isinstance(key, type) else key
            raise AssertionError(
                f"a second {self._kind} {name} at {entry.place}, the first is at {first.place}"
            )

    def register(self, *keys: K, since: int = 1) -> Callable[[V], V]:
        """A decorator that registers what it decorates."""

        def add_all(value: V) -> V:
            for key in keys:
                self.add(key, value, since)
            return value

        return add_all

    def find(self, key: K, version: int) -> V | None:
        """The newest value that is not above a version."""
        versions = self._entries.get(key, {})
        usable = [since for since in versions if since <= version]
        return versions[max(usable)].value if usable else None

    def __getitem__(self, key: K) -> V:
        versions = self._entries[key]
        return versions[max(versions)].value

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def import_families(package: str, *names: str) -> None:
    """Import modules of a package, each of which registers what it defines."""
    for name in names:
        import_module(f"{package}.{name}")


def _find_caller(inner: set[str]) -> tuple[str, int]:
    """File and line of the code that called into some modules from outside."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals["__name__"] in inner:
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_globals["__name__"], frame.f_lineno)
