from __future__ import annotations

from pathlib import Path

import pytest

import tests.conftest as shared


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shared, "GOLDEN", tmp_path)
    monkeypatch.delenv("UPDATE_GOLDEN", raising=False)
    return tmp_path


def test_a_recorded_text_is_found_equal_and_a_changed_one_shows_the_line(folder: Path, monkeypatch):
    with monkeypatch.context() as update:
        update.setenv("UPDATE_GOLDEN", "1")
        shared._compare_with_golden("deep/a.txt", "one\ntwo\n")
    assert (folder / "deep/a.txt").read_text() == "one\ntwo\n"
    shared._compare_with_golden("deep/a.txt", "one\ntwo\n")
    with pytest.raises(pytest.fail.Exception, match=r"(?s)deep/a.txt differs:.*-two.*\+three"):
        shared._compare_with_golden("deep/a.txt", "one\nthree\n")


def test_changed_bytes_are_reported_by_their_position(folder: Path):
    (folder / "a.bin").write_bytes(b"\xff\xfe\x01\x02")
    with pytest.raises(pytest.fail.Exception, match="differs from byte 2 on: 4 bytes recorded, 3 found"):
        shared._compare_with_golden("a.bin", b"\xff\xfe\x09")


def test_a_missing_golden_file_fails_instead_of_recording_itself(folder: Path):
    with pytest.raises(pytest.fail.Exception, match="is not there"):
        shared._compare_with_golden("new.txt", "text")
    assert not (folder / "new.txt").exists()
