"""Sentences and tables as plain lines or as HTML, and objects that show themselves so."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from edgewright.core.errors import shown

LONGEST_CELL = 80
# Rows that an object shows of itself; whoever needs all of them has the object.
MOST_ROWS = 10


@dataclass(frozen=True)
class Table:
    """Rows under headers; the numbered columns are aligned to the right."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()

    def cells(self) -> list[list[str]]:
        """The rows with names from files made printable."""
        return [[shown(cell, LONGEST_CELL) for cell in row] for row in self.rows]


Block = str | Table


class Displayed:
    """Shows itself in a few lines, as tables in a notebook, and by its public names to tab completion."""

    def _list_blocks(self) -> list[Block]:
        raise NotImplementedError

    def __repr__(self) -> str:
        """The few lines."""
        return format_plain([_shorten_block(block) for block in self._list_blocks()])

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return format_html([_shorten_block(block) for block in self._list_blocks()])

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]


def format_plain(blocks: Sequence[Block]) -> str:
    """All blocks as text, with an empty line around tables."""
    text = "\n".join(line for block in blocks for line in _format_block(block))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def format_html(blocks: Sequence[Block]) -> str:
    """All blocks as a part of a page; every text is escaped."""
    parts = (f"<p>{html.escape(b)}</p>" if isinstance(b, str) else _format_html_table(b) for b in blocks)
    return "\n".join(parts)


def _format_block(block: Block) -> list[str]:
    if isinstance(block, str):
        return [block]
    cells = [list(block.headers), *block.cells()]
    widths = [max(len(row[column]) for row in cells) for column in range(len(block.headers))]
    rows = ["  ".join(_pad_row(row, widths, block.right)).rstrip() for row in cells]
    return ["", f"{block.title}:", *(f"  {row}" for row in rows), ""]


def _pad_row(row: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> list[str]:
    return [
        cell.rjust(width) if column in right else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _format_html_table(table: Table) -> str:
    head = _format_html_row(table.headers, "th", table.right)
    body = "\n".join(_format_html_row(row, "td", table.right) for row in table.cells())
    caption = html.escape(table.title)
    return f"<table><caption>{caption}</caption>\n<thead>{head}</thead>\n<tbody>{body}</tbody></table>"


def _format_html_row(cells: Sequence[str], tag: str, right: frozenset[int]) -> str:
    sides = ("right" if column in right else "left" for column in range(len(cells)))
    parts = (
        f'<{tag} style="text-align:{side}">{html.escape(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(parts)}</tr>"


def _shorten_block(block: Block) -> Block:
    if isinstance(block, str) or len(block.rows) <= MOST_ROWS:
        return block
    rest = len(block.rows) - MOST_ROWS
    last = (f"and {rest} more", *[""] * (len(block.headers) - 1))
    return Table(block.title, block.headers, (*block.rows[:MOST_ROWS], last), block.right)
