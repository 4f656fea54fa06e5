"""qnn-accuracy-evaluator in config mode: schemas, data, plugins, calibration, globals, refusals."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import edgewright as ew
from edgewright.config.model_config import read_model_config
from edgewright.sdk.sdk_root import make_sdk_root
from edgewright.tools.qnn_accuracy_evaluator import main
from tests.cli.models import DIGITS_MODEL, save, token_net

CONFIG = """
model:
  info: {desc: digits, batchsize: 1}
  globals:
    count: 4
  dataset:
    name: digits
    path: data
    inputlist_file: list.txt
    annotation_file: truth.txt
    calibration: {type: index, file: index.txt}
    transformations:
      - plugin:
          name: filter_dataset
          params: {max_inputs: $count, max_calib: -1}
  processing:
    postprocessing:
      squash_results: True
  inference-engine:
    model_path: digits.onnx
    inference_schemas:
      - inference_schema: {name: qnn, backend: cpu, precision: fp32, tag: float}
      - inference_schema: {name: onnxrt, precision: fp32, is_ref: True, tag: source}
      - inference_schema:
          name: qnn
          backend: htp-sim
          precision: quant
          tag: fixed
          converter_params:
            param_quantizer: tf | enhanced
            use_per_channel_quantization: True | False
    inputs_info:
      - Input3: {type: float32, shape: ["*", 1, 28, 28]}
    outputs_info:
      - Plus214_Output_0: {type: float32, shape: ["*", 10]}
  evaluator:
    comparator: {enabled: True, fetch-top: 2, type: cos}
    metrics:
      - plugin:
          name: topk
          params: {kval: "1,5"}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(2)
    samples = (rng.random((6, 1, 1, 28, 28)) * 255).astype(np.float32)
    model = ew.convert(DIGITS_MODEL)
    answers = [int(model.run({"Input3": x})["Plus214_Output_0"].argmax()) for x in samples]
    # One answer of the first four is wrong: three of four are right.
    answers[1] = (answers[1] + 1) % 10
    for number, sample in enumerate(samples):
        sample.tofile(data / f"x{number}.raw")
    (data / "list.txt").write_text("".join(f"x{number}.raw\n" for number in range(6)))
    (data / "truth.txt").write_text("".join(f"x{number}.raw {answers[number]}\n" for number in range(6)))
    (data / "index.txt").write_text("0,2\n5\n")
    (tmp_path / "digits.onnx").write_bytes(Path(DIGITS_MODEL).read_bytes())
    (tmp_path / "c.yaml").write_text(CONFIG)
    return tmp_path


def change(here, old, new):
    text = (here / "c.yaml").read_text()
    assert old in text
    (here / "c.yaml").write_text(text.replace(old, new))


def read_csv(here):
    with (here / "qacc_temp" / "metrics-info.csv").open(newline="") as text:
        return {row["Inference schema"]: row for row in csv.DictReader(text)}


def test_a_configuration_is_evaluated_with_metrics_and_a_comparator(here, capsys):
    assert main(["-config", "c.yaml"]) == 0
    assert "6 schemas on 4 inputs" in capsys.readouterr().out
    rows = read_csv(here)
    assert list(rows)[:2] == ["schema1_onnxrt_fp32", "schema0_qnn_cpu_fp32"]
    assert {name for name in rows if name.startswith("schema2")} == {
        f"schema2_qnn_{name}" for name in ("tf_pcq", "tf", "enhanced_pcq", "enhanced")
    }
    assert rows["schema1_onnxrt_fp32"]["Comparator"] == "-"
    assert rows["schema0_qnn_cpu_fp32"]["Comparator"].startswith("Avg Match (all outputs): 100.000")
    assert all("top1: 0.75" in row["Metrics"] for row in rows.values())
    (squashed,) = (here / "qacc_temp/postprocessing/schema0_qnn_cpu_fp32").glob("*.json")
    assert [len(item["values"][0][0]) for item in json.loads(squashed.read_text())] == [10] * 4
    calibration = (here / "qacc_temp/inputs/calibration.txt").read_text().split()
    assert [Path(line).name for line in calibration] == ["x0.raw", "x2.raw", "x5.raw"]


