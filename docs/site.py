"""Builds the website from README, guide and reference, without a network: python -m docs.site [--out DIR].

The reports that it shows are made anew, which takes a minute, unless --reports names a folder of them.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from docs.live_reports import REPORTS, make_reports

ROOT = Path(__file__).resolve().parents[1]
# Pages that stand beside docs/ in the repository, and what the website calls them.
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "LICENSE": "license.md",
}
LINK = re.compile(r"(\]\()([^)#\s]+)")
SETTINGS = """\
site_name: Edgewright
docs_dir: pages
theme:
  font: false
  features:
    - navigation.tabs
    - navigation.sections
    - navigation.indexes
    - navigation.top
    - search.highlight
    - content.code.copy
  palette:
    - {scheme: default, toggle: {icon: material/weather-night, name: dark}}
    - {scheme: slate, toggle: {icon: material/weather-sunny, name: light}}
plugins: [search]
extra_css: [site.css]
use_directory_urls: false
markdown_extensions: [admonition, attr_list, tables, toc, pymdownx.superfences]
nav:
"""
SECTIONS = {
    "Tutorials": "guide/tutorials/*.md",
    "Reference": "reference/*.md",
    "Measured": "*.md",
    "Decisions": "decisions/*.md",
}


def read_chapters() -> dict[str, list[str]]:
    """The guide's pages below the headings of its first page: 'build.md', 'tutorials/tour.md'."""
    _, *parts = re.split(
        r"^## ", (ROOT / "docs" / "guide" / "index.md").read_text("utf-8"), flags=re.MULTILINE
    )
    return {part.splitlines()[0]: re.findall(r"\]\(([\w/-]+\.md)\)", part) for part in parts}


# Pages as a newcomer reads them; others follow by name. A link to a folder leads to its first page.
ORDER = (
    *("index", "platforms", "benchmarks", "builds"),
    *(Path(page).stem for pages in read_chapters().values() for page in pages),
    *("options", "api", "ops", "errors"),
)


def main() -> int:
    """Writes the site; fails where a link or an anchor leads nowhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "output" / "site")
    parser.add_argument("--reports", type=Path, help="what docs/live_reports.py made before")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as made:
        if options.reports is None:
            make_reports(Path(made))
        write_sources(Path(folder), options.reports or Path(made))
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        result = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
        if result.returncode:
            print(result.stdout, result.stderr.partition("Traceback")[0], sep="\n")
            return 1
        shutil.rmtree(options.out, ignore_errors=True)
        shutil.copytree(Path(folder) / "site", options.out)
    print(f"the website is in {options.out}; look at it with: python -m http.server -d {options.out}")
    return 0


def write_sources(folder: Path, reports: Path) -> None:
    """Lays out the pages as the website has them, with its settings beside them."""
    pages = folder / "pages"
    shutil.copytree(ROOT / "docs", pages, ignore=shutil.ignore_patterns("*.py", "__pycache__", "site"))
    for page in sorted(pages.rglob("*.md")):
        source = ROOT / "docs" / page.relative_to(pages)
        page.write_text(point_links(source.read_text("utf-8"), source), "utf-8")
    for name, target in OUTSIDE.items():
        if (ROOT / name).exists():
            text = (ROOT / name).read_text("utf-8")
            text = f"# Licence\n\n```text\n{text}```\n" if name == "LICENSE" else text
            (pages / target).write_text(point_links(text, ROOT / name), "utf-8")
    _copy_examples(pages, reports)
    (folder / "mkdocs.yml").write_text(SETTINGS + "\n".join(list_navigation(pages)) + "\n", "utf-8")


def _copy_examples(pages: Path, reports: Path) -> None:
    shutil.copytree(ROOT / "examples", pages / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    listed = ROOT / "examples" / "README.md"
    (pages / "examples" / "README.md").write_text(point_links(listed.read_text("utf-8"), listed), "utf-8")
    lines = [
        "# Reports to look at\n",
        "Each of these pages was written by its command; nothing on them is a picture.\n",
    ]
    for report in REPORTS:
        name = report.file.replace("/", "-")
        (pages / "reports").mkdir(exist_ok=True)
        shutil.copy(reports / report.file, pages / "reports" / name)
        title = f"{report.title[0].upper()}{report.title[1:]}"
        lines.append(f"- [{title}]({name})\n\n    `edgewright {report.words}`\n")
    (pages / "reports" / "index.md").write_text("\n".join(lines) + "\n", "utf-8")


def point_links(text: str, source: Path) -> str:
    """The text of one page with its links as they lead from the page's place on the website."""
    here = place_on_site(source).parent

    def point(match: re.Match[str]) -> str:
        target = match[2]
        if re.match(r"[a-z]+:", target):
            return match[0]
        place = place_on_site((source.parent / target).resolve())
        return match[1] + _relative(place, here)

    return LINK.sub(point, text)


def place_on_site(path: Path) -> Path:
    """Where the website has a file of the repository."""
    relative = path.relative_to(ROOT)
    if str(relative) in OUTSIDE:
        return Path(OUTSIDE[str(relative)])
    if relative.parts[0] == "docs":
        relative = Path(*relative.parts[1:])
    return _find_page_of_folder(path, relative)


def _find_page_of_folder(path: Path, relative: Path) -> Path:
    """A link to a folder leads to its first page."""
    pages = sort_pages(path.glob("*.md")) if path.is_dir() else []
    return relative / pages[0].name if pages else relative


def sort_pages(pages: Iterable[Path]) -> list[Path]:
    """Pages in the order in which they are read."""
    places = {name: place for place, name in reversed(list(enumerate(ORDER)))}
    return sorted(pages, key=lambda page: (places.get(page.stem, len(ORDER)), page.name))


def _relative(place: Path, here: Path) -> str:
    common = 0
    while common < min(len(place.parts) - 1, len(here.parts)) and place.parts[common] == here.parts[common]:
        common += 1
    return "/".join([".."] * (len(here.parts) - common) + list(place.parts[common:]))


def list_navigation(pages: Path) -> Iterator[str]:
    """The site's sections and pages, as lines of its settings."""
    yield "  - Home: index.md"
    yield "  - Guide:"
    yield "      - guide/index.md"
    for title, listed in read_chapters().items():
        yield f"      - {title}:"
        yield from (f"          - guide/{page}" for page in listed if "/" not in page)
    for title, pattern in SECTIONS.items():
        listed = [
            page
            for page in sort_pages(pages.glob(pattern))
            if str(page.relative_to(pages)) not in OUTSIDE.values()
        ]
        if listed:
            yield f"  - {title}:"
            yield from (f"      - {page.relative_to(pages)}" for page in listed)
    yield "  - Live reports: reports/index.md"
    yield "  - Project:"
    yield "      - examples/README.md"
    yield from (
        f"      - {target}"
        for name, target in OUTSIDE.items()
        if name != "README.md" and (ROOT / name).exists()
    )


if __name__ == "__main__":
    sys.exit(main())
