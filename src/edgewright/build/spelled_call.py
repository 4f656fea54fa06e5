"""A call of a function as Python source, with whole paths, so that it can be pasted anywhere."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# Arguments that name files and folders.
PATHS = frozenset({"model", "data", "output", "labels", "eval_data", "overrides"})
POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
PLAIN = (str, int, float, bool, type(None))


def spell_call(name: str, function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """The call with all arguments that are not the default; empty where one is an object in memory.

    Args:
        name: how the package calls the function.
        function: the function, for its defaults.
        given: all arguments by their names.
    """
    words = []
    for key, parameter in inspect.signature(function).parameters.items():
        value = given[key]
        if key != "resume" and not _is_default(value, parameter.default):
            text = _spell_value(key, value)
            if not text:
                return ""
            words.append(f"    {text}," if parameter.kind is POSITIONAL else f"    {key}={text},")
    return "\n".join(["import edgewright as ew", "", f"ew.{name}(", *words, ")"])


def _is_default(value: Any, default: Any) -> bool:
    return isinstance(value, type(default)) and bool(value == default)


def _spell_value(key: str, value: Any) -> str:
    """A value as source; empty where that cannot be written."""
    if key in PATHS and isinstance(value, str | Path):
        return repr(str(Path(value).absolute()))
    if isinstance(value, Path):
        return repr(str(value))
    return repr(value) if _is_plain(value) else ""


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_is_plain(each) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, PLAIN)
