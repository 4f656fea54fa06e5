"""A tree like QNN_SDK_ROOT: scripts written for the SDK find what they name."""

import csv
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from edgewright.abi.libraries import find_libraries
from edgewright.tools.check_python_dependency import main as python_dependency
from edgewright.tools.envcheck import main as envcheck
from edgewright.tools.qnn_platform_validator import main as validator
from edgewright.tools.umbrella import main
from tests.cli.models import DIGITS_MODEL

LIBRARIES = "lib/x86_64-linux-clang"
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the scripts are for a POSIX shell")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdk") / "qnn sdk"
    assert main(["sdk-root", str(folder)]) == 0
    return folder


def shell(script, folder, **more):
    environment = {k: v for k, v in os.environ.items() if k not in {"QNN_SDK_ROOT", "LD_LIBRARY_PATH"}}
    return subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment | more,
        timeout=300,
    )


def test_the_tree_has_what_scripts_name(root):
    for place in ("bin", "bin/x86_64-linux-clang"):
        for tool in ("qnn-onnx-converter", "qnn-net-run", "qnn-profile-viewer", "envcheck"):
            assert os.access(root / place / tool, os.X_OK), f"{place}/{tool}"
    for script in ("envsetup.sh", "envsetup.ps1", "envcheck.ps1", "check-linux-dependency.sh"):
        assert (root / "bin" / script).is_file()
    assert (root / "include/QNN/QnnTypes.h").is_file()
    for name in ("libQnnCpu.so", "libQnnHtp.so", "libQnnSaver.so", "libQnnModelDlc.so"):
        assert (root / LIBRARIES / name).exists()


@linux_only
def test_sourcing_the_setup_twice_adds_nothing_twice(root, tmp_path):
    source = f'source "{root}/bin/envsetup.sh"'
    done = shell(f'{source}; {source}; echo "$PATH"; echo "$QNN_SDK_ROOT"', tmp_path)
    path, found = done.stdout.splitlines()[-2:]
    assert found == str(root)
    assert path.split(":").count(f"{root}/bin/x86_64-linux-clang") == 1
    assert path.split(":")[0] == f"{root}/bin/x86_64-linux-clang"


