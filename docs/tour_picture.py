"""Draws docs/images/tour.svg, a picture that moves, from what the commands of the tour really print."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guide" / "tutorials" / "tour.md"
PICTURE = ROOT / "docs" / "images" / "tour.svg"
SCENE = re.compile(r"^## (.+?)\n\n(.+?)\n\n```sh\n(.+?)```", re.DOTALL | re.MULTILINE)
WIDTH, HEIGHT = 116, 44  # letters and lines of the terminal
LETTER, LINE, MARGIN = 7.8, 18, 20
AT_ONCE = 6  # lines of a result that appear together
PROGRESS = re.compile(r"^[\w >-]+: (\d+ of \d+|\d+, |done)")
COLOURS = {
    "title": "#7dcfff",
    "why": "#9aa5ce",
    "command": "#9ece6a",
    "warning": "#e0af68",
    "plain": "#c0caf5",
}


@dataclass(frozen=True)
class Line:
    """A line of a scene: what it says, in which style, and when it appears, in seconds from the start."""

    text: str
    style: str
    start: float


@dataclass(frozen=True)
class Scene:
    """What is on the screen between two moments."""

    lines: tuple[Line, ...]
    end: float


def main() -> None:
    """Runs the tour in a new folder and writes an SVG that loads nothing from elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        PICTURE.write_text(draw_scenes(list(play_scenes(Path(folder)))), "utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


def play_scenes(folder: Path) -> Iterator[Scene]:
    """The scenes of the page, with what their commands print here."""
    now = 0.0
    for title, why, commands in SCENE.findall(PAGE.read_text("utf-8")):
        said = _run(commands, folder)
        scene = _lay_out(title, " ".join(why.split()), commands.strip().splitlines(), said, now)
        now = scene.end
        yield scene


def _run(commands: str, folder: Path) -> list[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-ec", commands],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": str(WIDTH)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    said = ended.stdout.replace(f"{folder}/", "").strip().splitlines()
    return [part for line in said if not PROGRESS.match(line) for part in _wrap(line.rstrip())]


def _wrap(line: str) -> list[str]:
    """A line of words that is too long goes on in the next, indented; rows of tables are cut."""
    if len(line) <= WIDTH or "   " in line.strip():
        return [line[:WIDTH]]
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * (len(line) - len(line.lstrip()) + 2))


def _lay_out(title: str, why: str, commands: list[str], said: list[str], start: float) -> Scene:
    """Title and reason first, then the command, then its result a few lines at a time, with time to read."""
    typed = [Line(f"$ {line}" if line[:1] != " " else f"  {line}", "command", start + 3) for line in commands]
    reasons = [Line(text, "why", start) for text in textwrap.wrap(why, WIDTH)]
    room = HEIGHT - len(typed) - len(reasons) - 3
    shown = said if len(said) <= room else [*said[: room - 1], f"... {len(said) - room + 1} more lines"]
    lines = [Line(title, "title", start), *reasons, Line("", "plain", start), *typed]
    for number, text in enumerate(shown):
        lines.append(Line(text, _choose_style(text), start + 5 + number // AT_ONCE))
    return Scene(tuple(lines), start + 5 + len(shown) // AT_ONCE + max(5, 0.4 * len(shown)))


def _choose_style(text: str) -> str:
    return "warning" if text.startswith(("warning", "note", "error")) else "plain"


def draw_scenes(scenes: list[Scene]) -> str:
    """The scenes as one SVG: each line is shown from its moment to the end of its scene, over and over."""
    length = scenes[-1].end
    spans = sorted({(line.start, scene.end) for scene in scenes for line in scene.lines})
    names = {span: f"t{number}" for number, span in enumerate(spans)}
    width, height = WIDTH * LETTER + 2 * MARGIN, HEIGHT * LINE + 2 * MARGIN
    body = "".join(_draw_scene(scene, names, scene is scenes[0]) for scene in scenes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        'aria-label="A tour: commands of Edgewright and what they print">\n'
        f"<style>{_write_style(names, length)}</style>\n"
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#1a1b26"/>\n{body}'
        f'<rect class="bar" y="{height - 4:.0f}" width="{width:.0f}" height="4" fill="#7dcfff"/>\n</svg>\n'
    )


def _draw_scene(scene: Scene, names: dict[tuple[float, float], str], is_first: bool) -> str:
    rows = []
    for number, line in enumerate(scene.lines):
        y = MARGIN + LINE * (number + 1)
        still = " still" if is_first else ""
        style = f"{names[line.start, scene.end]} {line.style}{still}"
        rows.append(f'<text class="{style}" x="{MARGIN}" y="{y}">{escape(line.text[:WIDTH])}</text>\n')
    return "".join(rows)


def _write_style(names: dict[tuple[float, float], str], length: float) -> str:
    rules = [
        "text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;opacity:0}",
        ".title{font-weight:bold}",
        ".bar{transform-origin:left;animation:bar " + f"{length:.0f}s linear infinite}}",
        "@keyframes bar{from{transform:scaleX(0)}to{transform:scaleX(1)}}",
        *(f".{style}{{fill:{colour}}}" for style, colour in COLOURS.items()),
    ]
    for (start, end), name in names.items():
        first, last = 100 * start / length, 100 * end / length
        rules.append(f".{name}{{animation:{name} {length:.0f}s step-end infinite}}")
        begin = "" if start == 0 else "0%{opacity:0}"
        rules.append(f"@keyframes {name}{{{begin}{first:.3f}%{{opacity:1}}{last:.3f}%{{opacity:0}}}}")
    # Who wants no motion sees the first scene.
    rules.append("@media(prefers-reduced-motion:reduce){*{animation:none!important}.still{opacity:1}}")
    return "".join(rules)


if __name__ == "__main__":
    main()
