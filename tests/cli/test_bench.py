"""qnn_bench.py: repeated runs on several backends, with statistics."""

import csv
import json

import numpy as np
import pytest

from edgewright.tools.qairt_converter import main as convert
from edgewright.tools.qnn_bench import main
from tests.cli.models import DIGITS_MODEL


@pytest.fixture
def config(tmp_path, monkeypatch, call):
    """A configuration as users of the SDK have it, beside its model and inputs."""
    monkeypatch.chdir(tmp_path)
    assert call(convert, "-i", DIGITS_MODEL, "-o", "m.dlc").code == 0
    np.random.default_rng(1).random((1, 1, 28, 28), np.float32).tofile("x.raw")
    (tmp_path / "list.txt").write_text("x.raw\nx.raw\n")
    return {
        "Name": "Digits",
        "HostRootPath": "digits",
        "HostResultsDir": "digits/results",
        "DevicePath": "/data/local/tmp/qnnbm",
        "Devices": ["1234"],
        "Runs": 3,
        "Model": {"Name": "MNIST", "qnn_model": "m.dlc", "InputList": "list.txt", "Data": ["."]},
        "Backends": ["CPU"],
        "Measurements": ["timing"],
        "ProfilingLevel": "basic",
    }


def measure(call, folder, config, *words):
    (folder / "config.json").write_text(json.dumps(config))
    return call(main, "-c", folder / "config.json", *words)


def test_a_configuration_is_measured_and_written_as_csv(call, config, tmp_path):
    answer = measure(call, tmp_path, config)
    assert answer.code == 0, answer.err
    assert "'Devices' 1234 are not used: the benchmark runs on this machine" in answer.out
    rows = list(csv.reader((tmp_path / "digits/results/benchmark_stats_Digits.csv").open()))
    table = {row[0]: row for row in rows if row}
    assert table["CPU"] == ["CPU", "cpu", "3 runs", "6 executions"]
    assert table[""][2:] == [f"CPU_timing {word}" for word in ("avg", "max", "min", "stddev")]
    average, most, least, spread = (float(text) for text in table["Total Inference Time [NetRun]"][2:])
    assert least <= average <= most
    assert spread >= 0
    assert not (tmp_path / "digits/results/benchmark_stats_Digits.json").exists()


def test_the_command_line_stands_above_the_configuration(call, config, tmp_path):
    words = ("-be", "cpu", "libQnnCpu.so", "-n", "2", "-l", "detailed", "-json", "-o", "elsewhere")
    answer = measure(call, tmp_path, config, *words, "--discard_output")
    assert answer.code == 0, answer.err
    found = json.loads((tmp_path / "elsewhere/benchmark_stats_Digits.json").read_text())
    assert [result["backend"] for result in found["results"]] == ["cpu", "libQnnCpu.so"]
    assert {result["runs"] for result in found["results"]} == {2}
    names = [measure["name"] for measure in found["results"][0]["measures"]]
    assert any(name.startswith("Convolution28:OpId") for name in names)
    assert not list((tmp_path / "elsewhere").rglob("*.raw"))


def test_artifacts_are_removed_where_asked_and_devices_are_said_to_be_unused(call, config, tmp_path):
    answer = measure(call, tmp_path, config, "--clean_artifacts", "-v", "abcd", "--dsp_type", "v75")
    assert answer.code == 0, answer.err
    assert [path.name for path in (tmp_path / "digits/results").iterdir()] == ["benchmark_stats_Digits.csv"]
    assert "has no effect: the benchmark runs on this machine" in answer.err


def test_all_that_is_wrong_with_a_configuration_comes_at_once(call, config, tmp_path):
    del config["Model"]["InputList"]
    answer = measure(call, tmp_path, config | {"Run": 3, "ProfilingLevel": "deep", "Runs": 0})
    assert answer.code == 3
    for text in (
        "key 'Run' is unknown",
        "'Model.InputList' is missing",
        "'deep', expected basic",
        "key 'Runs'",
    ):
        assert text in answer.err
    assert not (tmp_path / "digits").exists()
