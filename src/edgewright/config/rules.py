"""Rules between options: what excludes, needs, beats or disarms what, as data that every tool checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from edgewright.core.errors import UsageError

# The options that have another value than their default, by their long flag.
Given = Mapping[str, Any]


class Rule:
    """Something that must hold between the options that were given."""

    def problem(self, given: Given) -> UsageError | None:
        """What is wrong, if anything."""
        return None

    def warning(self, given: Given) -> str | None:
        """What the user should know, if anything."""
        return None


@dataclass(frozen=True)
class Excludes(Rule):
    """The two options cannot be given together."""

    first: str
    second: str

    def problem(self, given: Given) -> UsageError | None:
        """An error where both are given."""
        if self.first not in given or self.second not in given:
            return None
        return UsageError(
            f"options '{self.first}' and '{self.second}' were given together, expected at most one of them",
            do="leave one of them out",
        )


@dataclass(frozen=True)
class Needs(Rule):
    """The option works only together with another one."""

    option: str
    other: str

    def problem(self, given: Given) -> UsageError | None:
        """An error where the other one is missing."""
        if self.option not in given or self.other in given:
            return None
        return UsageError(
            f"option '{self.option}' was given without '{self.other}', which it needs",
            do=f"add {self.other} or leave {self.option} out",
        )


@dataclass(frozen=True)
class OneRequired(Rule):
    """At least one of the options must be there."""

    options: tuple[str, ...]

    def problem(self, given: Given) -> UsageError | None:
        """An error where none is."""
        if any(option in given for option in self.options):
            return None
        listed = " or ".join(f"'{option}'" for option in self.options)
        return UsageError(f"none of the options {listed} was given, expected one of them", do=f"add {listed}")


@dataclass(frozen=True)
class WithoutEffect(Rule):
    """The options do nothing unless one of `unless` is given too."""

    options: tuple[str, ...]
    unless: tuple[str, ...]

    def warning(self, given: Given) -> str | None:
        """Which options do nothing, and what they would need."""
        idle = [option for option in self.options if option in given]
        if not idle or any(option in given for option in self.unless):
            return None
        return f"without {' or '.join(self.unless)} these options have no effect: {', '.join(idle)}"


@dataclass(frozen=True)
class Beats(Rule):
    """Where both options speak about the same thing, the first one wins."""

    stronger: str
    weaker: str

    def warning(self, given: Given) -> str | None:
        """Which of the two wins."""
        if self.stronger not in given or self.weaker not in given:
            return None
        return f"{self.stronger} comes before {self.weaker} for the tensors that it names"


@dataclass(frozen=True)
class Check(Rule):
    """Any other rule: a function that finds the problem."""

    find: Callable[[Given], UsageError | None]

    def problem(self, given: Given) -> UsageError | None:
        """What the function found."""
        return self.find(given)
