"""Runs on other machines: a real sshd on this one, and the real adb with a stand-in for a phone's adbd."""

import filecmp
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from edgewright.tools.qnn_accuracy_debugger import main as debug
from edgewright.tools.qnn_accuracy_evaluator import main as evaluate
from edgewright.tools.qnn_bench import main as bench
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.qnn_platform_validator import main as validate
from edgewright.tools.umbrella import main as umbrella
from tests.cli.models import DIGITS_MODEL, two_inputs
from tests.devices import (
    ADB,
    NO_ADB,
    NO_SSHD,
    SSHD,
    TOOLS,
    Device,
    end_process,
    find_free_port,
    start_phone,
    start_sshd,
    write_client_config,
)
from tests.test_docs import read_blocks

# Answers as the SDK's program does, and is ours otherwise; it shows the words that it got.
SDK_PROGRAM = f"""#!/bin/sh
if [ "$1" = --version ]; then echo "QNN SDK v2.40.0"; exit 0; fi
printf '%s\\n' "$@" > "$(dirname "$0")/words.txt"
exec {TOOLS}/qnn-net-run "$@"
"""
# Ours, which leaves a line for each run.
COUNTING_PROGRAM = f"""#!/bin/sh
[ "$1" = --version ] || echo "$PWD" >> "$(dirname "$0")/runs.txt"
exec {TOOLS}/qnn-net-run "$@"
"""
# Kills the process of sshd that serves the connection: the parent of the shell that runs it.
BREAKING_PROGRAM = """#!/bin/sh
if [ "$1" = --version ]; then echo "QNN SDK v2.40.0"; exit 0; fi
mkdir -p output/Result_0; echo half > output/Result_0/half.raw
read -r _ _ _ parent _ < /proc/$PPID/stat
kill -9 $parent
sleep 20
"""
# Says that all is well, and writes the first result only.
LAZY_PROGRAM = f"""#!/bin/sh
{TOOLS}/qnn-net-run "$@" || exit
rm -rf output/Result_1
"""
SLEEPING_PROGRAM = """#!/bin/sh
if [ "$1" = --version ]; then echo "QNN SDK v2.40.0"; exit 0; fi
echo $$ > "$(dirname "$0")/pid"
exec sleep 100
"""


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A board behind ssh: this machine."""
    if SSHD is None:
        pytest.skip(NO_SSHD)
    folder = tmp_path_factory.mktemp("board")
    process, base, config = start_sshd(folder)
    runs = folder / "it's $(touch owned) here"
    runs.mkdir()
    yield Device(base, f"config={config}", runs)
    end_process(process)


@pytest.fixture(scope="module")
def phone(tmp_path_factory):
    """A phone behind adb."""
    if ADB is None:
        pytest.skip(NO_ADB)
    folder = tmp_path_factory.mktemp("phone")
    processes, serial, server = start_phone(folder)
    runs = folder / "data"
    runs.mkdir()
    yield Device(f"adb://{serial}", f"server=127.0.0.1:{server}", runs)
    for process in processes:
        end_process(process)


@pytest.fixture(autouse=True)
def own_adb(monkeypatch):
    """The phone here is one of our own, behind a server of our own."""
    monkeypatch.delenv("ADB_PATH", raising=False)


@pytest.fixture(params=["board", "phone"])
def device(request):
    """Each of them."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    """Two sets of inputs whose names a shell would read otherwise."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(3)
    names = ["first $(touch owned).raw", "it's `touch owned`; second.raw"]
    for name in names:
        draw.random((1, 1, 28, 28), np.float32).tofile(name)
    Path("list.txt").write_text(f'"{names[0]}"\nInput3:={names[1]}\n')
    return "list.txt"


def make_program(folder, text):
    """The folder of a program that stands in for a device's."""
    folder.mkdir()
    (folder / "qnn-net-run").write_text(text)
    (folder / "qnn-net-run").chmod(0o755)
    return folder


def assert_clean(device):
    """Nothing is left on the device, and nothing was executed by a name."""
    assert list(device.folder.iterdir()) == []
    assert not list(device.folder.parent.rglob("owned"))


def test_a_model_runs_there_as_it_does_here(call, device, tokens, tmp_path, monkeypatch):
    """Integer inputs, which float32 files do not hold."""
    monkeypatch.chdir(tmp_path)
    words = ("run", tokens, "--random", "5", "-o")
    assert call(umbrella, *words, "here").code == 0
    answer = call(umbrella, *words, "there", "--compare", "--device", device.address())
    assert answer.code == 0, answer.err
    assert "run by qnn-net-run (edgewright)" in answer.out
    for file in Path("here").rglob("*.npy"):
        assert np.array_equal(np.load(file), np.load(Path("there", *file.parts[1:])))
    assert_clean(device)


