"""From the words of a command line to option groups, and from option groups to the help text."""

import argparse
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

from edgewright.config.group import OptionGroup, build
from edgewright.config.option import Option
from edgewright.config.rules import Rule
from edgewright.core.errors import EdgewrightError, Problems, UsageError, shown
from edgewright.core.words import did_you_mean

WIDTH = 100
INDENT = 26
Groups = Sequence[type[OptionGroup]]


def read_words(words: Sequence[str], kinds: Groups, rules: Sequence[Rule]) -> tuple[OptionGroup, ...]:
    """The groups of a tool, filled from its command line; all its mistakes are one error."""
    options = [option for kind in kinds for option in kind.options().values()]
    texts, rest = _split(words, [option for option in options if not option.is_positional])
    texts |= _match_positional(rest, [option for option in options if option.is_positional], options)
    values = [
        {
            name: option.read(texts[option.name])
            for name, option in kind.options().items()
            if option.name in texts
        }
        for kind in kinds
    ]
    return build(kinds, values, rules)


def write_help(name: str, summary: str, kinds: Groups, examples: Sequence[tuple[str, str]]) -> str:
    """The answer to --help."""
    options = [option for kind in kinds for option in kind.options().values()]
    lines = [f"usage: {' '.join([name, *_list_usage(options)])} [options]", "", summary]
    for kind in kinds:
        lines += ["", f"{kind.title}:"]
        for option in kind.options().values():
            lines += _describe_flags(
                ", ".join([*_sort_flags(option)]), option.metavar, _explain_option(option)
            )
    lines += ["", "Other:", *_describe_flags("-h, --help", (), "show this text and exit")]
    lines += _describe_flags("--version", (), "show the version and exit")
    if examples:
        lines += ["", "Examples:"]
        for command, does in examples:
            lines += [f"  # {does}", f"  {command}"]
    return "\n".join(lines)


class _Words(argparse.ArgumentParser):
    """Only splits the words: what the values mean, and what they may be, is in the options."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _split(words: Sequence[str], options: Sequence[Option]) -> tuple[dict[str, Any], list[str]]:
    parser = _Words(add_help=False, allow_abbrev=False, exit_on_error=False)
    by_flags = {"/".join(option.flags): option for option in options}
    for option in options:
        parser.add_argument(*option.flags, dest=option.name, **_make_argparse_terms(option))
    try:
        space, rest = parser.parse_known_args(list(words))
    except argparse.ArgumentError as problem:
        raise _refuse_count(by_flags.get(problem.argument_name or ""), problem.message) from None
    texts = {name: _list_occurrences(texts) for name, texts in vars(space).items() if texts is not None}
    return texts, [word for word in rest if word != "--"]


def _make_argparse_terms(option: Option) -> dict[str, Any]:
    if option.nargs == 0:
        return {"action": "append_const", "const": []}
    nargs = "+" if isinstance(option.nargs, tuple) else option.nargs
    return {"action": "append", "nargs": nargs}


def _list_occurrences(texts: Sequence[Any]) -> list[list[str]]:
    # argparse returns a bare word, or None, where at most one word may follow the flag.
    return [[] if text is None else [text] if isinstance(text, str) else list(text) for text in texts]


def _refuse_count(option: Option | None, message: str) -> UsageError:
    if option is None:
        return UsageError(message)
    advice = f"write {option.spelled()}" + (f", for example: {option.example}" if option.example else "")
    return UsageError(f"option '{option.name}': {shown(message)}", do=advice)


def _match_positional(
    rest: Sequence[str], positional: Sequence[Option], known: Sequence[Option]
) -> dict[str, list[list[str]]]:
    unknown = [word for word in rest if word.startswith("-") and word != "-"]
    plain = [word for word in rest if word not in unknown]
    problems: list[EdgewrightError] = [_refuse_unknown(word, known) for word in unknown]
    # The value of an unknown option looks like an extra argument: it is not reported a second time.
    takes_rest = bool(positional) and positional[-1].nargs == "+"
    if not problems and len(plain) > len(positional) and not takes_rest:
        extra = plain[len(positional)]
        problems.append(
            UsageError(f"argument '{shown(extra)}' was not expected", do="--help lists what is expected")
        )
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    matched = {option.name: [[word]] for option, word in zip(positional, plain, strict=False)}
    if takes_rest and positional[-1].name in matched:
        matched[positional[-1].name] = [plain[len(positional) - 1 :]]
    return matched


def _refuse_unknown(word: str, known: Sequence[Option]) -> UsageError:
    flags = [flag for option in known for flag in option.flags if flag.startswith("-")]
    flag = word.partition("=")[0]
    otherwise = "--help lists the options"
    return UsageError(
        f"option '{shown(flag)}' is unknown", do=did_you_mean(flag, [*flags, "--help"], otherwise)
    )


def _list_usage(options: Sequence[Option]) -> list[str]:
    needed = [option for option in options if option.required or option.is_positional]
    dots = ["..." if option.is_positional and option.nargs == "+" else "" for option in needed]
    return [
        option.spelled() + dots_after if option.required else f"[{option.spelled()}{dots_after}]"
        for option, dots_after in zip(needed, dots, strict=True)
    ]


def _sort_flags(option: Option) -> list[str]:
    return sorted(option.flags, key=lambda flag: flag.startswith("--"))


def _explain_option(option: Option) -> str:
    notes = []
    if option.default not in (None, False, (), ""):
        notes.append(f"default: {option.default}")
    if not option.built:
        notes.append("not built yet")
    elif option.not_built:
        notes.append("not built yet: " + ", ".join(str(value) for value in option.not_built))
    return option.help + (f" ({'; '.join(notes)})" if notes else "")


def _describe_flags(flags: str, metavar: tuple[str, ...], text: str) -> list[str]:
    head = "  " + " ".join([flags, *metavar])
    body = textwrap.wrap(text, WIDTH - INDENT, break_on_hyphens=False)
    if len(head) <= INDENT - 2:
        return [f"{head:<{INDENT}}{body[0]}", *(" " * INDENT + line for line in body[1:])]
    return [head, *(" " * INDENT + line for line in body)]
