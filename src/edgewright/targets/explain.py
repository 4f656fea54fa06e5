"""Explains an error code: one of QNN's libraries, one of Edgewright's own, or an exit code."""

import inspect
import re
from dataclasses import dataclass

from edgewright.core import errors
from edgewright.core.errors import EdgewrightError, Problems, UsageError, shown
from edgewright.core.words import did_you_mean
from edgewright.targets.error_codes import CODES, find_area, find_error_code

_NUMBER = re.compile(r"(?:0x[0-9a-f]{1,16}|[0-9]{1,19})", re.IGNORECASE)


@dataclass(frozen=True)
class Explanation:
    """A code, what it is called, where it comes from, why it appears and what helps."""

    code: str
    name: str
    origin: str
    causes: tuple[str, ...]
    fixes: tuple[str, ...]
    seen: tuple[str, ...] = ()


def explain(code: str) -> Explanation:
    """What a code means: 1002 or 0x3ea of QNN, 'bad-input' of Edgewright, or the exit code of a tool."""
    word = code.strip().lower()
    if not _NUMBER.fullmatch(word):
        return _own(word)
    number = int(word, 0) if word.startswith("0x") else int(word)
    error = find_error_code(number)
    if error is not None:
        return Explanation(
            str(error.code), error.name, _name_origin(error.area), error.causes, error.fixes, error.seen
        )
    if find_area(number & 0xFFFF):
        return _of_area(number & 0xFFFF)
    return _exit_code(number)


def list_known_codes() -> list[tuple[str, str]]:
    """Every code that has its own page, with its name."""
    ours = [(kind.code, _read_first_line(kind)) for kind in _list_error_classes()]
    return [(str(entry.code), entry.name) for entry in CODES] + ours


def _of_area(code: int) -> Explanation:
    return Explanation(
        str(code),
        "not in the catalogue",
        _name_origin(find_area(code)),
        ("the library returned a code of this part of its interface that is not explained here yet",),
        ("run again with --log_level verbose: the library's own lines before the code say more",),
    )


def _name_origin(area: str) -> str:
    return f"QNN, {area}"


def _own(word: str) -> Explanation:
    kinds = {kind.code: kind for kind in _list_error_classes()}
    if word not in kinds:
        raise UsageError(
            f"code '{shown(word)}' is unknown, expected a number of QNN such as 1002, or one of: "
            + ", ".join(kinds),
            do=did_you_mean(word, kinds, "edgewright explain lists all codes"),
        )
    return _of_class(word, kinds[word])


def _exit_code(number: int) -> Explanation:
    kinds = [kind for kind in _list_error_classes() if kind.exit_code == number]
    if not kinds:
        near = min(CODES, key=lambda entry: abs(entry.code - number))
        raise UsageError(
            f"code {number} is neither one of QNN nor an exit code",
            do=f"did you mean '{near.code}'? edgewright explain lists all codes",
        )
    if len(kinds) == 1:
        return _of_class(str(number), kinds[0])
    named = tuple(f"{kind.code}: {_read_first_line(kind)}" for kind in kinds)
    return Explanation(str(number), "exit code", "Edgewright's tools", named, ("read the message above it",))


def _of_class(code: str, kind: type[EdgewrightError]) -> Explanation:
    first, _, rest = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")
    name = f"{kind.code}, exit code {kind.exit_code}"
    return Explanation(code, name, "Edgewright", (_join_lines(first),), (_join_lines(rest),) if rest else ())


def _list_error_classes() -> list[type[EdgewrightError]]:
    classes = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    kinds = [kind for kind in classes if issubclass(kind, EdgewrightError)]
    named = [kind for kind in kinds if kind not in (EdgewrightError, Problems)]
    return sorted(named, key=lambda kind: kind.code)


def _read_first_line(kind: type[EdgewrightError]) -> str:
    return _join_lines(inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]).rstrip(".")


def _join_lines(text: str) -> str:
    return " ".join(text.split())
