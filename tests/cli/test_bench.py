"""qnn_bench.py: repeated runs on several backends, with statistics."""

import csv
import json

import numpy as np
import pytest

from edgewright.config.bench import BenchDevice, BenchFiles, BenchRuns, parse_bench_case
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
    unused = "'Devices' 1234, 'DevicePath' /data/local/tmp/qnnbm, 'Model.Data' . not used: the benchmark runs"
    assert unused in answer.out
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
    answer = measure(call, tmp_path, config, "--clean_artifacts", "-t", "le")
    assert answer.code == 0, answer.err
    assert [path.name for path in (tmp_path / "digits/results").iterdir()] == ["benchmark_stats_Digits.csv"]
    assert "has no effect: the benchmark runs on this machine" in answer.err


def test_all_that_is_wrong_with_a_configuration_comes_at_once(call, config, tmp_path):
    del config["Model"]["InputList"]
    wrong = {"Run": 3, "ProfilingLevel": "deep", "Runs": 0, "Measurements": ["timing", "mem"]}
    answer = measure(call, tmp_path, config | wrong)
    assert answer.code == 3
    for text in (
        "key 'Run' is unknown",
        "'Model.InputList' is missing",
        "'deep', expected basic",
        "key 'Runs'",
        "'Measurements' names 'mem', only timing is measured",
    ):
        assert text in answer.err
    assert not (tmp_path / "digits").exists()


def test_every_option_of_the_public_page_is_taken(call, config, tmp_path):
    # One by one: usage: qnn_bench.py -c ... of the SDK's page on benchmarking.
    words = ["-o", "there", "-r", "host", "-t", "le", "-d", "-s", "0", "-n", "1", "-p", "burst"]
    words += ["-l", "basic", "-json", "-be", "CPU", "--htp_serialized", "--dsp_type", "v73", "--arm_prepare"]
    words += ["--use_signed_skel", "--discard_output", "--test_duration", "0.01", "--enable_cache"]
    words += ["--shared_buffer", "--clean_artifacts", "--cdsp_id", "0"]
    answer = measure(call, tmp_path, config, *words)
    assert answer.code == 0, answer.err
    for option in (
        "--device_os_type_override",
        "--htp_serialized",
        "--arm_prepare",
        "--enable_cache",
        "--cdsp_id",
    ):
        assert f"option {option} has no effect: the benchmark runs on this machine" in answer.err


def test_a_device_that_is_named_is_the_one_that_is_measured(call, config, tmp_path):
    for name in ("1234", "adb://1234"):
        answer = measure(call, tmp_path, config, "-v", name)
        assert answer.code == 6, answer.err
        assert "the program '/nowhere/adb' was not found" in answer.err
    assert not (tmp_path / "digits").exists()


def test_a_device_that_only_the_configuration_names_gets_nothing(call, config, tmp_path):
    (tmp_path / "evil").write_text(f"Host *\n  ProxyCommand touch {tmp_path}/owned\n")
    config["Devices"] = [f"ssh://board?config={tmp_path}/evil"]
    answer = measure(call, tmp_path, config, "-n", "1")
    assert answer.code == 0, answer.err
    assert "'Devices' ssh://board" in answer.out
    assert not (tmp_path / "owned").exists()


def test_the_adb_of_another_machine_is_named_on_the_command_line():
    content = {
        "Name": "a",
        "Model": {"qnn_model": "m", "InputList": "l"},
        "Backends": ["CPU"],
        "HostName": "x",
    }
    for place, host in ((BenchDevice("1234"), None), (BenchDevice("1234", "build"), "build")):
        case = parse_bench_case(content, "c.json", BenchFiles("c.json"), BenchRuns(), place)
        assert case.adb_host == host
        assert bool(case.notes) == (host is None)


@pytest.mark.parametrize(("version", "code"), [("v66", 4), ("v73", 0)])
def test_dsp_is_the_htp_of_later_chips(call, config, tmp_path, version, code):
    answer = measure(call, tmp_path, config, "-be", "DSP", "-n", "1", "--dsp_type", version)
    assert answer.code == code, answer.err
    assert ("the Hexagon DSP (v65, v66) needs a quantized one" in answer.err) == (code == 4)
    assert ("DSP with --dsp_type v73 is the HTP" in answer.out) == (code == 0)


def test_keys_of_the_sister_tool_are_taken_and_said_to_do_nothing(call, config, tmp_path):
    answer = measure(call, tmp_path, {**config, "CpuFallback": True, "BufferTypes": ["float"]}, "-n", "1")
    assert answer.code == 0
    assert "'CpuFallback' has no effect" in answer.out
    assert "'BufferTypes' has no effect" in answer.out


def test_a_name_is_no_path(call, config, tmp_path):
    plain = {key: value for key, value in config.items() if not key.startswith("Host")}
    assert measure(call, tmp_path, {**plain, "Name": "a/../../b"}, "-n", "1").code == 0
    assert (tmp_path / "a_b/results").is_dir()
