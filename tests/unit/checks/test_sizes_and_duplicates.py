from __future__ import annotations

from pathlib import Path

from checks import duplicates, sizes

BODY = "".join(f"    step_{i}({i})\n" for i in range(8))


def test_a_file_at_the_limit_fails_and_one_below_is_noted(tmp_path: Path, capsys):
    (tmp_path / "long.py").write_text("x = 1\n" * 799)
    assert sizes.main([str(tmp_path)]) == 0
    assert "note: " in capsys.readouterr().out
    (tmp_path / "long.py").write_text("x = 1\n" * 800)
    assert sizes.main([str(tmp_path)]) == 1
    assert "long.py: 800 lines, the limit is 800, split it" in capsys.readouterr().out


def test_a_function_at_the_limit_fails_with_its_name(tmp_path: Path, capsys):
    (tmp_path / "a.py").write_text("def huge():\n" + "    x = 1\n" * 79)
    assert sizes.main([str(tmp_path)]) == 1
    assert "a.py:1: function 'huge': 80 lines" in capsys.readouterr().out


def test_a_method_of_forty_lines_is_noted_without_failing(tmp_path: Path, capsys):
    (tmp_path / "a.py").write_text("class A:\n    async def long(self):\n" + "        x = 1\n" * 39)
    assert sizes.main([str(tmp_path)]) == 0
    assert "note: " in capsys.readouterr().out


def test_generated_files_have_no_limit(tmp_path: Path):
    folder = tmp_path / "_generated"
    folder.mkdir()
    (folder / "schema.py").write_text("x = 1\n" * 2000)
    assert sizes.measure(tmp_path) == []


def test_a_folder_that_is_not_there_is_no_problem(tmp_path: Path):
    missing = str(tmp_path / "nothing")
    assert sizes.main([missing]) == 0
    assert duplicates.main([missing]) == 0


def test_a_copied_function_is_found_in_both_places(tmp_path: Path, capsys):
    (tmp_path / "a.py").write_text(f"def one():\n{BODY}")
    (tmp_path / "b.py").write_text(f"import os\n\ndef other():\n{BODY}")
    assert duplicates.main([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert out.count("the same 6 or more lines") == 1, "one run is one line, however long it is"
    assert "a.py:2: the same 6 or more lines as" in out
    assert "b.py:4" in out


def test_a_copy_inside_one_file_counts(tmp_path: Path):
    (tmp_path / "a.py").write_text(f"def one():\n{BODY}\n\ndef other():\n{BODY}")
    assert len(duplicates.find_copies(tmp_path).lines) == 16


def test_five_equal_lines_are_no_copy(tmp_path: Path):
    body = "".join(BODY.splitlines(keepends=True)[:5])
    (tmp_path / "a.py").write_text(f"def one():\n{body}")
    (tmp_path / "b.py").write_text(f"def other():\n{body}")
    assert duplicates.find_copies(tmp_path).share == 0


def test_equal_imports_and_repeated_rows_are_no_copies(tmp_path: Path):
    imports = "from os import (\n" + "".join(f"    name_{i},\n" for i in range(9)) + ")\n"
    (tmp_path / "a.py").write_text(imports)
    (tmp_path / "b.py").write_text(imports + "rows = [\n" + "    0,\n" * 9 + "]\n")
    assert duplicates.find_copies(tmp_path).share == 0


def test_the_budget_is_two_percent_of_the_lines(tmp_path: Path):
    (tmp_path / "a.py").write_text(f"def one():\n{BODY}")
    (tmp_path / "b.py").write_text(f"def other():\n{BODY}")
    for other_lines, verdict in ((700, 1), (900, 0)):  # 16 copied lines: 2.2 % and 1.7 %
        (tmp_path / "c.py").write_text("".join(f"value_{i} = {i}\n" for i in range(other_lines)))
        assert duplicates.main([str(tmp_path)]) == verdict
