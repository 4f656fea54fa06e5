"""Benches write their tables into the pages themselves, and the list of dates follows from the tables."""

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import tables
from benchmarks.tables import Table, list_dates, replace_dates

PAGE = """# Page

<!-- dates -->
<!-- end of dates -->

## Speed

<!-- table: speed -->
| model | ms |
|---|---|
| first | 1 |
| second | 2 |
| second | 3 |

Both are slow.

2026-01-01, `python -m bench`, 2 cores
<!-- end of table -->

Words of a person.

<!-- table: other -->
| a |
|---|
| b |

2026-02-02, `python -m other`, 2 cores
<!-- end of table -->
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    path = tmp_path / "page.md"
    path.write_text(PAGE, "utf-8")
    monkeypatch.setattr(tables, "DOCS", tmp_path)
    return path


def write_speed(*rows: tuple[str, str], part: str = "") -> None:
    table = Table("speed", ("model", "ms"), Namespace(write=True, filter=part))
    for row in rows:
        table.add(*row)
    table.finish("Everything is fast.", runs=["2026-03-03, `python -m bench --write`, 4 cores"])


def test_a_whole_run_replaces_rows_notes_and_conditions_and_nothing_else(page):
    write_speed(("second", "9"), ("third", "8"))
    text = page.read_text("utf-8")
    assert "| second | 9 |\n| third | 8 |\n\nEverything is fast.\n\n2026-03-03" in text
    assert "first" not in text
    assert "Both are slow." not in text
    assert "2026-01-01" not in text
    assert "Words of a person.\n\n<!-- table: other -->\n| a |" in text


def test_a_run_of_a_part_keeps_other_rows_and_their_conditions(page):
    write_speed(("second", "9"), ("third", "8"), part="d")
    text = page.read_text("utf-8")
    assert "|---|---|\n| first | 1 |\n| second | 9 |\n| third | 8 |\n\n2026-01-01, `python -m bench`" in text
    assert "2 cores\n\n2026-03-03, `python -m bench --write`, 4 cores\n<!-- end of table -->" in text
    assert "slow" not in text
    assert "fast" not in text


def test_an_earlier_run_of_the_same_part_is_no_longer_named(page):
    write_speed(("second", "9"), part="second")
    write_speed(("second", "7"), part="second")
    assert page.read_text("utf-8").count("2026-03-03, `python -m bench --write`") == 1


def test_a_part_is_not_put_under_other_columns(page):
    table = Table("speed", ("model", "seconds"), Namespace(write=True, filter="first"))
    table.add("first", "5")
    with pytest.raises(SystemExit, match=r"other columns in page\.md"):
        table.finish()
    assert page.read_text("utf-8") == PAGE


def test_the_list_of_dates_is_that_of_the_tables_below_each_heading(page):
    write_speed(("first", "1"))
    assert "| table | measured |\n|---|---|\n| Speed | 2026-02-02 to 2026-03-03 |\n<!--" in page.read_text(
        "utf-8"
    )


def test_nothing_is_written_that_was_not_asked_for(page):
    table = Table("speed", ("model", "ms"), Namespace(write=False))
    table.add("first", "5")
    table.finish()
    assert page.read_text("utf-8") == PAGE


def test_the_page_of_benchmarks_lists_when_each_of_its_tables_was_measured():
    text = (Path(__file__).parents[3] / "docs" / "benchmarks.md").read_text("utf-8")
    assert len(list(list_dates(text))) > 10
    assert replace_dates(text) == text
