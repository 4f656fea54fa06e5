"""Sentences and tables: plain lines anywhere, drawn by rich on a terminal."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from edgewright.core.errors import shown

LONGEST_CELL = 80


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


def format_plain(blocks: Sequence[Block]) -> str:
    """All blocks as text, with an empty line around tables."""
    text = "\n".join(line for block in blocks for line in _format_block(block))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def show(blocks: Sequence[Block]) -> None:
    """Print to stdout, drawn on a terminal, plain elsewhere."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        _draw(blocks)
    else:
        print(format_plain(blocks))


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


def _draw(blocks: Sequence[Block]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(highlight=False)
    for block in blocks:
        if isinstance(block, str):
            console.print(Text(block))
            continue
        drawn = Drawn(title=Text(block.title), title_justify="left", box=box.SIMPLE_HEAD)
        for column, header in enumerate(block.headers):
            drawn.add_column(
                Text(header), justify="right" if column in block.right else "left", overflow="fold"
            )
        # Text and not str: a name in brackets is not markup.
        for row in block.cells():
            drawn.add_row(*(Text(cell) for cell in row))
        console.print(drawn)
