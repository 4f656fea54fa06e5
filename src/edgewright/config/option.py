"""One option of a tool as data: its flags, how many values it takes, what they may be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from edgewright.config.values import OneOf, Parse
from edgewright.core.errors import NotBuiltYet, UsageError, shown

# How many values: a number, "?" (none or one), "*" (any), "+" (some), or (smallest, largest).
Nargs = int | str | tuple[int, int]


@dataclass(frozen=True)
class Option:
    """What a field of an option group is on the command line and in the documentation."""

    flags: tuple[str, ...]
    help: str
    default: Any = None
    required: bool = False
    parse: tuple[Parse, ...] = (str,)  # one for each value; the last one serves the rest
    metavar: tuple[str, ...] = ()
    nargs: Nargs = 1
    repeated: bool = False
    keyed: bool = False
    const: Any = None
    built: bool = True
    not_built: tuple[Any, ...] = ()
    instead: str = ""
    without_effect: str = ""
    example: str = ""
    # The field of a request that it fills, by Python's keyword; that of the option group where empty.
    fills: str = ""

    @property
    def name(self) -> str:
        """The flag by which messages and rules know it: the first long one."""
        return next((flag for flag in self.flags if flag.startswith("--")), self.flags[0])

    @property
    def is_positional(self) -> bool:
        """Whether it is an argument without a flag."""
        return not self.flags[0].startswith("-")

    @property
    def is_single(self) -> bool:
        """Whether its value is one value and not a tuple."""
        return self.nargs in (0, 1, "?")

    def read(self, occurrences: Sequence[Sequence[str]]) -> Any:
        """The value for what stands on the command line, one inner sequence for each time it was given."""
        if self.repeated:
            return tuple(self._read_one(texts) for texts in occurrences)
        if self.is_single:
            return self._read_one(occurrences[-1])
        return tuple(value for texts in occurrences for value in self._read_one(texts))

    def problems(self, value: Any) -> Iterator[UsageError]:
        """What is wrong with a value that did not come from text."""
        if value == self.default:
            return
        for once in value if self.repeated else (value,):
            for parse, leaf in zip(self._list_parsers(once), self._list_values(once), strict=False):
                if isinstance(parse, OneOf) and leaf not in parse.choices:
                    yield self._make_value_error(leaf, parse.expected())
        if self.keyed:
            yield from self._find_repeated([entry[0] for entry in value])

    def missing(self, value: Any) -> NotBuiltYet | None:
        """The answer to a value that this version cannot honour."""
        if value == self.default:
            return None
        if not self.built:
            return NotBuiltYet(
                f"option '{self.name}' is not built yet", do=self.instead or f"leave {self.name} out"
            )
        for once in value if self.repeated else (value,):
            for leaf in self._list_values(once):
                if leaf in self.not_built:
                    return self._make_not_built_error(leaf)
        return None

    def spelled(self) -> str:
        """How it is written, as in --input_dim INPUT_NAME DIMS."""
        return " ".join([self.name, *self.metavar])

    def wrong_count(self, found: int) -> UsageError:
        """The answer to a number of values that it does not take."""
        return UsageError(
            f"option '{self.name}' has {found} values, expected {self._count()}", do=self._advice()
        )

    def _read_one(self, texts: Sequence[str]) -> Any:
        if self.nargs == 0:
            return True
        if self.nargs == "?" and not texts:
            return self.const
        if isinstance(self.nargs, tuple) and not self.nargs[0] <= len(texts) <= self.nargs[1]:
            raise self.wrong_count(len(texts))
        values = tuple(
            self._parse_value(parse, text)
            for parse, text in zip(self._list_parsers(texts), texts, strict=False)
        )
        return values[0] if self.is_single else values

    def _parse_value(self, parse: Parse, text: str) -> Any:
        try:
            return parse(text)
        except ValueError as problem:
            raise self._make_value_error(text, str(problem)) from None

    def _list_parsers(self, values: Any) -> Iterator[Parse]:
        yield from self.parse
        for _ in range(len(self.parse), len(self._list_values(values))):
            yield self.parse[-1]

    def _list_values(self, once: Any) -> tuple[Any, ...]:
        return (once,) if self.is_single or not isinstance(once, tuple | list) else tuple(once)

    def _find_repeated(self, keys: Sequence[str]) -> Iterator[UsageError]:
        for key in dict.fromkeys(key for key in keys if keys.count(key) > 1):
            yield UsageError(
                f"option '{self.name}' names '{shown(key)}' {keys.count(key)} times, expected once",
                do="keep one of them",
            )

    def _make_value_error(self, found: object, expected: str) -> UsageError:
        kind = "argument" if self.is_positional else "option"
        # Parsers that Python calls too give a whole clause.
        clause = f"expected {expected.removeprefix('expected ')}"
        return UsageError(f"{kind} '{self.name}' has the value '{shown(found)}', {clause}", do=self._advice())

    def _make_not_built_error(self, value: object) -> NotBuiltYet:
        return NotBuiltYet(
            f"value '{shown(value)}' of option '{self.name}' is not built yet",
            do=self.instead or f"use another value or leave {self.name} out",
        )

    def _advice(self) -> str:
        return f"for example: {self.example}" if self.example else ""

    def _count(self) -> str:
        return f"{self.nargs[0]} to {self.nargs[1]}" if isinstance(self.nargs, tuple) else str(self.nargs)
