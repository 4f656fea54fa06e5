"""The page of every example of the reference guide and the course chapter, from `tests/guide`."""

from collections import Counter
from collections.abc import Sequence

from tests.guide.example import COURSE, GUIDE, Example
from tests.guide.inventory import EXAMPLES

ABOUT = """# Every example of the guide

The commands, configurations and snippets of the QNN reference guide (v2.22.6) and of the QNN chapter of the
Edge AI course, and what runs each of them here: `tests/guide` types it in with our models in the place of
theirs, or another test does. Lines are those of each book's text. `pytest tests/guide -m slow` runs them,
`-m exhaustive` the longest.

"""
TITLES = {GUIDE: "Reference guide", COURSE: "Course chapter"}


def examples_page() -> str:
    """Counts, then a row for each example."""
    lines = [
        ABOUT + "| | examples | run here | run by other tests | not run |\n|---|---|---|---|---|",
        *(_count(book) for book in TITLES),
    ]
    for book, title in TITLES.items():
        lines += [f"\n## {title}\n", "| lines | what | how |", "|---|---|---|"]
        lines += [_describe(example) for example in _list(book)]
    return "\n".join(lines) + "\n"


def _list(book: str) -> Sequence[Example]:
    return [example for example in EXAMPLES if example.book == book]


def _count(book: str) -> str:
    kinds = Counter("run" if one.run else "test" if one.test else "why" for one in _list(book))
    return f"| {TITLES[book]} | {kinds.total()} | {kinds['run']} | {kinds['test']} | {kinds['why']} |"


def _describe(example: Example) -> str:
    first, last = example.lines
    if example.run:
        how = "<br>".join(f"`{_join(line)}`" for line in _list_commands(example.run))
        how += f" (exit code {example.code})" if example.code else ""
    elif example.test:
        how = f"by {example.test.replace('::', ', ')}"
    else:
        how = f"not run: {example.why}"
    return f"| {first}-{last} | {example.what} | {how} |"


def _list_commands(text: str) -> list[str]:
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def _join(line: str) -> str:
    """One line of a table: spaces once, bars escaped."""
    return " ".join(line.split()).replace("|", "\\|")
