"""Every Python block in README and docs/guide runs, block after block, as a reader would."""

import re
import shutil
from pathlib import Path

import pytest

from tests.optional import page_params

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", page_params(PAGES))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in BLOCK.findall(page.read_text()):
        exec(compile(code, page.name, "exec"), names)


def test_links_between_pages_lead_somewhere() -> None:
    tutorials = (ROOT / "docs" / "guide" / "tutorials").glob("*.md")
    for page in [*PAGES, *tutorials, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
