"""The page of `edgewright debug` in a real browser; skipped where Playwright or Chromium is missing."""

from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from tests.optional import NEEDS_BROWSER

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = list(NEEDS_BROWSER)


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory):
    page = tmp_path_factory.mktemp("debug") / "debug.html"
    digits = np.load(EXAMPLES / "data/digits.npz")["images"][::25, None].astype(np.float32)
    ew.debug(EXAMPLES / "models/mnist_cntk.onnx", digits, precision="w4a8", page=page)
    return page


@pytest.mark.parametrize("width", [390, 1400])
def test_words_of_tables_stay_whole_and_wide_parts_are_moved_by_themselves(browser, diagnosis, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(diagnosis.as_uri())
    header = page.locator("th", has_text="SQNR").first
    assert header.evaluate("cell => cell.clientHeight") < 40
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert page.locator("svg text").first.evaluate("text => text.getBoundingClientRect().height") > 9
    page.close()