@linux_only
def test_a_script_of_the_sdk_runs_unchanged(root, tmp_path):
    (np.random.default_rng(0).random((1, 28, 28, 1), np.float32) * 255).tofile(tmp_path / "x.raw")
    (tmp_path / "list.txt").write_text("x.raw\n")
    script = f"""
    set -e
    source "{root}/bin/envsetup.sh"
    "${{QNN_SDK_ROOT}}/bin/x86_64-linux-clang/qnn-onnx-converter" --input_network {DIGITS_MODEL} -o digits.cpp
    qnn-net-run --model digits_net.json --backend "${{QNN_SDK_ROOT}}/{LIBRARIES}/libQnnCpu.so" \
        --input_list list.txt --profiling_level basic
    qnn-profile-viewer --input_log output/qnn-profiling-data_0.log --output profile.csv
    """
    done = shell(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output/Result_0/Plus214_Output_0.raw").stat().st_size == 40
    assert "Execute Stats (Average):" in done.stdout
    assert (tmp_path / "profile.csv").is_file()


def test_the_tree_is_made_again_in_its_place(root, capsys):
    (root / "bin" / "x86_64-linux-clang" / "qnn-net-run").write_text("old")
    assert main(["sdk-root", str(root)]) == 0
    assert "exec" in (root / "bin" / "qnn-net-run").read_text()


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_holds_something_else_is_left_alone(call, tmp_path, what):
    place = tmp_path / "taken"
    if what == "folder":
        place.mkdir()
        (place / "mine.txt").write_text("keep")
    else:
        place.write_text("keep")
    answer = call(main, "sdk-root", place)
    assert answer.code == 2
    assert "keep" in ((place / "mine.txt") if what == "folder" else place).read_text()


def test_names_that_are_no_libraries_say_so(root):
    assert "no program can load this file" in (root / LIBRARIES / "libQnnCpu.so").read_text()


@linux_only
def test_the_check_for_linux_only_looks_where_it_is_asked_to(root, tmp_path):
    (tmp_path / "bin").mkdir()
    for name in ("sh", "id"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    script = f'sh "{root}/bin/check-linux-dependency.sh" --check'
    done = shell(f'PATH="{tmp_path}/bin"; {script}', tmp_path)
    assert done.returncode == 1
    assert "[INFO] to install it: sudo apt-get install clang make cmake" in done.stdout


@linux_only
def test_the_check_for_linux_does_nothing_for_words_that_it_does_not_know(root, tmp_path):
    done = shell(f'sh "{root}/bin/check-linux-dependency.sh" --chek', tmp_path)
    assert (done.returncode, done.stdout) == (2, "")


@linux_only
def test_the_check_for_linux_asks_before_it_installs(root, tmp_path):
    (tmp_path / "bin").mkdir()
    for name in ("sh", "cat"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    # A root who has an apt-get that only says what it was asked to do.
    for name, line in (("id", "echo 0"), ("apt-get", 'echo "apt-get $*"')):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    said = {}
    for answer in ("", "n", "y"):
        script = f'echo {answer} | sh "{root}/bin/check-linux-dependency.sh"'
        said[answer] = shell(f'PATH="{tmp_path}/bin"; {script}', tmp_path).stdout
    assert "[y/N]" in said["y"]
    assert {answer: "apt-get install -y clang" in text for answer, text in said.items()} == {
        "": False,
        "n": False,
        "y": True,
    }
    forced = shell(f'PATH="{tmp_path}/bin"; sh "{root}/bin/check-linux-dependency.sh" --yes', tmp_path)
    assert "apt-get install -y clang" in forced.stdout


def test_the_tree_has_the_guides_examples_and_the_courses_library(root):
    script = root / "examples" / "QNN" / "NetRun" / "android" / "android-qnn-net-run.sh"
    assert os.access(script, os.X_OK)
    case = json.loads((root / "examples/QNN/ThroughputNetRun/sample_config.json").read_text())
    assert {*case} == {"backends", "models", "contexts", "testCase"}
    words = [sys.executable, root / "benchmarks" / "QNN" / "qnn_bench.py", "--help"]
    assert "usage: qnn_bench.py" in subprocess.run(words, capture_output=True, text=True, check=True).stdout
    library = root / "lib" / "libQnn.so"
    assert library.resolve() == (root / LIBRARIES / "libQnnHtp.so").resolve()


@pytest.mark.skipif(find_libraries() is None, reason="the wheel onnxruntime-qnn is not installed")
@pytest.mark.parametrize(
    "name", ["lib/libQnn.so", f"{LIBRARIES}/libQnnHtp.so", f"{LIBRARIES}/libQnnSaver.so"]
)
def test_a_program_loads_the_genuine_libraries_of_the_tree(root, tmp_path, name):
    code = f"import ctypes; print(ctypes.CDLL('{root / name}').QnnInterface_getProviders is not None)"
    done = shell(f'"{sys.executable}" -c "{code}"', tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["True"]), done.stderr


@linux_only
def test_the_example_of_net_run_runs_from_a_model_to_results(root, tmp_path):
    np.random.default_rng(2).random((1, 28, 28, 1), np.float32).tofile(tmp_path / "x.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path}/x.raw\n")
    example = f'sh "{root}/examples/QNN/NetRun/net-run.sh" {DIGITS_MODEL} list.txt out'
    done = shell(f'source "{root}/bin/envsetup.sh"; {example}', tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "out" / "results" / "Result_0").iterdir()]


@linux_only
def test_the_setup_of_aimet_wants_a_folder_and_leaves_the_shell_alive(root, tmp_path):
    script = f'source "{root}/bin/aimet_env_setup.sh"; echo "code $?"'
    done = shell(script, tmp_path)
    assert "code 2" in done.stdout
    assert "--env_path is missing" in done.stderr
    assert "--env_path FOLDER" in shell(f'"{root}/bin/aimet_env_setup.sh" --help', tmp_path).stdout


def test_envcheck_says_what_is_missing(call, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("ANDROID_NDK_ROOT", "ANDROID_NDK_HOME", "ANDROID_NDK"):
        monkeypatch.delenv(name, raising=False)
    answer = call(envcheck, "-c", "-n", "-m")
    assert answer.code == 6
    assert "[WARNING] C++ compiler: none of" in answer.out or sys.platform != "linux"
    assert "set ANDROID_NDK_ROOT" in answer.out or sys.platform != "linux"
    assert "Visual Studio" in answer.out


def test_envcheck_finds_the_compiler_of_the_machine(call, monkeypatch, tmp_path):
    (tmp_path / "g++").write_text("#!/bin/sh\n")
    (tmp_path / "g++").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = call(envcheck, "-c")
    if sys.platform == "linux":
        assert (answer.code, f"[INFO] C++ compiler: {tmp_path / 'g++'}" in answer.out) == (0, True)


@pytest.mark.slow
def test_python_packages_are_listed_with_what_to_do(call):
    answer = call(python_dependency)
    assert answer.code == 0
    assert "[INFO] numpy" in answer.out


def test_the_validator_runs_a_program_and_writes_its_csv(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = call(
        validator, "--backend", "all", "--testBackend", "--directory", tmp_path, "--dsp_type", "v75"
    )
    assert answer.code == 0
    rows = list(csv.DictReader((tmp_path / "output" / "Result.csv").open()))
    # A machine may have a GPU and the provider for it; what is supported runs.
    has_gpu = rows[1]["Hardware"] != "Not supported"
    unit_tests = {row["Backend"]: row["Unit Test"] for row in rows}
    assert unit_tests == {"cpu": "Passed", "gpu": "Passed" if has_gpu else "", "htp": "Passed"}


def test_a_dsp_without_htp_is_answered(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = call(validator, "--backend", "dsp", "--directory", tmp_path, "--dsp_type", "v66")
    assert answer.code == 0, answer.err
    (row,) = csv.DictReader((tmp_path / "output" / "Result.csv").open())
    assert (row["Backend"], row["Hardware"]) == ("dsp", "Not supported")
    assert "v66 has no HTP" in row["Detail"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--backend", "npu"), 2),
        (("--backend", "cpu", "--directory", "nowhere"), 2),
        (("--backend", "dsp", "--dsp_type", "v1000"), 2),
        ((), 2),
    ],
)
def test_wrong_questions_to_the_validator_are_usage_errors(call, tmp_path, monkeypatch, words, code):
    monkeypatch.chdir(tmp_path)
    assert call(validator, *words).code == code
    assert not (tmp_path / "output").exists()
