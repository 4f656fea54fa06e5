"""Input lists: text files that name one set of input files a line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewright.core.errors import BadInput, EdgewrightError, Problems, UsageError, Where, shown
from edgewright.core.files import is_there, read_limited
from edgewright.core.words import did_you_mean, quote_names

LARGEST_LIST = 1 << 28
# Enough to see what is wrong; a list of a million bad lines must not become a million errors.
PROBLEMS_KEPT = 200
# A name may stand in quotes; what follows ':=' reaches up to the next name, spaces included.
# Possessive repeats remember nothing of a line of megabytes.
_NAMED = re.compile(r"""(?:^|(?<=\s))("[^"]*+"|'[^']*+'|(?!:=)[^\s:]*+(?::(?!=)[^\s:]*+)*+):=""")
_WORD = re.compile(r"""(?:[^\s"']++|"[^"]*+"|'[^']*+')++""")


@dataclass(frozen=True)
class InputLine:
    """The files of one set by input name; an empty name stands for all inputs in one .npz file."""

    number: int
    files: Mapping[str, Path]


@dataclass(frozen=True)
class InputList:
    """The sets in their order, and the tensors that lines beginning with % or # ask for."""

    path: Path
    lines: tuple[InputLine, ...]
    tensors: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()


def read_input_list(path: Path | str, inputs: Sequence[str], spellings: Mapping[str, str]) -> InputList:
    """Reads a list for the inputs of a model; everything wrong with its lines comes at once.

    Args:
        path: the list. Relative paths in it count from the current folder, else from the list's own.
        inputs: names of the model's inputs in order.
        spellings: other spellings of input names (as sanitized in artifacts) to the names themselves.
    """
    path = Path(path)
    texts = _read_lines(path)
    layers, tensors, start = _parse_head(texts)
    known = {**spellings, **{name: name for name in inputs}}
    lines: list[InputLine] = []
    # A line that is repeated is looked up once: its files are not asked for a million times.
    parsed: dict[str, dict[str, Path]] = {}
    problems: list[EdgewrightError] = []
    for number, text in enumerate(texts[start:], start=start + 1):
        if not text or text.startswith(("#", "%")):
            continue
        try:
            if text not in parsed:
                parsed[text] = _parse_line(text, inputs, known, path)
            lines.append(InputLine(number, parsed[text]))
        except EdgewrightError as problem:
            where = Where(file=str(path), detail=f"line {number}")
            problems.append(type(problem)(problem.what, where, problem.do))
        if len(problems) >= PROBLEMS_KEPT:
            break
    if problems:
        raise Problems(problems)
    if not lines:
        raise BadInput(
            "the input list names no files",
            Where(file=str(path)),
            do="write one line for each set of inputs: NAME:=FILE NAME:=FILE, or FILE for a single input",
        )
    return InputList(path, tuple(lines), tensors, layers)


def check_head(path: Path | str) -> tuple[str, ...]:
    """The outputs that a list names; lines of layers (#) must stand before lines of tensors (%)."""
    path = Path(path)
    texts = _read_lines(path)
    layers, tensors, start = _parse_head(texts)
    kinds = [text[0] for text in texts[:start] if text]
    if kinds != sorted(kinds):
        late = 1 + max(number for number, text in enumerate(texts[:start]) if text.startswith("#"))
        raise UsageError(
            "a line of layers (#) stands behind one of tensors (%), expected it before",
            Where(file=str(path), detail=f"line {late}"),
            do="put the lines that begin with # first",
        )
    return (*layers, *tensors)


def split_line(text: str, path: Path) -> list[tuple[str, Path]]:
    """The files of a line of the list ``path``, each with the name of its input or ''; no model is known."""
    named = list(_NAMED.finditer(text))
    if not named:
        whole = _find_file(_strip_quotes(text), path)
        words = (
            [whole]
            if is_there(whole)
            else [_find_file(_strip_quotes(word), path) for word in _WORD.findall(text)]
        )
        return [("", word) for word in words]
    borders = [*(item.start() for item in named[1:]), len(text)]
    return [
        (_strip_quotes(item.group(1)), _find_file(_strip_quotes(text[item.end() : end].strip()), path))
        for item, end in zip(named, borders, strict=True)
    ]


def _read_lines(path: Path) -> list[str]:
    try:
        whole = read_limited(path, LARGEST_LIST).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BadInput(
            f"the input list is not UTF-8 text (byte {problem.start})",
            Where(file=str(path)),
            do="give a text file; the inputs themselves are named in it",
        ) from None
    return [line.strip() for line in whole.split("\n")]


def _parse_head(texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Layers and tensors named before the first set, and where the sets begin."""
    names: dict[str, list[str]] = {"#": [], "%": []}
    for index, text in enumerate(texts):
        if text and text[0] not in names:
            return tuple(names["#"]), tuple(names["%"]), index
        if text:
            names[text[0]] += text[1:].split()
    return tuple(names["#"]), tuple(names["%"]), len(texts)


def _parse_line(text: str, inputs: Sequence[str], known: Mapping[str, str], path: Path) -> dict[str, Path]:
    named = list(_NAMED.finditer(text))
    if not named:
        return _parse_by_position(text, inputs, path)
    if text[: named[0].start()].strip():
        raise BadInput("the line mixes files with and without names", do="name all of them: NAME:=FILE")
    files: dict[str, Path] = {}
    for item, following in zip(named, [*named[1:], None], strict=True):
        end = len(text) if following is None else following.start()
        name = _find_input(_strip_quotes(item.group(1)), known, inputs)
        if name in files:
            raise BadInput(f"input '{shown(name)}' is named twice")
        files[name] = _find_file(_strip_quotes(text[item.end() : end].strip()), path)
    missing = [name for name in inputs if name not in files]
    if missing:
        raise BadInput(
            f"{len(files)} of {len(inputs)} inputs are named, missing: {quote_names(missing)}",
            do="name a file for each input",
        )
    return files


def _parse_by_position(text: str, inputs: Sequence[str], path: Path) -> dict[str, Path]:
    words = [_strip_quotes(word) for word in _WORD.findall(text)]
    # A path with spaces that nobody put in quotes.
    if len(words) > 1 and len(inputs) == 1 and is_there(_find_file(_strip_quotes(text), path)):
        words = [_strip_quotes(text)]
    files = [_find_file(word, path) for word in words]
    if len(files) == 1 and files[0].suffix == ".npz" and len(inputs) > 1:
        return {"": files[0]}
    if len(files) != len(inputs):
        raise BadInput(
            f"{len(files)} files are given for {len(inputs)} inputs: {quote_names(inputs)}",
            do="give one file for each input, in this order, or with names: NAME:=FILE; put paths with "
            "spaces in quotes",
        )
    return dict(zip(inputs, files, strict=True))


def _find_input(name: str, known: Mapping[str, str], inputs: Sequence[str]) -> str:
    if name not in known:
        raise UsageError(
            f"input '{shown(name)}' is not in the model, which has {quote_names(inputs)}",
            do=did_you_mean(name, inputs),
        )
    return known[name]


def _find_file(text: str, path: Path) -> Path:
    if not text:
        raise BadInput("a name is given without a file", do="write NAME:=FILE without spaces around ':='")
    if is_there(text):
        return Path(text)
    beside = path.parent / text
    return beside if is_there(beside) else Path(text)


def _strip_quotes(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
