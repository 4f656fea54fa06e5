import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgewright.core.page import Table, format_plain
from edgewright.core.quantities import format_amount, format_bytes, format_shape
from edgewright.reports.json_text import as_json
from edgewright.reports.page import show

TABLE = Table("Things", ("name", "n"), (("a", "1"), ("long [bold]name", "10")), frozenset({1}))


def test_plain_text_lines_up_columns():
    assert format_plain(["first", TABLE, TABLE, "last"]) == (
        "first\n\n"
        "Things:\n  name              n\n  a                 1\n  long [bold]name  10\n\n"
        "Things:\n  name              n\n  a                 1\n  long [bold]name  10\n\n"
        "last"
    )


def test_names_are_made_printable():
    assert r"a\x1b[0m\n" in format_plain([Table("T", ("n",), (("a\x1b[0m\n",),))])


def test_without_a_terminal_the_text_is_plain(capsys):
    show([TABLE])
    assert capsys.readouterr().out == format_plain([TABLE]) + "\n"


def test_on_a_terminal_a_name_in_brackets_is_no_markup(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    show([TABLE, "a [red]sentence"])
    out = capsys.readouterr().out
    assert "long [bold]name" in out
    assert "a [red]sentence" in out
    assert "Things" in out


def test_a_dumb_terminal_gets_plain_text(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    show([TABLE])
    assert capsys.readouterr().out == format_plain([TABLE]) + "\n"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1 k"), (5994, "5.99 k"), (3_490_000, "3.49 M"), (4 * 10**15, "4000 T")],
)
def test_amounts_are_short(number, text):
    assert format_amount(number) == text


def test_sizes_and_shapes():
    assert (format_bytes(512), format_bytes(26454)) == ("512 B", "26.5 kB")
    assert (format_shape((1, "n", 3)), format_shape(())) == ("1,n,3", "scalar")


@dataclass(frozen=True)
class Record:
    path: Path
    values: tuple[float, ...]


def test_json_is_json_whatever_the_numbers_are():
    text = as_json(Record(Path("a"), (1.0, float("inf"), float("nan"))))
    assert json.loads(text, parse_constant=pytest.fail) == {"path": "a", "values": [1.0, "inf", "nan"]}
