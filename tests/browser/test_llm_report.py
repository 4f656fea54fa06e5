"""The report of a language model in a browser, wide and narrow."""

import numpy as np
import pytest

from edgewright.llm.quantize_model import quantize_language_model
from edgewright.llm.recipe import Recipe
from edgewright.reports.llm_report import write_report
from tests.optional import NEEDS_BROWSER
from tests.unit.llm.checkpoints import write_checkpoint

pytestmark = list(NEEDS_BROWSER)
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llm")
    checkpoint = write_checkpoint(folder / HOSTILE)
    np.save(folder / "text.npy", np.random.default_rng(1).integers(3, 96, 700))
    for precision in ("int4", "fp32"):
        made = quantize_language_model(
            checkpoint,
            "onnx",
            recipe=Recipe(precision),
            output=folder / f"{HOSTILE}-{precision}",
            text=folder / "text.npy",
        )
        page = write_report(folder, checkpoint, made)
    return page


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_wider_than_the_page_and_nothing_runs(browser, path, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    problems = []
    page.on("pageerror", lambda problem: problems.append(str(problem)))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#files tbody tr").count() == 2
    assert page.locator("#files .bar b").count() == 2
    assert page.locator("#layers tbody tr").count() == 10
    page.click("#files th >> nth=2")
    page.click("#theme")
    page.locator("#use .code button").first.click()
    assert page.evaluate("document.documentElement.dataset.theme") in {"dark", "light"}
    page.close()
    assert problems == []
