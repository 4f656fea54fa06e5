"""The generated reference is what the code says now."""

import pytest

import edgewright
from docs import generate


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", list(generate.PAGES))
def test_a_reference_page_is_fresh(name: str) -> None:
    stored = (generate.REFERENCE / name).read_text()
    assert stored == generate.GENERATED + generate.PAGES[name](), "run 'make docs' and commit the difference"


def test_every_command_and_every_public_name_has_its_section() -> None:
    options, names = (generate.PAGES[page]() for page in ("options.md", "api.md"))
    assert "edgewright build" in generate.tools()
    assert [name for name in generate.tools() if f"\n## {name}\n" not in options] == []
    assert [name for name in edgewright.__all__ if f"\n## `edgewright.{name}`\n" not in names] == []


def test_every_page_of_the_reference_is_generated() -> None:
    assert sorted(page.name for page in generate.REFERENCE.iterdir()) == sorted(generate.PAGES)
