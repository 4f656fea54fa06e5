"""A stranger's YAML file as a tree of texts: no tags, no references, nothing deep, nothing large."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewright.core.errors import BadInput, LimitExceeded, Where, shown
from edgewright.core.files import read_limited
from edgewright.core.words import did_you_mean

LARGEST_FILE = 1 << 22
DEEPEST = 16
MOST_EVENTS = 1 << 18
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True)
class Entry:
    """One place in the file: a text, a list or a table."""

    node: Any
    file: str

    def text(self) -> str | None:
        """The text that stands here, None where nothing does; a list of texts is joined by commas."""
        if self._kind() == "list":
            return ",".join(item.text() or "" for item in self.items())
        if self._kind() != "text":
            raise self.wrong("a table stands where a single value is expected")
        is_plain = self.node.style is None
        return None if is_plain and self.node.value in _NOTHING else str(self.node.value)

    def items(self) -> Iterator["Entry"]:
        """The items of a list; nothing at all is an empty list."""
        if self._is_nothing():
            return
        if self._kind() != "list":
            raise self.wrong(
                f"a {self._kind()} stands where a list is expected", do="begin each item with '-'"
            )
        for item in self.node.value:
            yield Entry(item, self.file)

    def fields(self, known: Sequence[str]) -> dict[str, "Entry"]:
        """The fields of a table by name; other names than the known ones are an error."""
        if self._is_nothing():
            return {}
        if self._kind() != "table":
            raise self.wrong(f"a {self._kind()} stands where fields are expected: {', '.join(known)}")
        found: dict[str, Entry] = {}
        for key, value in self.node.value:
            name = Entry(key, self.file).text() or ""
            if name not in known:
                raise Entry(key, self.file).wrong(
                    f"field '{shown(name)}' is unknown, expected one of: {', '.join(known)}",
                    do=did_you_mean(name, known),
                )
            if name in found:
                raise Entry(key, self.file).wrong(f"field '{name}' is there twice, expected once")
            found[name] = Entry(value, self.file)
        return found

    def wrong(self, what: str, do: str = "") -> BadInput:
        """An error about this place."""
        return BadInput(what, Where(file=self.file, detail=f"line {self.node.start_mark.line + 1}"), do)

    def _is_nothing(self) -> bool:
        return self._kind() == "text" and self.text() is None

    def _kind(self) -> str:
        return {"scalar": "text", "sequence": "list", "mapping": "table"}[str(self.node.id)]


def read_tree(path: Path | str, template: str = "--dump_io_config_template") -> Entry:
    """The tree of a file; an empty file is an error, answered with the option that writes a template."""
    import yaml

    where = Where(file=str(path))
    content = read_limited(path, LARGEST_FILE)
    try:
        text = content.decode("utf-8-sig")
        _check_events(yaml.parse(text, yaml.SafeLoader), where)
        node = yaml.compose(text, yaml.SafeLoader)
    except UnicodeDecodeError as problem:
        raise BadInput(f"the file is not UTF-8 text (byte {problem.start})", where) from None
    except yaml.YAMLError as problem:
        raise _make_yaml_error(problem, where) from None
    if node is None:
        raise BadInput("the file is empty", where, do=f"{template} writes one to start from")
    return Entry(node, str(path))


def read_values(path: Path | str) -> Any:
    """The same file as lists, tables, texts and numbers; tags that are no part of plain YAML are refused."""
    import yaml

    try:
        return yaml.safe_load(read_limited(path, LARGEST_FILE).decode("utf-8-sig"))
    except yaml.YAMLError as problem:
        raise _make_yaml_error(problem, Where(file=str(path))) from None


def _check_events(events: Any, where: Where) -> None:
    """Refuses what could make a small file a large tree, before a tree is built."""
    import yaml

    depth = 0
    for number, event in enumerate(events):
        line = Where(where.file, detail=f"line {event.start_mark.line + 1}")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise BadInput("references (& and *) are not read", line, do="write the values out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST or number > MOST_EVENTS:
            raise LimitExceeded(
                f"the file nests deeper than {DEEPEST} or has more than {MOST_EVENTS} parts", line
            )


def _make_yaml_error(problem: Any, where: Where) -> BadInput:
    mark, why = getattr(problem, "problem_mark", None), getattr(problem, "problem", None)
    place = where if mark is None else Where(where.file, detail=f"line {mark.line + 1}")
    return BadInput(f"the file is no YAML: {shown(why or type(problem).__name__)}", place)
