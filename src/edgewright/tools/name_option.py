"""Names the option that an error is about: a path in a message may be of any of them."""

from collections.abc import Iterable, Iterator
from typing import Any

from edgewright.config.group import OptionGroup
from edgewright.core.errors import BadInput, EdgewrightError, Problems, Where, shown


def name_option(error: EdgewrightError, groups: Iterable[OptionGroup]) -> EdgewrightError:
    """The same error with the flag whose value it quotes; as it is where none is quoted."""
    given = [item for group in groups for item in group.given().items() if item[0].startswith("-")]
    flags = {f"'{shown(text)}'": flag for flag, value in reversed(given) for text in _list_texts(value)}
    if isinstance(error, Problems):
        return Problems([_name_flag(inner, flags) for inner in error.errors])
    return _name_flag(error, flags)


def _name_flag(error: EdgewrightError, flags: dict[str, str]) -> EdgewrightError:
    if type(error) is not BadInput or error.where is not None:
        return error
    flag = next((flag for quoted, flag in flags.items() if quoted in error.what), None)
    return error if flag is None else BadInput(error.what, Where(detail=f"given with {flag}"), error.do)


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _list_texts(part)
