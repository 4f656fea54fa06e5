"""Typed access to the fields of a JSON object that may hold anything."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown

_LONGEST_NAME = 4096
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def parse(content: bytes, where: Where) -> "Fields":
    """The JSON object in the file."""
    try:
        document = json.loads(content, object_pairs_hook=without_duplicates)
    except RecursionError as problem:
        raise LimitExceeded("the JSON is nested too deeply", where) from problem
    except ValueError as problem:
        raise BadInput(f"the file is not JSON: {shown(problem)}", where) from problem
    return Fields(document, where, "the file")


@dataclass(frozen=True)
class Fields:
    """A JSON object, the place it belongs to, and what it is called in messages."""

    value: Any
    where: Where
    called: str

    def __post_init__(self) -> None:
        if not isinstance(self.value, dict):
            raise BadInput(f"{self.called} is {_describe_kind(self.value)}, expected an object", self.where)

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def items(self) -> Iterator[tuple[str, Any]]:
        """Names and values, each name checked."""
        for key, value in self.value.items():
            yield as_name(key, f"a key of {self.called}", self.where), value

    def first_of(self, *keys: str) -> Any:
        """The value of the first key present: the newer spelling first, then older ones."""
        for key in keys:
            if key in self.value:
                return self.value[key]
        raise BadInput(f"{self.called} has no '{keys[0]}'", self.where)

    def fields(self, *keys: str) -> "Fields":
        """The object under a key."""
        return Fields(self.first_of(*keys), self.where, f"'{keys[0]}'")

    def array(self, *keys: str) -> list[Any]:
        """The list under a key."""
        value = self.first_of(*keys)
        if not isinstance(value, list):
            raise BadInput(f"'{keys[0]}' is {_describe_kind(value)}, expected a list", self.where)
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        """The whole number under a key, within limits."""
        return as_integer(self.first_of(key), f"'{key}'", self.where, low, high)

    def integers(self, low: int, high: int, *keys: str) -> tuple[int, ...]:
        """The list of whole numbers under a key, each within limits."""
        return tuple(
            as_integer(item, f"an item of '{keys[0]}'", self.where, low, high) for item in self.array(*keys)
        )

    def text(self, key: str) -> str:
        """The text under a key."""
        value = self.first_of(key)
        if not isinstance(value, str):
            raise BadInput(f"'{key}' is {_describe_kind(value)}, expected a text", self.where)
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """The list of names under a key."""
        return tuple(as_name(item, f"'{key}'", self.where) for item in self.array(key))


def as_integer(value: object, called: str, where: Where, low: int, high: int) -> int:
    """A whole number within limits; 2.0 counts as one, true does not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput(f"{called} is {_describe_kind(value)}, expected a whole number", where)
    if not low <= value <= high:
        # A number with thousands of digits is not printed.
        found = value if value.bit_length() <= 128 else f"a number of {value.bit_length()} bits"
        raise BadInput(f"{called} is {found}, expected {low} to {high}", where)
    return value


def as_float(value: object, called: str, where: Where) -> float:
    """A number; the three that JSON cannot hold are the strings 'inf', '-inf' and 'nan'."""
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(f"{called} is {_describe_kind(value)}, expected a number", where)
    try:
        return float(value)
    except OverflowError as problem:
        raise BadInput(f"{called} is a whole number too large for a float", where) from problem


def as_name(value: object, called: str, where: Where) -> str:
    """A name that can be printed and compared."""
    if not isinstance(value, str):
        raise BadInput(f"{called} is {_describe_kind(value)}, expected a name", where)
    if not value or len(value) > _LONGEST_NAME or not value.isprintable():
        expected = f"a name of 1 to {_LONGEST_NAME} printable characters"
        raise BadInput(f"{called} is '{shown(value)}', expected {expected}", where)
    return value


def _describe_kind(value: object) -> str:
    """What a value is, for messages."""
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}
    return names.get(type(value), f"'{shown(value)}'")


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of JSON that has these keys and values; a duplicate key is an error."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"key '{shown(twice)}' appears twice in one object")
    return found
