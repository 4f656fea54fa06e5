"""The page of a profile in a real browser: nothing is fetched, bars are drawn, heads sort, both themes."""

import pytest

from edgewright.model.profile.measure import profile_log
from edgewright.reports.profile_files import make_log_file
from tests.browser.sample_build import EXAMPLES
from tests.optional import NEEDS_BROWSER

pytestmark = list(NEEDS_BROWSER)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "profile.html"
    log = profile_log(EXAMPLES / "models" / "mnist_cntk.onnx", "cpu", runs=3)
    path.write_bytes(b"".join(make_log_file(str(path), log)))
    return path


@pytest.fixture
def page(browser, page_file):
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened.said = []
    opened.on("console", lambda message: opened.said.append(message.text))
    opened.on("pageerror", lambda error: opened.said.append(str(error)))
    opened.on("request", lambda request: opened.said.append(request.url))
    opened.goto(page_file.as_uri())
    opened.said.remove(page_file.as_uri())
    yield opened
    opened.close()


def test_nothing_is_fetched_and_no_error_is_said(page):
    page.wait_for_timeout(200)
    assert page.said == []


def test_bars_are_as_wide_as_they_should_be(page):
    boxes = [bar.bounding_box() for bar in page.locator("svg rect").all()]
    assert len(boxes) >= 6
    assert all(box["width"] > 0 and box["height"] > 30 for box in boxes)
    assert max(box["x"] + box["width"] for box in boxes) <= 1280


def test_a_click_on_a_head_sorts_by_its_numbers(page):
    head = page.locator("#ops th", has_text="MACs").first
    head.click()
    cells = page.locator("#ops tbody tr td:nth-child(6)")
    result = [int(cell.get_attribute("data-v")) for cell in cells.all()]
    assert result == sorted(result, reverse=True)
    head.click()
    result = [int(cell.get_attribute("data-v")) for cell in cells.all()]
    assert result == sorted(result)


def test_the_button_changes_the_theme(page):
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(colour)
    page.click("#theme")
    assert page.evaluate(colour) != before
    page.click("#theme")
    assert page.evaluate(colour) == before


def test_a_narrow_window_does_not_scroll_sideways(page):
    page.set_viewport_size({"width": 400, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
