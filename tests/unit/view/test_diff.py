"""Comparisons of runs, of golden tensors and a run, and of two folders of outputs."""

import csv
import json
from dataclasses import asdict

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, EdgewrightError, UnsupportedFeature, UsageError
from edgewright.view.diff.request import DiffRun, load_run, read_run
from edgewright.view.diff.run_diff import run_diff
from edgewright.view.document import make_document
from tests.unit.view.sample_models import save_convolution

MODEL, LIST = {"model_json": "small_net.json", "input_list": "list.txt"}, "list.txt"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A quantized convolution, two samples, and the float model's tensors in its own axes."""
    home = tmp_path_factory.mktemp("diff")
    save_convolution(home / "small.onnx")
    data = np.random.default_rng(0).standard_normal((2, 1, 3, 8, 8)).astype(np.float32)
    source = ew.convert(home / "small.onnx")
    ew.quantize(source, data).save(home / "small.cpp")
    for number, sample in enumerate(data):
        sample.tofile(home / f"{number}.raw")
        place = home / "golden" / f"Result_{number}"
        place.mkdir(parents=True)
        source.run({"image": sample})["result"].astype(np.float32).tofile(place / "result.raw")
    (home / LIST).write_text("".join(f"{home / f'{number}.raw'}\n" for number in range(2)))
    return home


def make(**changes):
    return {"one": MODEL, "two": {**MODEL, "runtime": "htp-sim"}, **changes}


def read_rows(file):
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def test_two_inferences_are_compared_by_accuracy_and_time(folder):
    model = run_diff(read_run(make(verifier="MSE", accuracy_threshold=0.5, working_dir="two")), folder)
    graph = model.graphs[0]
    accuracy, performance = model.overlays[graph.name]
    assert set(accuracy.values) == {node.name for node in graph.nodes}
    # A transposition may cost nothing.
    assert {"conv", "relu"} <= set(performance.values) <= set(accuracy.values)
    assert (accuracy.threshold, performance.threshold) == (0.5, 0.01)
    convolution = next(node.name for node in graph.nodes if node.type == "Conv2d")
    rows = dict(model.diffs[graph.name].rows[convolution])
    assert rows["execute performance"].split()[1] == "%:"
    assert [name.split(" Run ")[1] for name in rows if " Run " in name] == ["1", "2"]
    home = folder / "two"
    assert {path.name for path in home.iterdir()} == {
        *("csv_outputs", "inference_engine", "intermediate_files", "verification")
    }
    assert len(read_rows(home / "csv_outputs" / "accuracy.csv")) == 2 * len(graph.nodes)
    times = read_rows(home / "csv_outputs" / "performance.csv")
    assert all(int(row["Different"]) == (abs(float(row["Percent"])) > 1) for row in times)
    assert load_run(home / "intermediate_files" / "diff_run.json").verifier == "MSE"
    assert (home / "verification" / "Result_1" / "summary.csv").is_file()


def test_golden_tensors_in_the_axes_of_the_framework_are_compared_run_by_run(folder):
    given = make(use_case="Golden vs Inference", golden="golden", verifier="SQNR", working_dir="golden_run")
    model = run_diff(read_run(given), folder)
    rows = read_rows(folder / "golden_run" / "csv_outputs" / "accuracy.csv")
    assert [row["Run"] for row in rows if row["Tensor"] == "result"] == ["1", "2"]
    # In the wrong axes it would be noise.
    assert all(float(row["SQNR"]) > 25 for row in rows)
    assert "execute performance" not in json.dumps(make_document(model))


def test_outputs_of_an_earlier_run_are_compared_without_running(folder):
    run_diff(read_run(make(working_dir="first")), folder)
    sides = [f"first/inference_engine/inference_{name}/output" for name in ("one", "two")]
    given = make(use_case="Output vs Output", golden=sides[0], results=sides[1], working_dir="again")
    run_diff(read_run(given), folder)
    before, after = (read_rows(folder / name / "csv_outputs" / "accuracy.csv") for name in ("first", "again"))
    assert before == after
    assert not (folder / "again" / "inference_engine").exists()
    framework = {**given, "golden": "golden", "verifier": "SQNR"}
    run_diff(read_run(framework), folder)
    scores = [float(row["SQNR"]) for row in read_rows(folder / "again" / "csv_outputs" / "accuracy.csv")]
    assert min(scores) > 25


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"use_case": "Other"}, UsageError, "use case"),
        ({"verifier": "Nothing"}, UsageError, "verifier"),
        ({"parameters": {"k": "3"}}, UsageError, "no hyper-parameter 'k'"),
        ({"parameters": {"rtolmargin": "-1"}}, UsageError, "not negative"),
        ({"accuracy_threshold": -1}, UsageError, "0 or more"),
        ({"accuracy_threshold": "x"}, UsageError, "0 or more"),
        ({"one": []}, BadInput, "no JSON object"),
        ({"command": "rm"}, BadInput, "'command', which is unknown"),
        ({"one": {**MODEL, "runtime": "tpu"}}, UsageError, "runtime is 'tpu'"),
        ({"one": {}, "two": {}}, UsageError, "model of inference one, .*input list of inference two"),
        ({"use_case": "Output vs Output"}, UsageError, "golden tensors.*that are compared"),
        (
            {"one": {**MODEL, "target_device": "on-device", "device_id": "ab12"}},
            UnsupportedFeature,
            "device 'ab12' is not reached",
        ),
    ],
)
def test_what_a_form_sends_is_checked(changes, kind, message):
    with pytest.raises(kind, match=message):
        read_run(make(**changes))


@pytest.mark.parametrize(
    "place", ["../outside_net.json", "/etc/passwd", "link_net.json", "folder/../../x.json"]
)
def test_no_path_leads_out_of_the_folder(folder, tmp_path, place):
    (tmp_path / "outside_net.json").write_text("{}")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link_net.json").symlink_to(tmp_path / "outside_net.json")
    with pytest.raises(EdgewrightError, match=r"leads out|absolute|'\.\.'"):
        run_diff(read_run(make(one={**MODEL, "model_json": place})), inner)
    with pytest.raises(EdgewrightError, match=r"leads out|absolute|'\.\.'"):
        run_diff(read_run(make(working_dir="../elsewhere")), folder)


def test_a_saved_run_is_the_same_when_it_is_loaded(tmp_path):
    run = read_run(make(verifier="TopK", parameters={"k": "3"}, perf_threshold=0.5))
    (tmp_path / "run.json").write_bytes(run.to_json())
    assert load_run(tmp_path / "run.json") == run
    assert asdict(read_run({**asdict(DiffRun()), **make()}))["accuracy_threshold"] == 0.01
