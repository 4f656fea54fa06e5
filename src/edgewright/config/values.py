"""How the text of a value on a command line becomes a Python value."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Takes the text, returns the value, raises ValueError with what was expected.
Parse = Callable[[str], Any]
LARGEST_NUMBER = 2**31 - 1
LONGEST_PACKAGE_NAME = 80
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")


@dataclass(frozen=True)
class OneOf:
    """A value out of a fixed list; `parse` makes it from text."""

    choices: tuple[Any, ...]
    parse: Parse = str

    def __call__(self, text: str) -> Any:
        """The choice that the text spells."""
        try:
            value = self.parse(text)
        except ValueError:
            value = None
        if value not in self.choices:
            raise ValueError(self.expected())
        return value

    def expected(self) -> str:
        """The choices, for a message."""
        return "one of: " + ", ".join(str(choice) for choice in self.choices)


def make_number_parser(smallest: int) -> Parse:
    """A whole number not below `smallest`."""

    def parse(text: str) -> int:
        value = int(text) if _WHOLE.fullmatch(text) else None
        if value is None or not smallest <= value <= LARGEST_NUMBER:
            raise ValueError(f"a whole number from {smallest} to {LARGEST_NUMBER}")
        return value

    return parse


def make_range_parser(expected: str, low: float = -math.inf, high: float = math.inf) -> Parse:
    """A finite number from `low` to `high`; `expected` is what an error asks for."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and low <= value <= high):
            raise ValueError(expected)
        return value

    return parse


parse_number = make_range_parser("a number")
parse_seconds = make_range_parser("a number of seconds, 0 or more", 0)


def parse_dims(text: str) -> tuple[int, ...]:
    """Dimensions separated by commas, as in 1,3,224,224; an empty text is a scalar."""
    if text.strip() == "":
        return ()
    one = make_number_parser(1)
    try:
        return tuple(one(part.strip()) for part in text.split(","))
    except ValueError:
        raise ValueError("dimensions of 1 or more separated by commas, as in 1,3,224,224") from None


def parse_numbers(text: str) -> tuple[float, ...]:
    """Numbers separated by commas, as in 16000 or 0.5,1; truth values are 1 and 0."""
    try:
        return tuple(int(part) if _WHOLE.fullmatch(part.strip()) else float(part) for part in text.split(","))
    except ValueError:
        raise ValueError("numbers separated by commas, as in 16000 or 0.5,1") from None


def parse_file_name(text: str) -> str:
    """A path, which is not nothing: a variable of a script that is empty names no file."""
    if not text.strip():
        raise ValueError("the name of a file")
    return text


def parse_names(text: str) -> tuple[str, ...]:
    """Names or paths separated by commas, as in a.so,b.so."""
    found = tuple(part.strip() for part in text.split(","))
    if "" in found:
        raise ValueError("names separated by commas, none of them empty")
    return found


def parse_on_off(text: str) -> bool:
    """The words true and false."""
    known = {"true": True, "false": False}
    if text.lower() not in known:
        raise ValueError("true or false")
    return known[text.lower()]


def parse_hex_range(text: str) -> tuple[int, int]:
    """Two hexadecimal numbers separated by a space, as in "-0x80 0x7F"."""
    parts = text.replace(",", " ").split()
    try:
        low, high = (int(part, 16) for part in parts)
    except ValueError:
        low, high = 0, 0
    if low >= high:
        raise ValueError('two hexadecimal numbers, the smaller one first, as in "-0x80 0x7F"')
    return low, high


def parse_key_values(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs such as key0:value0;key1:value1."""
    pairs = tuple(part.partition(":") for part in text.split(";") if part.strip())
    if not pairs or any(not key.strip() or not colon for key, colon, _ in pairs):
        raise ValueError("pairs such as key0:value0;key1:value1")
    return tuple((key.strip(), value.strip()) for key, _, value in pairs)


def parse_package_name(text: str) -> str:
    """The name of an op package, which becomes a part of files and of source: qti.aisw, MyPackage."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*", text) or len(text) > LONGEST_PACKAGE_NAME:
        raise ValueError("a name of letters, digits, '_' and single dots, such as qti.aisw")
    return text


def parse_tensors_by_graph(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Tensor names by graph, as in graph0:a,b;graph1:c; without a graph name they are of the only graph."""
    found: dict[str, tuple[str, ...]] = {}
    for part in text.split(";"):
        graph, _, tensors = part.rpartition(":")
        try:
            found[graph.strip()] = parse_names(tensors)
        except ValueError:
            raise ValueError("tensor names by graph, as in graph0:a,b;graph1:c") from None
    return tuple(found.items())