def test_names_that_files_cannot_have_are_found_again(call, phone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("run", two_inputs(tmp_path / "m.onnx"), "--random", "1", "--compare")
    answer = call(umbrella, *words, "--device", phone.address())
    assert answer.code == 0, answer.err
    assert "out:0" in answer.out


def test_net_run_gives_the_same_files_and_a_profile(call, device, digits, inputs):
    words = ("--model", digits, "--backend", "cpu", "--input_list", inputs, "--profiling_level", "detailed")
    for folder, more in (("here", ()), ("there", ("--device", device.address()))):
        answer = call(net_run, *words, "--output_dir", folder, *more)
        assert answer.code == 0, answer.err
    names = [f"Result_{number}/Plus214_Output_0.raw" for number in (0, 1)]
    assert filecmp.cmpfiles("here", "there", names, shallow=False) == (names, [], [])
    assert "Convolution" in Path("there/qnn-profiling-data_0.log").read_text()
    record = json.loads(Path("there/run.json").read_text())
    assert record["is_complete"]
    assert list(record["results"]) == ["Result_0", "Result_1"]
    assert record["outputs"][0]["shape"] == [1, 10]
    assert not Path("owned").exists()
    assert_clean(device)


@pytest.mark.slow
def test_a_program_of_the_sdk_gets_a_dlc_and_the_names_of_libraries(call, board, digits, inputs, tmp_path):
    tools = make_program(tmp_path / "sdk", SDK_PROGRAM)
    device = board.address(tools)
    answer = call(net_run, "--model", digits, "--backend", "cpu", "--input_list", inputs, "--device", device)
    assert answer.code == 0, answer.err
    words = (tools / "words.txt").read_text().splitlines()
    assert words[words.index("--model") + 1] == "libQnnModelDlc.so"
    assert words[words.index("--dlc_path") + 1].endswith(".dlc")
    assert words[words.index("--backend") + 1] == "libQnnCpu.so"
    assert "run by QNN SDK v2.40.0" in answer.out


def test_a_broken_connection_is_an_error_and_leaves_what_was_there(call, board, digits, inputs, tmp_path):
    tools = make_program(tmp_path / "breaking", BREAKING_PROGRAM)
    words = ("--model", digits, "--backend", "cpu", "--input_list", inputs, "--output_dir", "out")
    assert call(net_run, *words).code == 0
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    answer = call(net_run, *words, "--device", board.address(tools))
    assert answer.code == 6
    assert "the connection to ssh://" in answer.err
    assert {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()} == before
    assert not list(tmp_path.glob(".out*"))
    assert_clean(board)


def test_results_that_are_missing_are_a_failed_run(call, phone, digits, inputs, tmp_path):
    tools = make_program(tmp_path / "lazy", LAZY_PROGRAM)
    words = ("--model", digits, "--backend", "cpu", "--input_list", inputs, "--output_dir", ".")
    answer = call(net_run, *words, "--device", phone.address(tools))
    assert answer.code == 7
    assert "the device wrote 1 results, expected 2" in answer.err
    assert not list(tmp_path.glob("Result_*"))
    answer = call(net_run, *words, "--keep_num_outputs", "1", "--device", phone.address(tools))
    assert answer.code == 0, answer.err
    assert [path.name for path in tmp_path.glob("Result_*")] == ["Result_0"]


def test_a_run_that_takes_too_long_is_ended_there(call, device, digits, inputs, tmp_path):
    tools = make_program(tmp_path / "sleeping", SLEEPING_PROGRAM)
    words = ("--model", digits, "--backend", "cpu", "--input_list", inputs, "--output_dir", "out")
    answer = call(net_run, *words, "--device", device.address(tools, limit=2))
    assert answer.code == 6
    assert "did not end within 2 s" in answer.err
    assert not Path("out").exists()
    number = int((tools / "pid").read_text())
    end = time.monotonic() + 20
    while is_running(number) and time.monotonic() < end:
        time.sleep(0.1)
    assert not is_running(number)
    assert_clean(device)


def is_running(number):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_host_that_is_not_known_is_refused(call, board, digits, inputs, tmp_path):
    keys = Path(board.settings.partition("=")[2]).parent
    (tmp_path / "none").touch()
    stranger = write_client_config(tmp_path / "stranger", keys, "stranger", "known_hosts")
    nobody = write_client_config(tmp_path / "nobody", keys, "user", str(tmp_path / "none"))
    closed = f"ssh://127.0.0.1:{find_free_port()}"
    for address, text in (
        (f"{board.base}?config={nobody}", "compare the fingerprint"),
        (f"{board.base}?config={stranger}", "ssh-copy-id"),
        (f"{closed}?config={nobody}", "the connection to ssh://127.0.0.1"),
        (board.address("/nowhere"), "has no qnn-net-run"),
        (board.address(folder="/nowhere"), "could not make a folder"),
    ):
        answer = call(
            net_run, "--model", digits, "--backend", "cpu", "--input_list", inputs, "--device", address
        )
        assert answer.code == 6, (address, answer.err)
        assert text in answer.err
    assert (tmp_path / "none").read_text() == ""
    assert not Path("output").exists()


@pytest.mark.slow
def test_what_fails_there_is_told_here_with_its_code(call, board, digits, inputs):
    words = ("--model", digits, "--backend", "libQnnNone.so", "--input_list", inputs)
    here = call(net_run, *words)
    there = call(net_run, *words, "--device", board.address())
    assert there.code == here.code != 0
    assert "libQnnNone.so" in there.err
    assert not Path("output").exists()
    assert_clean(board)


@pytest.mark.slow
def test_a_benchmark_runs_there(call, phone, digits, inputs):
    config = {"Name": "D", "Model": {"qnn_model": str(digits), "InputList": inputs}, "Backends": ["CPU"]}
    Path("config.json").write_text(json.dumps(config))
    answer = call(bench, "-c", "config.json", "-v", phone.address(), "-o", "results")
    assert answer.code == 0, answer.err
    table = Path("results/benchmark_stats_D.csv").read_text()
    assert f"CPU,CPU of {phone.base},1 runs,2 executions" in table


@pytest.mark.slow
def test_a_device_is_validated(call, board, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = call(validate, "--backend", "cpu", "--testBackend", "--deviceId", board.address())
    assert answer.code == 0, answer.err
    assert "cpu,Supported,Found,,,Passed,cpu" in Path("output/Result.csv").read_text()


@pytest.mark.slow
def test_the_first_phone_of_a_server_is_taken_where_none_is_named(call, phone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    unnamed = Device("adb://", phone.settings, phone.folder)
    answer = call(validate, "--backend", "cpu", "--deviceId", unnamed.address())
    assert answer.code == 0, answer.err


def test_a_phone_that_is_not_there_is_an_error(call, phone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = Device("adb://0123456789", phone.settings, phone.folder)
    answer = call(umbrella, "run", DIGITS_MODEL, "--random", "--device", other.address())
    assert answer.code == 6
    assert "not found" in answer.err


@pytest.mark.slow
def test_the_commands_of_the_guide_run_on_a_board(board, tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "guide" / "remote.md"
    blocks = [block for block in read_blocks(page) if block.language == "sh" and not block.not_run]
    assert len(blocks) == 1
    shutil.copyfile(DIGITS_MODEL, tmp_path / "model.onnx")
    np.ones((1, 28, 28, 1), np.float32).tofile(tmp_path / "x.raw")
    (tmp_path / "inputs.txt").write_text("x.raw\n")
    more = {"DEVICE": board.address(), "PATH": f"{TOOLS}:{os.environ['PATH']}"}
    words = ["bash", "-euc", blocks[0].code]
    run = subprocess.run(
        words, cwd=tmp_path, env=os.environ | more, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "Plus214_Output_0" in run.stdout
    assert_clean(board)


@pytest.mark.slow
def test_the_debugger_runs_a_model_there(board, inputs, tmp_path):
    tools = make_program(tmp_path / "tools", COUNTING_PROGRAM)
    words = ["--inference_engine", "--runtime", "cpu", "-m", str(DIGITS_MODEL), "-l", inputs]
    words += ["-i", "Input3", "1,1,28,28", "first $(touch owned).raw", "-o", "Plus214_Output_0"]
    words += ["--architecture", "aarch64-android", "--deviceId", board.address(tools)]
    assert debug(words) == 0
    folder = Path("working_directory/inference_engine/latest/output/Result_0")
    assert len(list(folder.glob("*.raw"))) > 5
    assert len((tools / "runs.txt").read_text().splitlines()) == 1
    assert not Path("owned").exists()
    assert_clean(board)


@pytest.mark.exhaustive
def test_the_evaluator_runs_all_combinations_there(board, inputs, tmp_path):
    tools = make_program(tmp_path / "tools", COUNTING_PROGRAM)
    words = ["-model", str(DIGITS_MODEL), "-preproc_file", inputs, "-backend", "htp-sim", "-silent"]
    words += ["-target_arch", "aarch64-android", "-device_id", board.address(tools)]
    assert evaluate(words) == 0
    rows = Path("qacc_temp/metrics-info.csv").read_text().splitlines()
    assert sum("aarch64-android" in row for row in rows) == 32
    runs = (tools / "runs.txt").read_text().splitlines()
    # Combinations that give the same model are run once.
    assert 2 <= len(runs) <= 32
    assert all(run.startswith(str(board.folder)) for run in runs)
    assert_clean(board)
