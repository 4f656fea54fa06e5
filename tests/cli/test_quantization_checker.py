"""qnn-quantization-checker: its files, its thresholds, spoiled encodings and their repair, and mistakes."""

import csv
import json
import shutil
from importlib.resources import files

import numpy as np
import pytest

import edgewright as ew
from edgewright.sdk.quantization_checker.tables import HEADERS
from edgewright.tools.qnn_quantization_checker import main
from tests.browser.sample_build import digits
from tests.cli.models import DIGITS_MODEL

DIGITS = digits()[0][:4]
FEW = {"QUANTIZATION_VARIATIONS": ["tf"], "QUANTIZATION_ALGORITHMS": ["pcq"]}


@pytest.fixture
def place(tmp_path):
    """A folder with inputs and a list of them."""
    lines = []
    for number, feed in enumerate(DIGITS):
        np.asarray(feed["Input3"], np.float32).tofile(tmp_path / f"{number}.raw")
        lines.append(f"Input3:={tmp_path / f'{number}.raw'}")
    (tmp_path / "inputs.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def write_config(place, **keys):
    config = {
        "MODEL_PATH": str(DIGITS_MODEL),
        "INPUT_LIST_PATH": str(place / "inputs.txt"),
        "OUTPUT_DIR_PATH": str(place / "out"),
        **FEW,
        **keys,
    }
    path = place / "check.json"
    path.write_text("// a comment, as in the guide\n" + json.dumps(config)[:-1] + ",}")
    return path


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def spoiled(place):
    """Encodings of the quantized model, one range ten times too wide and one weight four times too coarse."""
    clean = ew.quantize(DIGITS_MODEL, DIGITS, act_quantizer="tf", per_channel=False, bias_bw=8)
    entries = clean.encodings("0.6.1")
    for section, name, factor in (
        ("activation_encodings", "Pooling66_Output_0", 10),
        ("param_encodings", "Parameter87", 4),
    ):
        (entry,) = entries[section][name]
        entries[section][name] = [{"bitwidth": 8, "min": factor * entry["min"], "max": factor * entry["max"]}]
    path = place / "spoiled.json"
    path.write_text(json.dumps(entries))
    return path


def test_every_variant_is_checked_and_the_guides_files_are_written(call, place):
    out = place / "out"
    words = [
        "--model",
        DIGITS_MODEL,
        "--input_list",
        place / "inputs.txt",
        "--output_dir",
        out,
        "--output_csv",
    ]
    answer = call(main, *words)
    assert answer.code == 0
    names = [
        f"{how}{part}" for how in ("tf", "enhanced", "adjusted", "symmetric") for part in ("", "_cle", "_pcq")
    ]
    assert all(name in answer.out for name in names)
    assert {path.name for path in out.iterdir()} == {
        *names,
        *("unquantized", "html", "csv", "qnn-quantization-checker-log"),
    }
    assert len(list((out / "html").iterdir())) == len(names) * len(DIGITS) + 1
    page = (out / "html" / "tf_0_raw.html").read_text()
    assert "Results for quantizer: tf using input file: 0.raw on model: mnist_cntk.onnx" in page
    assert "Signal to Quantization Noise Ratio" in page
    rows = read(out / "csv" / "tf_weights.csv")
    assert list(rows[0]) == list(HEADERS)
    assert {row["Algorithm Used"] for row in rows} == {"minmax", "maxdiff", "sqnr"}
    assert {row["Passes Accuracy"] for row in rows} == {"TRUE"}
    activations = read(out / "csv" / "tf_activations.csv")
    assert {row["Input"] for row in activations} == {f"{number}.raw" for number in range(4)}
    log = (out / "qnn-quantization-checker-log" / "mnist_cntk.onnx.txt").read_text()
    assert "ACTIVATIONS ANALYSIS FAILURES" in log
    assert "--param_quantizer enhanced" in log


def test_thresholds_of_the_file_decide_and_the_command_line_comes_before_it(call, place):
    strict = [{"algo_name": "sqnr", "threshold": "99"}, {"algo_name": "act_maxdiff", "threshold": 1e-9}]
    config = write_config(
        place, WEIGHT_COMPARISON_ALGORITHMS=strict, OUTPUT_CSV="True", ACTIVATION_WIDTH="16"
    )
    other = place / "other"
    assert call(main, "--config_file", config, "--output_dir", other).code == 0
    rows = read(other / "csv" / "tf_weights.csv")
    assert {(row["Passes Accuracy"], row["Threshold Used"]) for row in rows} == {
        ("FALSE", "99"),
        ("FALSE", "1e-09"),
    }
    assert "99\tsqnr" in (other / "qnn-quantization-checker-log" / "mnist_cntk.onnx.txt").read_text()
    assert '"UFIXED_POINT_16"' not in (other / "tf" / "mnist_cntk_net.json").read_text()
    graph = ew.load(other / "tf" / "mnist_cntk_net.json").fixed_graph()
    assert 16 in {kind.encoding.bitwidth for kind in graph.types.values() if kind.encoding is not None}


def test_spoiled_encodings_are_named_and_the_repair_brings_the_outputs_back(call, place, spoiled):
    config = write_config(place, QUANTIZATION_OVERRIDES=str(spoiled), RUN_IN_REPAIR_MODE="True")
    answer = call(main, "--config_file", config, "--json")
    assert answer.code == 0
    (variant, _) = json.loads(answer.out)["models"][0]["variants"]
    assert {entry["source"] for entry in variant["odd"]} == {"Pooling66_Output_0", "Parameter87"}
    repair = variant["repair"]
    clean = ew.quantize(DIGITS_MODEL, DIGITS, act_quantizer="tf", per_channel=False, bias_bw=8)
    (best,) = ew.compare(ew.convert(DIGITS_MODEL), clean, DIGITS, backend="htp-sim")
    assert repair["is_kept"]
    assert repair["before_db"] < best.sqnr_db - 4
    assert abs(repair["after_db"] - best.sqnr_db) < 0.5
    again = ew.quantize(
        DIGITS_MODEL, DIGITS, act_quantizer="tf", per_channel=False, overrides=repair["encodings"]
    )
    (result,) = ew.compare(ew.convert(DIGITS_MODEL), again, DIGITS, backend="htp-sim")
    assert abs(result.sqnr_db - best.sqnr_db) < 0.5
    log = (place / "out" / "qnn-quantization-checker-log" / "mnist_cntk.onnx.txt").read_text()
    assert "SQNR: Percentage of Failed Nodes" in log


def test_what_fails_gets_more_bits(call, place):
    strict = [{"algo_name": "sqnr", "threshold": "45"}]
    config = write_config(place, ACT_COMPARISON_ALGORITHMS=strict, RUN_IN_REPAIR_MODE="true")
    answer = call(main, "--config_file", config, "--json")
    repair = json.loads(answer.out)["models"][0]["variants"][0]["repair"]
    assert any("16 bits" in action for action in repair["actions"])
    assert repair["after_db"] > repair["before_db"] + 1


def test_an_earlier_run_is_taken_up(call, place):
    config = write_config(place, OUTPUT_CSV="True")
    assert call(main, "--config_file", config).code == 0
    table = place / "out" / "csv" / "tf_activations.csv"
    before = table.read_text()
    table.unlink()
    words = ("--skip_generator", "--skip_runner", "--skip_building_model")
    answer = call(main, "--config_file", config, *words)
    assert answer.code == 0
    assert table.read_text() == before
    assert "no library is built" in answer.err
    shutil.rmtree(place / "out" / "tf")
    assert call(main, "--config_file", config, *words).code == 3


def test_a_folder_of_models_is_checked_model_by_model(call, place):
    folder = place / "zoo"
    folder.mkdir()
    shutil.copy(DIGITS_MODEL, folder / "a.onnx")
    shutil.copy(place / "inputs.txt", folder / "input_list.txt")
    (folder / "broken.onnx").write_bytes(b"no model")
    config = write_config(place, MODEL_PATH=str(folder))
    text = json.loads(config.read_text().partition("\n")[2].replace(",}", "}"))
    del text["INPUT_LIST_PATH"]
    config.write_text(json.dumps(text))
    answer = call(main, "--config_file", config)
    assert answer.code == 3
    assert "not checked: broken.onnx" in answer.out
    assert (place / "out" / "a" / "html" / "index.html").exists()


@pytest.mark.slow
def test_histograms_are_drawn(call, place):
    pytest.importorskip("matplotlib")
    config = write_config(place, QUANTIZATION_ALGORITHMS=[])
    assert call(main, "--config_file", config, "--per_channel_histogram").code == 0
    weights = {path.name for path in (place / "out" / "hist_analysis_weights").iterdir()}
    assert {"Parameter5_tf.png", "Parameter5_tf_channel_0.png"} <= weights
    assert (place / "out" / "hist_analysis_biases").is_dir()


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"MODEL_PAHT": "x"}, "MODEL_PATH"),
        ({"ACTIVATION_WIDTH": 7}, "expected one of [8, 16]"),
        ({"OUTPUT_CSV": "maybe"}, "expected True or False"),
        ({"QUANTIZATION_VARIATIONS": ["tff"]}, "expected some of: tf"),
        ({"ACT_COMPARISON_ALGORITHMS": [{"algo_name": "minmix"}]}, "minmax"),
        ({"ACT_COMPARISON_ALGORITHMS": [{"algo_name": "minmax", "threshold": "ten"}]}, "expected a number"),
        ({"ACT_COMPARISON_ALGORITHMS": 3}, "expected a list"),
    ],
)
def test_mistakes_of_the_file_are_told(call, place, keys, text):
    answer = call(main, "--config_file", write_config(place, **keys))
    assert (answer.code, text in answer.err) == (2, True)


