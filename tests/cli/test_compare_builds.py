"""`edgewright compare-builds`: what changed between two builds, and how it ends."""

import json
import re
from dataclasses import replace

import pytest

import edgewright as ew
from edgewright.core.plain import to_json
from edgewright.tools.compare_builds_command import main
from tests.browser.sample_build import HOSTILE, hostile, record


def write_build(folder, given):
    """A folder as a build leaves it."""
    folder.mkdir()
    (folder / "report.json").write_bytes(to_json(given))
    return folder


@pytest.fixture
def first(tmp_path):
    return write_build(tmp_path / "first", record())


@pytest.fixture
def worse(tmp_path):
    """The same model, 3 points worse for sure, in another version, with one layer farther away."""
    plain = record()
    loss = replace(plain.verdict.loss, points=plain.verdict.loss.points + 3, low=2.0, high=4.0)
    layers = (replace(plain.layers[0], sim_db=(plain.layers[0].sim_db or 40) - 12), *plain.layers[1:])
    return write_build(
        tmp_path / "second",
        replace(
            plain,
            verdict=replace(plain.verdict, word="missed", loss=loss),
            layers=layers,
            versions=(("edgewright", "0.2.0"), plain.versions[1]),
            artifacts=(replace(plain.artifacts[0], size=99999), *plain.artifacts[1:]),
        ),
    )


def test_a_worse_build_is_exit_code_5_and_everything_that_changed_is_said(call, first, worse, tmp_path):
    page = tmp_path / "changes.html"
    answer = call(main, first, worse, "-o", page)
    assert answer.code == 5
    assert "is worse than" in answer.err
    for pattern in (
        r"verdict +met +missed +worse",
        r"edgewright +0.1.0 +0.2.0",
        r"htp_context.bin +\S+ kB +\S+ kB",
        r"0 better, 1 worse",
        r"-12.0",
    ):
        assert re.search(pattern, answer.out), pattern
    text = page.read_text(encoding="utf-8")
    assert "0.2.0" in text
    assert "-12.0" in text


def test_the_same_build_has_not_changed(call, first, tmp_path):
    answer = call(main, first, first, "--json", "-o", tmp_path / "page.html")
    assert answer.code == 0
    comparison = json.loads(answer.out)
    assert not any(comparison[key] for key in ("warnings", "options", "versions", "artifacts", "layers"))
    assert {change["tone"] for change in comparison["summary"]} == {"other"}


def test_a_better_build_is_no_failure(first, worse):
    comparison = ew.compare_builds(worse, first)
    assert not comparison.is_worse
    assert comparison.summary[0].tone == "better"


def test_other_samples_and_models_are_a_warning(first, tmp_path):
    plain = record()
    other = write_build(
        tmp_path / "other", replace(plain, source=replace(plain.source, sha256="cd" * 32), data=("other",))
    )
    assert len(ew.compare_builds(first, other).warnings) == 2


@pytest.mark.parametrize("content", [None, b"{}", b"[", b'{"command": 1}'])
def test_a_folder_without_a_record_is_bad_input(call, first, tmp_path, content):
    (tmp_path / "empty").mkdir()
    if content is not None:
        (tmp_path / "empty" / "report.json").write_bytes(content)
    answer = call(main, first, tmp_path / "empty")
    assert answer.code == 3
    assert "build again" in answer.err or "-o of edgewright build" in answer.err


def test_hostile_names_stay_text(call, first, tmp_path):
    given = hostile()
    names = write_build(tmp_path / "names", replace(given, versions=((HOSTILE, HOSTILE),)))
    call(main, first, names, "-o", tmp_path / "page.html")
    assert "<script>document" not in (tmp_path / "page.html").read_text(encoding="utf-8")
