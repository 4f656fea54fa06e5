"""Rows of a sweep: which are the best of their model, and how they are written."""

import csv
import io

import pytest

from edgewright.build.sweep_plan import plan_sweep
from edgewright.build.sweep_records import SweepRecord, SweepRow, mark_best, to_csv
from edgewright.config.zoo import Zoo, make_zoo
from edgewright.core.errors import Problems


def row(precision, *, model="m", weights=100, lost=0.0, cost=1.0, verdict="met"):
    return SweepRow(
        model, "SM8650", precision, "built", weight_bytes=weights, lost=lost, cost=cost, verdict=verdict
    )


def test_a_row_is_best_where_no_other_of_its_model_is_as_good_in_all_and_better_in_one():
    rows = (
        row("w4a8", weights=50, lost=5.0, cost=0.5),
        row("w8a8", lost=1.0),
        row("w8a16", lost=1.5, cost=2.0),
        row("fp16", weights=200, lost=0.0, cost=4.0),
        row("w8a8", model="other", lost=9.0),
        SweepRow("m", "SM8650", "auto", error="damaged"),
    )
    assert [each.is_best for each in mark_best(rows)] == [True, True, False, True, True, False]


def test_equal_rows_are_both_best_and_what_is_gained_by_chance_counts_as_nothing():
    rows = mark_best((row("a", lost=-0.5), row("b", lost=0.0)))
    assert [each.is_best for each in rows] == [True, True]


def test_a_limit_is_unmet_where_no_precision_of_a_model_keeps_it():
    rows = (
        row("a", verdict="missed"),
        row("b", verdict="met"),
        row("a", model="x", verdict="not proven"),
        row("a", model="y", verdict="no limit"),
    )
    assert SweepRecord(rows, (), "").unmet == ("x for SM8650",)


def test_the_table_has_a_line_for_each_row_and_nothing_for_what_is_unknown():
    (line,) = csv.DictReader(io.StringIO(to_csv([row("a,b", lost=None)]).decode()))
    assert (line["precision"], line["lost"], line["weight_bytes"]) == ("a,b", "", "100")


def test_models_of_one_name_are_told_apart(tmp_path):
    for name in ("net.onnx", "net.tflite", "deep/net.onnx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    fields = {"models": ["net.onnx", "net.tflite", "deep/net.onnx"], "targets": ["v73"], "random_data": True}
    names = [each.folder for each in plan_sweep(*make_zoo(fields, tmp_path))]
    assert names == ["net_onnx/v73_auto", "net_tflite/v73_auto", "net_onnx_2/v73_auto"]


def test_targets_and_missing_data_are_said_with_everything_else(tmp_path):
    (tmp_path / "net.onnx").touch()
    (tmp_path / "list.txt").touch()
    models = ["net.onnx", {"model": "net2.onnx"}]
    zoo, problems = make_zoo({"models": models, "targets": ["SM8650", "SM9999"]}, tmp_path)
    with pytest.raises(Problems) as refusal:
        plan_sweep(zoo, problems)
    texts = [each.what for each in refusal.value.errors]
    assert any("there is no model 'net2.onnx'" in text for text in texts)
    assert any("target 'SM9999' is unknown" in text for text in texts)
    assert any("model 'net' has no data" in text for text in texts)
    listed, _ = make_zoo({"models": "net.onnx", "targets": "v73", "data": "list.txt"}, tmp_path)
    with pytest.raises(Problems, match="lists files, which workers may not have"):
        plan_sweep(listed)


def test_an_empty_zoo_has_no_builds():
    assert plan_sweep(Zoo((), ("v73",))) == []