def test_the_command_line_changes_globals_schemas_and_files(here):
    words = ["-config", "c.yaml", "-silent"]
    assert main([*words, "-set_global", "count:6", "-inference_schema_tag", "float"]) == 0
    rows = read_csv(here)
    assert list(rows) == ["schema0_qnn_cpu_fp32"]
    assert "top1: 0.833" in rows["schema0_qnn_cpu_fp32"]["Metrics"]
    (here / "two.txt").write_text("data/x0.raw\ndata/x1.raw\n")
    assert (
        main([*words, "-preproc_file", "two.txt", "-inference_schema", "onnxrt", "-use_memory_plugins"]) == 0
    )
    assert "top1: 0.5" in read_csv(here)["schema1_onnxrt_fp32"]["Metrics"]
    (here / "calib.txt").write_text("3\n")
    assert main([*words, "-calib_file", "calib.txt", "-inference_schema_tag", "fixed"]) == 0
    assert (here / "qacc_temp/inputs/calibration.txt").read_text().strip().endswith("x3.raw")


def test_the_api_and_edgewright_evaluate_take_configurations_too(here):
    result = ew.evaluate("c.yaml", folder="out")
    assert result.best.name == "schema0_qnn_cpu_fp32"
    assert result.work.conversions == 1
    assert (result.work.quantizations, result.work.source_runs, result.work.float_runs) == (4, 1, 1)
    assert len(result.best.outputs[0].worst) == 2


@pytest.mark.parametrize("kind", ["raw", "dataset"])
def test_calibration_files_are_raw_or_go_through_preprocessing(here, kind):
    change(here, "{type: index, file: index.txt}", f"{{type: {kind}, file: c.txt}}")
    (here / "data" / "c.txt").write_text("x4.raw\n")
    assert main(["-config", "c.yaml", "-silent", "-inference_schema_tag", "fixed"]) == 0
    assert (here / "qacc_temp/inputs/calibration.txt").read_text().strip().endswith("x4.raw")


def test_everything_that_is_wrong_is_told_at_once_with_its_line(here, capsys):
    change(here, "name: topk", "name: topkk")
    change(here, "max_calib: -1", "max_calibration: -1")
    assert main(["-config", "c.yaml"]) == 2
    error = capsys.readouterr().err
    assert "there is no plugin 'topkk'" in error
    assert "no parameter 'max_calibration'" in error
    assert "c.yaml, line 40" in error
    change(here, "  globals:", "  glebals:")
    change(here, "precision: quant", "precision: quantum")
    change(here, "tag: fixed", "tug: fixed")
    assert main(["-config", "c.yaml"]) == 3
    error = capsys.readouterr().err
    for text in ("key 'glebals' is unknown", "did you mean 'globals'", "key 'tug' is unknown", "'$count'"):
        assert text in error
    assert not (here / "qacc_temp").exists()


@pytest.mark.parametrize(
    ("old", "new", "code", "text"),
    [
        ("name: onnxrt", "name: tflite", 2, "is for models of TFLite"),
        ("backend: htp-sim", "backend: hta", 4, "only runs on a device"),
        ("param_quantizer: tf | enhanced", "param_quantizr: tf", 2, "no option 'param_quantizr'"),
        ("param_quantizer: tf | enhanced", "input_list: x.txt", 2, "decided by the evaluator"),
        (
            "precision: quant",
            "precision: quant\n          target_arch: aarch64-android",
            6,
            "the program '/nowhere/adb' was not found",
        ),
        ("type: cos", "type: cosine", 2, "comparator 'cosine' is unknown"),
        ("- Plus214_Output_0:", "- scores:", 3, "outputs_info names 'scores'"),
        ("- Input3:", "- image:", 2, "'image'"),
        ("path: data", "path: nowhere", 3, "is no folder"),
        ("model_path: digits.onnx", "model_path: none.onnx", 3, "there is no model 'none.onnx'"),
        ("tag: float", "tag: source", 3, "the tag 'source' is there 2 times"),
        ("model:\n", "model: &a\n", 3, "references"),
        ("desc: digits", "desc: !!python/object/apply:os.system [id]", 3, ""),
        ("  info:", "\tinfo:", 3, "no YAML"),
    ],
)
def test_a_wrong_configuration_is_one_clean_error(here, capsys, old, new, code, text):
    change(here, old, new)
    words = ["-config", "c.yaml"]
    found = main(words)
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert text in error
    # A tag that nothing constructs is a text like any other.
    assert found == (0 if "!!python" in new else code)


