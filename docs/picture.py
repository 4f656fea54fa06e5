"""Draws docs/images/demo.svg, the picture in the README, from what the demo really prints."""

import io
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "demo.svg"
WIDTH = 118
STEPS = ("[2]", "[3]")
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main() -> None:
    """Runs the demo and writes what it says as an SVG that loads nothing from elsewhere."""
    run = subprocess.run(
        [sys.executable, "examples/demo.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    console = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False)
    for line in _shown(run.stdout.replace(f"{ROOT}/", "").strip().splitlines()):
        console.print(Text(line[:WIDTH], style=_style(line)))
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(FONTS.sub("", console.export_svg(title="make demo")))


def _shown(lines: list[str]) -> Iterator[str]:
    """The steps that make a good picture; the others are lists of files and times."""
    step = ""
    for line in lines:
        step = line[:3] if line.startswith("[") else step
        if step in STEPS:
            yield line


def _style(line: str) -> str:
    if line.startswith("["):
        return "bold cyan"
    if line.startswith(("  $ ", "  model =")):
        return "green"
    return "yellow" if line.startswith("note:") else "white"


if __name__ == "__main__":
    main()
