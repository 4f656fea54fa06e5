"""Options of one tool inside a file of another: tables of names and texts become option groups."""

from collections.abc import Mapping, Sequence
from typing import Any

from edgewright.config.group import OptionGroup, build
from edgewright.config.option import Option
from edgewright.config.rules import Rule
from edgewright.core.errors import EdgewrightError, Problems, UsageError, shown
from edgewright.core.words import did_you_mean

# The value of an option as texts: one for a single value, several for a list.
Params = Mapping[str, Sequence[str]]
_SWITCHES = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def read_params(
    kinds: Sequence[type[OptionGroup]],
    params: Params,
    fixed: Mapping[str, Any],
    *,
    tool: str,
    rules: Sequence[Rule] = (),
) -> tuple[OptionGroup, ...]:
    """The groups of a tool from names and texts; all that is wrong with them is one error.

    Args:
        kinds: the groups of the tool.
        params: values by option, spelled without dashes.
        fixed: values by field name that the caller decides; naming one of them is an error.
        tool: its name, for messages.
        rules: its rules beside those of the groups.
    """
    places = {
        flag.lstrip("-"): (kind, name, option)
        for kind in kinds
        for name, option in kind.options().items()
        for flag in option.flags
    }
    values: dict[type[OptionGroup], dict[str, Any]] = {kind: {} for kind in kinds}
    for kind in kinds:
        values[kind] |= {name: fixed[name] for name in kind.options() if name in fixed}
    problems: list[EdgewrightError] = []
    for word, texts in params.items():
        if word not in places:
            problems.append(_refuse_unknown(word, list(places), tool))
            continue
        kind, name, option = places[word]
        if name in fixed:
            problems.append(UsageError(f"'{word}' of {tool} is decided by the evaluator", do="leave it out"))
        else:
            problems += _read_value(option, texts, values[kind], name)
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    return build(kinds, [values[kind] for kind in kinds], rules)


def _read_value(
    option: Option, texts: Sequence[str], values: dict[str, Any], name: str
) -> list[EdgewrightError]:
    """Puts the value of an option among the others; returns what is wrong with it."""
    if option.nargs == 0:
        switch = _SWITCHES.get(" ".join(texts).lower())
        if switch is None:
            return [UsageError(f"'{name}' is '{shown(' '.join(texts))}', expected true or false")]
        values[name] = switch
        return []
    try:
        values[name] = option.read(_split_occurrences(option, texts))
    except EdgewrightError as problem:
        return [problem]
    return []


def _split_occurrences(option: Option, texts: Sequence[str]) -> list[list[str]]:
    """The words after each flag, as on a command line: a list is one flag each where it may be repeated."""
    if option.repeated:
        return [text.split() for text in texts]
    return [list(texts)] if option.is_single else [[word for text in texts for word in text.split()]]


def _refuse_unknown(word: str, known: Sequence[str], tool: str) -> UsageError:
    return UsageError(
        f"{tool} has no option '{shown(word)}'", do=did_you_mean(word, known, f"{tool} --help lists them")
    )