def test_a_schema_that_fails_does_not_stop_the_others(here, capsys):
    change(here, "backend: htp-sim", "backend: hta")
    assert main(["-config", "c.yaml"]) == 4
    rows = read_csv(here)
    assert rows["schema0_qnn_cpu_fp32"]["Status"] == "Success"
    assert rows["schema2_qnn_tf"]["Status"].startswith("Failed: backend 'Hta'")


def test_token_files_have_the_type_that_inputs_info_says(here):
    token_net(here / "t.onnx")
    np.array([[1, 2, 3, 4, 5]], np.int64).tofile(here / "data" / "ids.raw")
    (here / "data" / "ids.txt").write_text("ids.raw\n")
    (here / "t.yaml").write_text(
        """
model:
  dataset: {path: data, inputlist_file: ids.txt}
  inference-engine:
    model_path: t.onnx
    inference_schemas:
      - inference_schema: {name: onnxrt}
      - inference_schema: {name: qnn, backend: cpu}
    inputs_info:
      - ids: {type: int64, shape: [1, 5]}
  evaluator:
    comparator: {type: maxerror}
"""
    )
    assert main(["-config", "t.yaml", "-silent"]) == 0
    assert "Avg maxerror (all outputs): 0.000" in read_csv(here)["schema1_qnn_cpu_fp32"]["Comparator"]


def test_the_samples_of_the_sdk_root_are_sound(tmp_path):
    make_sdk_root(tmp_path / "sdk", "2.22")
    folder = tmp_path / "sdk/lib/python/qti/aisw/accuracy_evaluator/configs/samples/model_configs"
    configs = [read_model_config(file) for file in sorted(folder.glob("*.yaml"))]
    assert len(configs) == 3
    assert all(config.schemas for config in configs)


@pytest.mark.parametrize(("count", "plugin"), [(4, ""), (5, "create_batch")])
def test_batches_are_made_and_taken_apart_again(here, count, plugin):
    weights = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    ends = [("x", TensorProto.FLOAT, ["batch", 6])], [("y", TensorProto.FLOAT, ["batch", 5])]
    save(here / "g.onnx", nodes, *ends, {"w": weights})
    inputs = np.random.default_rng(1).standard_normal((count, 1, 6)).astype(np.float32)
    answers = [int((each @ weights).argmax()) for each in inputs]
    answers[-1] = (answers[-1] + 1) % 5
    for number, each in enumerate(inputs):
        each.tofile(here / "data" / f"g{number}.raw")
    (here / "data/g.txt").write_text("".join(f"g{number}.raw\n" for number in range(count)))
    (here / "data/answers.txt").write_text("".join(f"g{n}.raw {a}\n" for n, a in enumerate(answers)))
    chain = f"[{{plugin: {{name: {plugin}}}}}]" if plugin else "[]"
    (here / "g.yaml").write_text(
        f"""
model:
  info: {{batchsize: 2}}
  dataset: {{path: data, inputlist_file: g.txt, annotation_file: answers.txt}}
  processing:
    preprocessing: {{transformations: {chain}}}
  inference-engine:
    model_path: g.onnx
    inference_schemas:
      - inference_schema: {{name: onnxrt}}
    inputs_info:
      - x: {{type: float32, shape: ["*", 6]}}
  evaluator:
    metrics: [{{plugin: {{name: topk, params: {{kval: "1"}}}}}}]
"""
    )
    assert main(["-config", "g.yaml", "-silent"]) == 0
    assert f"top1: {(count - 1) / count:g}" in read_csv(here)["schema0_onnxrt_fp32"]["Metrics"]
