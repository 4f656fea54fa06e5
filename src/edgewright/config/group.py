"""Option groups: frozen dataclasses whose fields are flags on the command line and arguments in Python."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar, get_type_hints

from edgewright.config.declare import Declaration
from edgewright.config.option import Option
from edgewright.config.rules import Given, Rule
from edgewright.core.errors import EdgewrightError, NotBuiltYet, Problems, UsageError

Values = Mapping[str, Any]
Record = TypeVar("Record")


@dataclass(frozen=True)
class OptionGroup:
    """The base of all groups: checks its values, whichever way they came."""

    title: ClassVar[str] = ""
    rules: ClassVar[tuple[Rule, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Tell each declared option the name and the type of its attribute, before `dataclass` reads them."""
        for name, annotation in cls.__annotations__.items():
            declared = cls.__dict__.get(name)
            if isinstance(declared, Declaration):
                setattr(cls, name, declared.to_field(name, annotation))

    def __post_init__(self) -> None:
        """Refuse values that break a rule or are not built, all of them in one error."""
        values = {name: getattr(self, name) for name in self.options()}
        _raise_first_kind([(type(self), values)], self.rules)

    @classmethod
    def options(cls) -> dict[str, Option]:
        """The options of the group by field name."""
        return {field.name: field.metadata["option"] for field in fields(cls)}

    @classmethod
    def spellings(cls) -> dict[str, str]:
        """The flags of the group by the fields of a request that they fill."""
        return {option.fills or name: option.name for name, option in cls.options().items()}

    def values(self) -> dict[str, Any]:
        """Its values by the fields of a request that they fill."""
        return {option.fills or name: getattr(self, name) for name, option in self.options().items()}

    def given(self) -> Given:
        """The options that have another value than their default, by flag."""
        return _find_given(type(self), {name: getattr(self, name) for name in self.options()})

    def warnings(self) -> list[str]:
        """What the user should know about this choice of options."""
        found = [rule.warning(self.given()) for rule in self.rules]
        options = {option.name: option for option in self.options().values()}
        found += [
            f"option {name} has no effect: {options[name].without_effect}"
            for name in self.given()
            if options[name].without_effect
        ]
        return [text for text in found if text]

    @property
    def loudness(self) -> str | None:
        """The log level that the group asks for, where it has a say."""
        return None


def build(
    kinds: Sequence[type[OptionGroup]], values: Sequence[Values], rules: Sequence[Rule] = ()
) -> tuple[OptionGroup, ...]:
    """Make the groups of a tool together, so that rules across groups hold and all problems come at once.

    Args:
        kinds: the groups of the tool.
        values: for each group the values that were given, by field name.
        rules: the rules of the tool, beside those of the groups.
    """
    pairs = list(zip(kinds, values, strict=True))
    _raise_first_kind(pairs, [*rules, *(rule for kind in kinds for rule in kind.rules)])
    return tuple(kind(**chosen) for kind, chosen in pairs)


def collect_groups(record: type[Record], groups: Iterable[OptionGroup]) -> Record:
    """A record with a field for each group of options, found by its type; one that a tool lacks is empty."""
    chosen = {type(group): group for group in groups}
    kinds = get_type_hints(record)
    return record(**{name: chosen[kind] for name, kind in kinds.items() if kind in chosen})


def _raise_first_kind(pairs: Sequence[tuple[type[OptionGroup], Values]], rules: Iterable[Rule]) -> None:
    """Usage errors come first: there is no use in hearing that a wrong command is also not built."""
    given = {name: value for kind, values in pairs for name, value in _find_given(kind, values).items()}
    usage: list[EdgewrightError] = []
    not_built: list[EdgewrightError] = []
    for kind, values in pairs:
        for name, option in kind.options().items():
            usage += _find_usage_problems(option, name, values)
            not_built += _find_missing_parts(option, name, values)
    usage += [problem for rule in rules if (problem := rule.problem(given)) is not None]
    for found in (usage, not_built):
        if found:
            raise found[0] if len(found) == 1 else Problems(found)


def _find_usage_problems(option: Option, name: str, values: Values) -> list[UsageError]:
    if name in values:
        return list(option.problems(values[name]))
    if not option.required:
        return []
    kind = "argument" if option.is_positional else "option"
    return [UsageError(f"{kind} '{option.name}' is missing, it is required", do=f"add {option.spelled()}")]


def _find_missing_parts(option: Option, name: str, values: Values) -> list[NotBuiltYet]:
    missing = option.missing(values[name]) if name in values else None
    return [] if missing is None else [missing]


def _find_given(kind: type[OptionGroup], values: Values) -> Given:
    options = kind.options()
    return {options[name].name: value for name, value in values.items() if value != options[name].default}
