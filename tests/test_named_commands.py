"""Commands that texts name exist, with the options that they are named with."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = [
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY", "ARCHITECTURE")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "reference"),
    *sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")),
]
CODE = re.compile(r"```.*?```|`([^`]+)`", re.DOTALL)
FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


def read_tools() -> dict[str, set[str]]:
    """The options of every command, from the reference that is generated of them."""
    text = (ROOT / "docs" / "reference" / "options.md").read_text("utf-8")
    sections = re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return {name: set(FLAG.findall(section)) for name, section in sections}


def read_bench(module: str) -> set[str] | None:
    """The options that a bench, or what it imports of its folder, spells."""
    file = ROOT / (module.replace(".", "/") + ".py")
    if not file.exists():
        return None
    text = file.read_text("utf-8")
    imported = (ROOT / "benchmarks" / f"{name}.py" for name in re.findall(r"benchmarks\.(\w+) import", text))
    return set(FLAG.findall("\n".join([text, *(each.read_text("utf-8") for each in imported)])))


def list_named(text: str) -> Iterator[str]:
    """What stands in backquotes within a line."""
    for match in CODE.finditer(text):
        if match[1]:
            yield " ".join(match[1].split())


def find_fault(words: str, tools: dict[str, set[str]], targets: set[str]) -> str | None:
    """What is wrong with a command that a text names."""
    if make := re.match(r"make ([a-z-]+)", words):
        return None if make[1] in targets else f"no such target: {words}"
    if bench := re.match(r"(?:\w+=\w+ )*python -m ((?:benchmarks|tests)\.[\w.]+)(.*)", words):
        known, rest = read_bench(bench[1]), bench[2]
        if known is None:
            return f"no such module: {words}"
    else:
        name = max((name for name in tools if f"{words} ".startswith(f"{name} ")), key=len, default="")
        if not name:
            is_one = re.match(r"edgewright [a-z][^|]*$", words) and words != "edgewright llm"
            return f"no such command: {words}" if is_one else None
        known, rest = tools[name], words.removeprefix(name)
    return next((f"no option {flag}: {words}" for flag in FLAG.findall(rest) if flag not in known), None)


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_a_text_names_exist(page):
    tools = read_tools()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert "build" in {name.removeprefix("edgewright ") for name in tools}
    named = list_named(page.read_text("utf-8"))
    assert [fault for words in named if (fault := find_fault(words, tools, targets))] == []
