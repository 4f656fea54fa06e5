"""The generated reference is what the code says now."""

import pytest

from docs import generate


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", list(generate.PAGES))
def test_a_reference_page_is_fresh(name: str) -> None:
    stored = (generate.REFERENCE / name).read_text()
    assert stored == generate.GENERATED + generate.PAGES[name](), "run 'make docs' and commit the difference"
