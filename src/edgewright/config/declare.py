"""How a group declares an option: what its attribute's name and type already say is not said again."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, TypedDict, Union, Unpack, get_args, get_origin

from edgewright.config.option import Nargs, Option
from edgewright.config.values import (
    OneOf,
    Parse,
    make_number_parser,
    parse_file_name,
    parse_number,
    parse_on_off,
)

# What makes a value of the text, where the type alone decides it.
_PARSERS: dict[Any, Parse] = {str: str, int: make_number_parser(0), float: parse_number, bool: parse_on_off}


class Terms(TypedDict, total=False):
    """What a declaration may say beside the flags; the rest are fields of `Option`."""

    help: str
    also: str | tuple[str, ...]
    type: Parse | tuple[Parse, ...]
    choices: tuple[Any, ...]
    metavar: str | tuple[str, ...]
    default: Any
    required: bool
    nargs: Nargs
    repeated: bool
    keyed: bool
    const: Any
    built: bool
    not_built: tuple[Any, ...]
    instead: str
    without_effect: str
    example: str
    fills: str


@dataclass(frozen=True)
class Declaration:
    """An option before the name and the type of its attribute are known."""

    flags: tuple[str, ...]
    terms: Mapping[str, Any]

    def to_field(self, name: str, annotation: Any) -> Any:
        """The field of the option group, with its option."""
        option = self.to_option(name, annotation)
        default = MISSING if option.required else option.default
        return field(default=default, metadata={"option": option})

    def to_option(self, name: str, annotation: Any) -> Option:
        """The option of an attribute with this name and type."""
        terms = dict(self.terms)
        kind, is_optional = _without_none(annotation)
        also, own, metavar = terms.pop("also", ()), terms.pop("type", None), terms.pop("metavar", "")
        choices = terms.pop("choices", ())
        terms["repeated"] = terms.get("repeated", False) or terms.get("keyed", False)
        terms.setdefault("nargs", _count_values(kind, own, terms["repeated"]))
        if is_optional or kind is bool or (get_origin(kind) is tuple and "required" not in terms):
            terms.setdefault("default", None if is_optional else kind())
        terms.setdefault("required", "default" not in terms)
        metavars = _list_metavars(metavar, choices)
        return Option(
            flags=(*(self.flags or (f"--{name}",)), *((also,) if isinstance(also, str) else also)),
            parse=_name_files(_list_parsers(kind, own, choices), metavars),
            metavar=() if self._is_bare(terms["nargs"]) else metavars,
            **terms,
        )

    def _is_bare(self, nargs: Nargs) -> bool:
        return nargs == 0 or bool(self.flags and not self.flags[0].startswith("-"))


def opt(*flags: str, like: Declaration | None = None, **terms: Unpack[Terms]) -> Any:
    """A field of an option group that is also an option of the tools that have the group.

    Its flag is the attribute's name: `act_bw: int` is --act_bw. The type says how the text is read (int: a
    whole number, 0 or more; float: a finite number), how many values follow (none for bool, some for a tuple
    that is not read from one word, one otherwise) and what holds where nothing is given: False, (), None
    where None is allowed; anything else is required.

    Args:
        flags: its spellings, where the attribute's name is none of them; a name without dashes is an
            argument without a flag.
        like: an option that several groups have; what else is given here comes before what it says.
        terms: help: what it does, one short sentence in lower case. also: spellings beside the flag. type:
            what makes the value of the text, or a tuple of such, one for each value. choices: the values it
            may have. metavar: the name of the value in the help, or of each. The rest are fields of `Option`.
    """
    if like is None:
        return Declaration(flags, terms)
    return Declaration(flags or like.flags, {**like.terms, **terms})


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) not in {types.UnionType, Union}:
        return annotation, False
    first, *others = (kind for kind in get_args(annotation) if kind is not types.NoneType)
    if others:
        raise TypeError(f"an option cannot be {annotation}, expected one type, or one and None")
    return first, True


def _count_values(kind: Any, own: Parse | tuple[Parse, ...] | None, repeated: bool) -> Nargs:
    if isinstance(own, tuple):
        return len(own)
    if own is None and get_origin(kind) is tuple and not repeated:
        return "+"
    return 0 if kind is bool else 1


def _list_parsers(
    kind: Any, own: Parse | tuple[Parse, ...] | None, choices: tuple[Any, ...]
) -> tuple[Parse, ...]:
    while own is None and get_origin(kind) is tuple:
        kind = get_args(kind)[0]
    parsers = own if isinstance(own, tuple) else (own or _PARSERS[kind],)
    return (OneOf(choices, parsers[0]),) if choices else parsers


def _name_files(parsers: tuple[Parse, ...], metavars: tuple[str, ...]) -> tuple[Parse, ...]:
    """A text that is called FILE must be the name of one."""
    names = metavars if len(metavars) == len(parsers) else ("",) * len(parsers)
    return tuple(
        parse_file_name if parse is str and name == "FILE" else parse
        for parse, name in zip(parsers, names, strict=True)
    )


def _list_metavars(metavar: str | tuple[str, ...], choices: tuple[Any, ...]) -> tuple[str, ...]:
    if isinstance(metavar, tuple):
        return metavar
    return (metavar or ("{" + ",".join(str(choice) for choice in choices) + "}" if choices else "VALUE"),)
