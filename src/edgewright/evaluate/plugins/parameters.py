"""How a plugin declares its parameters, and how what a configuration says becomes their values."""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field
from typing import Any

COLOURS = ("R", "G", "B")


@dataclass(frozen=True)
class Kind:
    """A type of parameters: its word in tables, and what makes a value; ValueError says what was expected."""

    word: str
    read: Callable[[Any], Any]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a plugin, as the configuration spells it."""

    name: str
    field: str
    kind: Kind
    text: str
    default: Any
    # In the memory-based form, where the guide gives another.
    memory_default: Any
    # What follows from something else where nothing is given, in words.
    otherwise: str = ""
    # Not in the guide.
    is_ours: bool = False

    def find_default(self, is_memory: bool) -> Any:
        """What holds where nothing is given; MISSING where it is mandatory."""
        return self.memory_default if is_memory else self.default

    def describe_default(self) -> str:
        """What holds where nothing is given, as a configuration would say it."""
        if self.otherwise and self.default in {MISSING, None}:
            return self.otherwise
        words = [_spell(value) for value in (self.default, self.memory_default)]
        return words[0] if words[0] == words[1] else f"{words[0]}; in memory {words[1]}"

    def read(self, given: Any) -> Any:
        """The value of what a configuration says; YAML's null and the word None are the same."""
        if given is None or given == "None":
            if None in {self.default, self.memory_default}:
                return None
            raise ValueError(f"expected {self.kind.word}")
        return self.kind.read(given)


def declare(  # noqa: PLR0913 - each says one thing about the parameter
    kind: Kind,
    text: str,
    default: Any = MISSING,
    *,
    in_memory: Any = ...,
    spelled: str = "",
    otherwise: str = "",
    is_ours: bool = False,
) -> Any:
    """Declares a parameter of a plugin; without a default it is mandatory.

    Args:
        kind: its type, such as INTEGER.
        text: what it is, for tables.
        default: what holds where a configuration does not say it.
        in_memory: the default of the memory-based form, where that is another.
        spelled: its name in configurations, where that is not the attribute's.
        otherwise: in words what holds where the default None stands for something that is found out.
        is_ours: whether the guide does not have it.
    """
    stated = {
        "kind": kind,
        "text": text,
        "default": default,
        "memory_default": default if in_memory is ... else in_memory,
        "spelled": spelled,
        "otherwise": otherwise,
        "is_ours": is_ours,
    }
    value = None if default is MISSING and in_memory is not ... else default
    if isinstance(value, dict):
        return field(default_factory=lambda: dict(value), metadata=stated, kw_only=True)
    return field(default=value, metadata=stated, kw_only=True)


def read_parameter(item: Field[Any]) -> Parameter:
    """The parameter that an attribute of a plugin declares; a plain one says only type and default."""
    if not item.metadata:
        kind = PLAIN.get(getattr(item.type, "__name__", str(item.type)), ANYTHING)
        made = item.default_factory() if callable(item.default_factory) else item.default
        return Parameter(item.name, item.name, kind, "", made, made)
    stated = dict(item.metadata)
    return Parameter(name=stated.pop("spelled") or item.name, field=item.name, **stated)


def choose_from(*choices: str) -> Kind:
    """A word out of a fixed list; the guide writes some with an underscore here and a hyphen there."""
    words = {choice.replace("-", "_"): choice for choice in choices}

    def read(given: Any) -> str:
        word = str(given).replace("-", "_")
        if word not in words:
            raise ValueError(f"expected one of: {', '.join(choices)}")
        return words[word]

    return Kind("String", read)


def _spell(value: Any) -> str:
    if value is MISSING:
        return "mandatory"
    if isinstance(value, Mapping):
        return "`{" + ", ".join(f'"{name}":{number:g}' for name, number in value.items()) + "}`"
    if isinstance(value, tuple):
        return "`" + ",".join(f"{part:g}" for part in value) + "`" if value else "`0`"
    return f"`{value}`"


def _read_integer(given: Any) -> int:
    try:
        number = float(given) if not isinstance(given, bool) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not number.is_integer():
        raise ValueError("expected a whole number")
    return int(number)


def _read_count(given: Any) -> int:
    number = _read_integer(given)
    if number < 0:
        raise ValueError("expected a whole number, 0 or more")
    return number


def _read_number(given: Any) -> float:
    try:
        number = float(given) if not isinstance(given, bool) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("expected a number")
    return number


def _read_flag(given: Any) -> bool:
    known = {"true": True, "false": False}
    if str(given).lower() not in known:
        raise ValueError("expected True or False")
    return known[str(given).lower()]


def _read_text(given: Any) -> str:
    is_text = isinstance(given, str | int | float) and not isinstance(given, bool)
    if not is_text:
        raise ValueError("expected a text")
    return str(given)


def _read_dims(given: Any) -> tuple[int, ...]:
    parts = given if isinstance(given, list | tuple) else str(given).split(",")
    try:
        sizes = tuple(_read_integer(part) for part in parts)
    except ValueError:
        sizes = (0,)
    if min(sizes, default=0) < 1:
        raise ValueError("expected sizes of 1 or more separated by commas")
    return sizes


def _read_size(given: Any) -> tuple[int, int]:
    sizes = _read_dims(given)
    if len(sizes) != 2:
        raise ValueError("expected height and width separated by a comma, as in 416,416")
    return sizes[0], sizes[1]


def _read_list(given: Any) -> tuple[str, ...]:
    parts = given if isinstance(given, list | tuple) else str(given).strip("[]").split(",")
    return tuple(str(part).strip() for part in parts)


def _read_shape(given: Any) -> tuple[int, ...]:
    if given in (0, "0", [], ""):
        return ()
    return _read_dims(given if isinstance(given, list) else str(given).strip("[]"))


def _read_integers(given: Any) -> tuple[int, ...]:
    parts = given if isinstance(given, list | tuple) else str(given).split(",")
    numbers = tuple(_read_integer(part) for part in parts)
    if min(numbers, default=0) < 1:
        raise ValueError("expected whole numbers of 1 or more separated by commas, as in 1,5")
    return numbers


def _read_numbers(given: Any) -> tuple[float, ...]:
    parts = given if isinstance(given, list | tuple) else str(given).split(",")
    return tuple(_read_number(part) for part in parts)


def _read_colours(given: Any) -> dict[str, float]:
    if not isinstance(given, Mapping) or set(given) != set(COLOURS):
        raise ValueError('expected a number for each colour, as in {"R":0.485, "G":0.456, "B":0.406}')
    return {name: _read_number(given[name]) for name in COLOURS}


INTEGER = Kind("Integer", _read_integer)
COUNT = Kind("Integer", _read_count)
NUMBER = Kind("Float", _read_number)
FLAG = Kind("Boolean", _read_flag)
TEXT = Kind("String", _read_text)
SIZE = Kind("String", _read_size)
DIMS = Kind("String", _read_dims)
WORDS = Kind("List", _read_list)
SHAPE = Kind("List", _read_shape)
INTEGERS = Kind("String", _read_integers)
NUMBERS = Kind("String", _read_numbers)
RGB = Kind("RGB dictionary", _read_colours)
ANYTHING = Kind("any", lambda given: given)
# The types of plain attributes, in plugins of the user's own.
PLAIN = {"int": INTEGER, "float": NUMBER, "bool": FLAG, "str": TEXT}