def test_mistakes_of_the_command_line_are_told(call, place):
    assert call(main).code == 2
    assert call(main, "--model", place / "none.onnx", "--input_list", place / "inputs.txt").code == 3
    assert call(main, "--model", DIGITS_MODEL, "--output_dir", place / "o").code == 2
    (place / "bad.json").write_text("{")
    assert call(main, "--config_file", place / "bad.json").code == 3
    (place / "empty").mkdir()
    assert call(main, "--model", place / "empty").code == 3


def test_an_encoding_is_repaired_by_whichever_name_it_was_given(call, place):
    for name in ("ReLU32_Output_0", "Pooling66_Output_0"):
        entry = {"bitwidth": 8, "min": 0.0, "max": 30000.0}
        overrides = place / "wide.json"
        overrides.write_text(json.dumps({"activation_encodings": {name: [entry]}, "param_encodings": {}}))
        config = write_config(
            place, QUANTIZATION_OVERRIDES=str(overrides), RUN_IN_REPAIR_MODE=1, QUANTIZATION_ALGORITHMS=[]
        )
        answer = call(main, "--config_file", config, "--json")
        repair = json.loads(answer.out)["models"][0]["variants"][0]["repair"]
        assert name in repair["actions"][0]
        assert repair["after_db"] > repair["before_db"] + 10


def test_the_sample_of_the_sdk_root_is_right(call, place):
    sample = files("edgewright") / "_data" / "sdk" / "quantization_checker_config.json"
    config = place / "config"
    config.write_bytes(sample.read_bytes().replace(b'"enhanced", "adjusted", "symmetric"', b'"enhanced"'))
    words = ("--model", DIGITS_MODEL, "--input_list", place / "inputs.txt", "--output_dir", place / "out")
    assert call(main, "--config_file", config, *words).code == 0
    assert (place / "out" / "csv" / "enhanced_pcq_biases.csv").exists()


def test_the_log_names_the_converter_of_the_models_framework(place):
    model = DIGITS_MODEL.with_name("mnist_dscnn_int8.tflite")
    (place / "few.txt").write_text(f"{place / '0.raw'}\n")
    config = write_config(place, MODEL_PATH=str(model), INPUT_LIST_PATH=str(place / "few.txt"))
    assert main(["--config_file", str(config)]) == 0
    (log,) = (place / "out" / "qnn-quantization-checker-log").iterdir()
    assert f"tf: qnn-tflite-converter -i {model} " in log.read_text()
