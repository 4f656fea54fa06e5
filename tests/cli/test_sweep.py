"""`edgewright sweep`: one page for all builds; nothing is built twice, a poisoned model is one error."""

import csv
import json
from importlib import import_module

import numpy as np
import pytest

import edgewright as ew
from edgewright.tools.sweep_command import main
from tests.cli.models import DIGITS_MODEL


@pytest.fixture
def zoo(tmp_path, monkeypatch):
    """A folder with a model, one that is damaged, and digits; builds are simulated, which is quicker."""
    for module in ("backends.htp.provider", "build.preflight"):
        monkeypatch.setattr(import_module(f"edgewright.{module}"), "find_libraries", lambda: None)
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        arrays = {"Input3": stored["images"][:40, None].astype(np.float32), "labels": stored["labels"][:40]}
    np.savez(tmp_path / "digits.npz", **arrays)
    (tmp_path / "digits.onnx").write_bytes(DIGITS_MODEL.read_bytes())
    (tmp_path / "poisoned.onnx").write_bytes(b"this is no model")
    (tmp_path / "zoo.yaml").write_text(
        "models: [digits.onnx, poisoned.onnx]\ntargets: SM8650\nprecisions: [w8a8, fp16]\ndata: digits.npz\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sweep_builds_all_that_it_can_and_says_the_rest_once(zoo, capsys):
    words = ["zoo.yaml", "-o", "out", "--workers", "0"]
    assert main(words) == 3
    printed = capsys.readouterr()
    assert printed.out.count("not an ONNX model") == 1
    assert "failed: poisoned, 2 builds: bad-input" in printed.out
    assert "2 of 4 builds failed" in printed.err
    rows = list(csv.DictReader((zoo / "out" / "sweep.csv").open()))
    assert [(row["model"], row["precision"], row["status"]) for row in rows] == [
        ("digits", "w8a8", "built"),
        ("digits", "fp16", "built"),
        ("poisoned", "w8a8", "failed"),
        ("poisoned", "fp16", "failed"),
    ]
    assert rows[0]["is_best"] == "True"
    assert float(rows[1]["weight_bytes"]) > float(rows[0]["weight_bytes"])
    page = (zoo / "out" / "sweep.html").read_text("utf-8")
    assert "<script src" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    for name in ("w8a8", "fp16"):
        report = zoo / "out" / "digits" / f"SM8650_{name}" / "report.json"
        assert json.loads(report.read_text())["folder"] == str(report.parent)
        assert "edgewright-sweep-" not in report.with_suffix(".html").read_text("utf-8")


def test_what_is_known_is_not_built_again_and_a_changed_model_is(zoo, capsys):
    words = [
        "digits.onnx",
        "--data",
        "digits.npz",
        "--targets",
        "v73",
        "--precisions",
        "w8a8",
        "--workers",
        "0",
    ]
    assert main([*words, "-o", "out", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main([*words, "-o", "elsewhere", "--store", "out/.sweep", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert [record["rows"][0]["is_reused"] for record in (first, second)] == [False, True]
    assert (zoo / "elsewhere" / "digits" / "v73_w8a8" / "report.html").exists()
    arrays = dict(np.load(zoo / "digits.npz"))
    np.savez(zoo / "digits.npz", **{**arrays, "labels": arrays["labels"][::-1]})
    assert main([*words, "-o", "out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["is_reused"] is False


def test_a_limit_that_no_precision_keeps_is_exit_code_5(zoo, capsys):
    (zoo / "zoo.yaml").write_text(
        "models: digits.onnx\ntargets: v73\nprecisions: w8a8\ndata: digits.npz\nmax_drop: 0.1\n"
    )
    assert main(["zoo.yaml", "-o", "out", "--workers", "0"]) == 5
    assert "no precision is proven to keep the limit of max_drop: digits for v73" in capsys.readouterr().err


def test_what_is_wrong_with_the_file_is_said_before_anything_is_built(zoo, capsys):
    (zoo / "zoo.yaml").write_text("models: [digit.onnx]\ntargets: [SM86]\nprecision: w8a8\n")
    assert main(["zoo.yaml", "-o", "out"]) == 3
    printed = capsys.readouterr().err
    for words in (
        "there is no model 'digit.onnx'",
        "target 'SM86' is unknown",
        "option 'precision' is unknown",
    ):
        assert words in printed
    assert not (zoo / "out").exists()


def test_a_dry_run_lists_the_builds_and_writes_nothing(zoo, capsys):
    assert main(["zoo.yaml", "-o", "out", "--dry-run", "--precisions", "w8a16"]) == 0
    assert "poisoned  SM8650  w8a16\n2 builds; nothing was written" in capsys.readouterr().out
    assert not (zoo / "out").exists()


def test_python_sweeps_in_the_same_way_and_all_files_may_be_kept(zoo):
    record = ew.sweep(
        ["digits.onnx"], "digits.npz", targets="v73", precisions="w8a8", output="out", workers=0, keep="files"
    )
    (row,) = record.rows
    assert (row.status, row.verdict, row.metric) == ("built", "no limit", "right-answers")
    assert (zoo / "out" / row.folder / "digits.dlc").exists()
    assert "digits" in repr(record)
    with pytest.raises(ew.EdgewrightError, match="keep is 'all'"):
        ew.sweep("digits.onnx", "digits.npz", targets="v73", output="out", keep="all")
