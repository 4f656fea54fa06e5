"""Records as plain JSON values and back, for what a job keeps, reports and hands to tasks."""

import dataclasses
import json
import math
import sys
import types
from collections.abc import Mapping
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
# JSON has no word for these.
_NOT_IN_JSON = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_plain(value: Any) -> Any:
    """Dictionaries, lists, texts and numbers; infinities become texts."""
    if dataclasses.is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(to_plain(item) for item in value)
    if isinstance(value, list | tuple | bytes):
        return [to_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def to_json(value: Any) -> bytes:
    """The same as a JSON file."""
    return (json.dumps(to_plain(value), indent=1, allow_nan=False) + "\n").encode()


def from_plain(kind: type[T], value: Any) -> T:
    """The record of a type that ``to_plain`` was given; ValueError or TypeError where it is none."""
    made: T = _make_value(kind, value)
    return made


def _make_value(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if origin is types.UnionType:
        inner = [each for each in get_args(kind) if each is not type(None)]
        return None if value is None else _make_value(inner[0] if len(inner) == 1 else Any, value)
    if origin in {tuple, frozenset, dict, Mapping}:
        return _make_collection(origin, get_args(kind), value)
    if dataclasses.is_dataclass(kind):
        return _make_record(kind, value)
    if kind is float:
        return _make_number(value)
    if kind is bytes:
        return bytes(_make_collection(tuple, (int, ...), value))
    if kind in {str, int, bool} and type(value) is not kind:
        raise ValueError(f"{value!r:.60} is no {kind.__name__}")
    return value


def _make_record(kind: Any, value: Any) -> Any:
    hints = get_type_hints(kind)
    fields = _check_kind(value, dict).items()
    unknown = [name for name, _ in fields if name not in hints]
    if unknown:
        raise ValueError(f"{kind.__name__} has no field {unknown[0]!r:.60}")
    return kind(**{name: _make_value(hints[name], item) for name, item in fields})


def _make_number(value: Any) -> float:
    if isinstance(value, str) and value in _NOT_IN_JSON:
        return _NOT_IN_JSON[value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or abs(value) > sys.float_info.max:
        raise ValueError(f"{value!r:.60} is no number")
    return float(value)


def _check_kind(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds):
        raise TypeError(f"{value!r:.60} is no {kinds[0].__name__}")
    return value


def _make_collection(origin: Any, kinds: tuple[Any, ...], values: Any) -> Any:
    _check_kind(values, *((dict,) if origin in {dict, Mapping} else (list, tuple)))
    if origin is tuple:
        return _make_tuple(kinds, values)
    if origin is frozenset:
        return frozenset(_make_value(kinds[0], item) for item in values)
    return {key: _make_value(kinds[1], item) for key, item in values.items()}


def _make_tuple(kinds: tuple[Any, ...], values: Any) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_make_value(kinds[0], item) for item in values)
    return tuple(_make_value(kind, item) for kind, item in zip(kinds, values, strict=True))
