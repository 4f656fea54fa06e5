"""Skips by reason, over the JUnit files of two runs."""

from pathlib import Path

from checks import skips

NO_TORCH = "torch is not installed"


def junit(path: Path, *cases: str) -> str:
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return str(path)


def ran(name: str, module: str = "tests.a") -> str:
    return f'<testcase classname="{module}" name="{name}" />'


def skipped(name: str, reason: str, module: str = "tests.a") -> str:
    skip = f'<skipped message="{reason}">a.py:1</skipped>'
    return f'<testcase classname="{module}" name="{name}">{skip}</testcase>'


def skipped_module(name: str, reason: str) -> str:
    text = f"('a.py', 3, &quot;Skipped: {reason}&quot;)"
    skip = f'<skipped message="collection skipped">{text}</skipped>'
    return f'<testcase classname="" name="{name}">{skip}</testcase>'


def test_known_reasons_are_counted_and_accepted(tmp_path: Path, capsys):
    known = [skipped(f"t{i}", "root may write everywhere") for i in range(3)]
    assert skips.main([junit(tmp_path / "1.xml", ran("x"), *known)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "3 skipped: root may write everywhere",
        "skips: 3 tests for 1 reasons",
    ]


def test_a_reason_that_nobody_knows_fails(tmp_path: Path, capsys):
    assert skips.main([junit(tmp_path / "1.xml", skipped("t", "it is Monday"))]) == 1
    assert "error: not a known reason: 1 skipped: it is Monday" in capsys.readouterr().out


def test_a_package_that_make_installs_is_no_reason_unless_a_later_run_has_it(tmp_path: Path):
    first = junit(tmp_path / "1.xml", skipped("t", NO_TORCH), skipped_module("tests.b", NO_TORCH))
    half = junit(tmp_path / "2.xml", ran("t"))
    whole = junit(tmp_path / "3.xml", ran("t"), ran("u", "tests.b"))
    assert skips.main([first]) == 1
    assert skips.main([first, half]) == 1
    assert skips.main([first, whole]) == 0


def test_what_both_runs_skip_counts_once(tmp_path: Path):
    files = [junit(tmp_path / f"{i}.xml", skipped("t", "root may write everywhere")) for i in range(2)]
    assert skips.list_skips([skips.read_run(Path(file)) for file in files]).total() == 1


def test_more_reasons_than_the_limit_fail(tmp_path: Path, capsys):
    many = [skipped(f"t{i}", f"p{i}==1 cannot be fetched here") for i in range(skips.LIMIT + 1)]
    assert skips.main([junit(tmp_path / "1.xml", *many[:-1])]) == 0
    assert skips.main([junit(tmp_path / "1.xml", *many)]) == 1
    assert "11 reasons, the limit is 10" in capsys.readouterr().out
