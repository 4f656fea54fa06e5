"""The page of a sweep in a browser: rows, filters, the plot, and names that try to be markup."""

import pytest

from edgewright.build.sweep_records import SweepRecord, SweepRow, mark_best
from edgewright.reports.sweep import render_sweep
from tests.optional import NEEDS_BROWSER

pytestmark = list(NEEDS_BROWSER)

FIGURES = {"w4a8": (50, 5.0, 0.5), "w8a8": (100, 1.0, 1.0), "w8a16": (100, 1.5, 2.0)}
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def page(browser, tmp_path):
    rows = [
        SweepRow(
            model,
            "SM8650",
            precision,
            "built",
            chosen=precision,
            verdict="met" if lost < 2 else "missed",
            weight_bytes=weights,
            lost=lost,
            cost=cost,
            passes=3.0,
            seconds=1.0,
            folder=f"{model}/{precision}",
        )
        for model in ("one", "two")
        for precision, (weights, lost, cost) in FIGURES.items()
    ]
    rows.append(SweepRow(HOSTILE, "SM8650", "w8a8", error_code="bad-input", error="damaged", do="export it"))
    path = tmp_path / "sweep.html"
    path.write_bytes(b"".join(render_sweep(SweepRecord(mark_best(rows), (), ""))))
    opened = browser.new_page()
    problems = []
    opened.on("pageerror", lambda problem: problems.append(str(problem)))
    opened.on("dialog", lambda dialog: problems.append(dialog.message))
    opened.goto(path.as_uri())
    yield opened
    opened.close()
    assert problems == []


def test_all_rows_are_there_and_filters_leave_some(page):
    assert page.locator("#rows tbody tr").count() == 7
    assert page.locator("#front circle").count() == 6
    assert page.locator("#front polyline").count() == 2
    # Of weights and loss, w8a16 is beaten by w8a8.
    assert page.locator("#front circle.best").count() == 4
    page.select_option("[data-filter=model]", "one")
    assert page.locator("#rows tbody tr").count() == 3
    page.fill("[data-most=lost]", "2")
    assert page.locator("#rows tbody tr").count() == 2
    assert "2 of 7 builds match" in page.inner_text("#shown")
    assert page.locator("#rows a").first.get_attribute("href") == "one/w8a8/report.html"


def test_other_figures_can_be_drawn_and_columns_sorted(page):
    page.select_option("#x", "cost")
    assert "cost" in page.inner_html("#front")
    page.click("th[data-sort=lost]")
    first = page.locator("#rows tbody tr").first.inner_text()
    assert "w8a8" in first
    page.click("th[data-sort=lost]")
    assert "damaged" in page.inner_text("#rows tbody")


def test_a_failed_build_says_why(page):
    page.select_option("[data-filter=status]", "failed")
    text = page.inner_text("#rows tbody")
    assert "bad-input: damaged" in text
    assert "export it" in text
    assert HOSTILE in text
