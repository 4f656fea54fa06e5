"""Vocabularies of translation models: text files, JSON, or pickles, which are read as data and never run."""

import pickletools
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from edgewright.core.errors import BadInput, UnsupportedFeature, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.json_text import parse_json

LARGEST_FILE = 256 << 20
MOST_CODES = 4_000_000
# Classes whose state is looked at; what they are made with is kept, none is imported.
KNOWN_CLASSES = ("collections.", "torchtext.", "onmt.", "torch.", "builtins.set", "__builtin__.set")
FORM = "save a token a line as a text file: '\\n'.join(vocabulary.itos)"
_MARK = object()


def read_vocabulary(path: Path) -> list[str]:
    """Tokens by their numbers.

    A text file has a token a line (what follows a tab is ignored), JSON a list or the number of each token; a
    pickle, or an archive of torch.save, is searched for the list ``itos`` of OpenNMT's fields.
    """
    data = read_limited(path, LARGEST_FILE)
    where = Where(file=str(path))
    if data[:2] == b"PK":
        return _find_tokens(_read_pickle(_unpack(path, where), where), where)
    if data[:1] == b"\x80":
        return _find_tokens(_read_pickle(data, where), where)
    try:
        text = data.decode("utf-8-sig")
        if path.suffix == ".json":
            return _find_tokens(parse_json(text), where)
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"the vocabulary cannot be read: {shown(problem)}", where, do=FORM) from None
    return [line.split("\t")[0] for line in text.splitlines()]


def _unpack(path: Path, where: Where) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [item for item in archive.infolist() if item.filename.endswith("data.pkl")]
            if len(names) == 1 and names[0].file_size <= LARGEST_FILE:
                return archive.read(names[0])
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as problem:
        raise BadInput(f"the archive cannot be read: {shown(problem)}", where, do=FORM) from None
    raise BadInput("the archive holds no pickle 'data.pkl'", where, do=FORM)


def _find_tokens(value: Any, where: Where) -> list[str]:
    """The list of tokens: the value itself, what it numbers, or the source's ``itos`` inside."""
    for held in (value, *(item for key, item in _walk(value) if key == "itos")):
        if isinstance(held, list) and held and all(isinstance(token, str) for token in held):
            return held
        if isinstance(held, dict) and held and all(_is_number(place) for place in held.values()):
            places = {place: str(token) for token, place in held.items()}
            if sorted(places) == list(range(len(held))):
                return [places[place] for place in range(len(held))]
    raise BadInput("the file holds no vocabulary: neither a list of tokens nor their numbers", where, do=FORM)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _walk(value: Any) -> Iterator[tuple[Any, Any]]:
    """Keys and what they hold, however deep; each thing once."""
    waiting, known = [value], set()
    while waiting:
        held = waiting.pop(0)
        if id(held) in known or not isinstance(held, dict | list | tuple):
            continue
        known.add(id(held))
        pairs = list(held.items()) if isinstance(held, dict) else [(None, item) for item in held]
        yield from pairs
        waiting += [item for _, item in pairs]


def _read_pickle(data: bytes, where: Where) -> Any:
    """Plain values of a pickle; an object is the dictionary of its state, and nothing is called."""
    machine = _Machine(where)
    try:
        for code, argument, _ in islice(pickletools.genops(data), MOST_CODES):
            if code.name == "STOP":
                return machine.stack.pop()
            machine.step(code.name, argument)
    except (
        ValueError,
        TypeError,
        IndexError,
        KeyError,
        AttributeError,
        RecursionError,
        MemoryError,
    ) as problem:
        raise BadInput(f"the pickle cannot be read: {shown(problem, 80)}", where, do=FORM) from None
    raise BadInput(f"the pickle has more than {MOST_CODES} codes", where, do=FORM)


class _Machine:
    """The stack of a pickle, of which only codes for plain values are known."""

    def __init__(self, where: Where) -> None:
        self.stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._where = where

    def step(self, code: str, argument: Any) -> None:
        """One code."""
        if code in PLAIN:
            self.stack.append(argument)
        elif code in FIXED:
            self.stack.append(FIXED[code]())
        elif code in {"BINPUT", "LONG_BINPUT", "PUT"}:
            self._memo[int(argument)] = self.stack[-1]
        elif code == "MEMOIZE":
            self._memo[len(self._memo)] = self.stack[-1]
        elif code in {"BINGET", "LONG_BINGET", "GET"}:
            self.stack.append(self._memo[int(argument)])
        elif code in {"GLOBAL", "STACK_GLOBAL"}:
            name = str(argument).replace(" ", ".") if code == "GLOBAL" else ".".join(map(str, self._pop(2)))
            self._check_class(name)
            self.stack.append({"class": name})
        elif code not in {"PROTO", "FRAME"}:
            self._combine(code)

    def _combine(self, code: str) -> None:
        """The codes that make one value of those on the stack."""
        if code in {"TUPLE1", "TUPLE2", "TUPLE3"}:
            self.stack.append(tuple(self._pop(int(code[-1]))))
        elif code in {"TUPLE", "LIST", "FROZENSET"}:
            items = self._pop_marked()
            self.stack.append(items if code == "LIST" else tuple(items))
        elif code in {"APPEND", "APPENDS", "ADDITEMS"}:
            items = self._pop(1) if code == "APPEND" else self._pop_marked()
            self.stack[-1].extend(items)
        elif code in {"SETITEM", "SETITEMS", "DICT"}:
            items = self._pop(2) if code == "SETITEM" else self._pop_marked()
            if code == "DICT":
                self.stack.append({})
            self.stack[-1].update(zip(items[::2], items[1::2], strict=True))
        elif code in {"NEWOBJ", "REDUCE"}:
            named, given = self._pop(2)
            self.stack.append({"class": named, "given": given})
        elif code == "BUILD":
            (state,) = self._pop(1)
            self.stack[-1]["state"] = state
        elif code == "BINPERSID":
            self.stack[-1] = None
        elif code == "POP":
            self.stack.pop()
        else:
            raise ValueError(f"code {code}")

    def _check_class(self, name: str) -> None:
        if not name.startswith(KNOWN_CLASSES):
            raise UnsupportedFeature(
                f"the pickle names '{shown(name, 80)}', which is no part of a vocabulary; nothing was run",
                self._where,
                do=f"check where the file comes from, or {FORM}",
            )

    def _pop(self, count: int) -> list[Any]:
        if count > len(self.stack):
            raise IndexError("the stack is empty")
        items = self.stack[-count:]
        del self.stack[-count:]
        return items

    def _pop_marked(self) -> list[Any]:
        place = max(place for place, item in enumerate(self.stack) if item is _MARK)
        items = self.stack[place + 1 :]
        del self.stack[place:]
        return items


PLAIN = frozenset(
    {
        *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "INT", "LONG", "BINFLOAT", "FLOAT"),
        *(
            "BINUNICODE",
            "SHORT_BINUNICODE",
            "BINUNICODE8",
            "UNICODE",
            "BINSTRING",
            "SHORT_BINSTRING",
            "STRING",
        ),
        *("BINBYTES", "SHORT_BINBYTES"),
    }
)
FIXED: dict[str, Callable[[], Any]] = {
    "MARK": lambda: _MARK,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": list,
}
