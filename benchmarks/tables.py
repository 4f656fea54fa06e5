"""Tables that benches write into the pages of docs/ themselves, each with the conditions of its runs.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``. Below its rows come what they
amount to and a line for each run that rows are of. A whole run replaces everything; a run of a part
(``--filter``) replaces its rows, adds its line, and leaves out what all rows amounted to.
``python -m benchmarks.tables`` writes the list of dates at the head of docs/benchmarks.md anew.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.conditions import describe_conditions
from edgewright.core.files import write_whole

__all__ = ["Table", "add_write_option", "list_dates", "replace_dates", "replace_table"]

DOCS = Path(__file__).parents[1] / "docs"
LISTED = DOCS / "benchmarks.md"
TABLE = re.compile(r"<!-- table: (\S+) -->\n(.*?)<!-- end of table -->", re.DOTALL)
DATES = re.compile(r"<!-- dates -->\n(.*?)<!-- end of dates -->", re.DOTALL)
HEADING = re.compile(r"^##+ (.*)$", re.MULTILINE)
CONDITIONS = re.compile(r"^\d{4}-\d\d-\d\d, `.*$", re.MULTILINE)


def add_write_option(parser: argparse.ArgumentParser) -> None:
    """Adds ``--write``, which every bench with a table has."""
    parser.add_argument("--write", action="store_true", help="put the table into its page of docs/")


class Table:
    """Rows that are printed as they come, and written into their page in the end if that is asked for."""

    def __init__(
        self, name: str, columns: Sequence[str], options: argparse.Namespace, packages: Sequence[str] = ()
    ) -> None:
        self._name, self._rows = name, list[str]()
        self._is_written, self._is_part = options.write, bool(getattr(options, "filter", ""))
        self._packages = packages
        self._head = f"{_join_cells(columns)}\n{'|---' * len(columns)}|"
        print(self._head, flush=True)

    def add(self, *cells: object) -> None:
        """Prints a row; where ``--filter`` replaces rows, the first cell says which."""
        self._rows.append(_join_cells(cells))
        print(self._rows[-1], flush=True)

    def finish(self, *notes: str, runs: Sequence[str] = ()) -> None:
        """Prints what the rows amount to and the conditions, and writes the table where that is asked for.

        Where rows are of earlier runs, ``runs`` has a line for each of them.
        """
        conditions = list(runs) or [describe_conditions(*self._packages).strip()]
        print("\n".join(["", *notes, "", *conditions]))
        if self._is_written:
            self._write(notes, conditions)

    def _write(self, notes: Sequence[str], conditions: list[str]) -> None:
        page = _find_page(self._name)
        text = page.read_text("utf-8")
        old = next(match[2] for match in TABLE.finditer(text) if match[1] == self._name)
        if self._is_part:
            if not old.startswith(self._head):
                raise SystemExit(
                    f"'{self._name}' has other columns in {page.name}: write the whole table first"
                )
            rows, lines, notes = _merge_rows(old, self._rows), _merge_conditions(old, conditions[0]), ()
        else:
            rows, lines = self._rows, conditions
        parts = ["\n".join([self._head, *rows]), *notes, *lines]
        text = replace_table(text, self._name, "\n\n".join(part for part in parts if part))
        write_whole(page, [replace_dates(text).encode()])


def replace_table(text: str, name: str, table: str) -> str:
    """The text of a page with another table of this name."""
    return TABLE.sub(
        lambda match: (
            f"<!-- table: {name} -->\n{table}\n<!-- end of table -->" if match[1] == name else match[0]
        ),
        text,
    )


def replace_dates(text: str) -> str:
    """The text of a page whose list of dates, where it has one, is that of its tables."""
    rows = "\n".join(f"| {heading} | {date} |" for heading, date in list_dates(text))
    block = f"<!-- dates -->\n| table | measured |\n|---|---|\n{rows}\n<!-- end of dates -->"
    return DATES.sub(lambda _: block, text)


def list_dates(text: str) -> Iterator[tuple[str, str]]:
    """The headings that have tables below them, and when the rows of these were measured."""
    dates: dict[str, list[str]] = {}
    for match in TABLE.finditer(text):
        heading = HEADING.findall(text, 0, match.start())[-1]
        dates.setdefault(heading, []).extend(line[:10] for line in CONDITIONS.findall(match[2]))
    for heading, days in dates.items():
        first, last = min(days, default="never"), max(days, default="never")
        yield heading, first if first == last else f"{first} to {last}"


def _find_page(name: str) -> Path:
    """The page that holds the table of this name."""
    mark = f"<!-- table: {name} -->"
    return next(page for page in sorted(DOCS.glob("*.md")) if mark in page.read_text("utf-8"))


def _merge_rows(old: str, rows: Sequence[str]) -> list[str]:
    """The rows of a table with newer ones in their places, new models at the end."""
    lines = old.split("\n\n", maxsplit=1)[0].strip().splitlines()[2:]
    fresh = {_get_key(row) for row in rows}
    kept = [_get_key(line) for line in lines]
    merged = list[str]()
    for line, key in zip(lines, kept, strict=True):
        if key not in fresh:
            merged.append(line)
        elif line is lines[kept.index(key)]:
            merged += [row for row in rows if _get_key(row) == key]
    return merged + [row for row in rows if _get_key(row) not in kept]


def _merge_conditions(old: str, conditions: str) -> list[str]:
    """The lines of all runs; an earlier run of the same command has no row left."""
    command = conditions.split("`")[1]
    return [line for line in CONDITIONS.findall(old) if line.split("`")[1] != command] + [conditions]


def _get_key(row: str) -> str:
    return row.split("|")[1].strip()


def _join_cells(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    write_whole(LISTED, [replace_dates(LISTED.read_text("utf-8")).encode()])
