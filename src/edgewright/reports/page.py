"""Prints sentences and tables: plain lines anywhere, drawn by rich on a terminal."""

import os
import sys
from collections.abc import Sequence

from edgewright.core.page import Block, format_plain


def show(blocks: Sequence[Block]) -> None:
    """Print to stdout, drawn on a terminal, plain elsewhere."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        _draw(blocks)
    else:
        print(format_plain(blocks))


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
