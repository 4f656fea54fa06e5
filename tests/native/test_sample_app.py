"""The C++ sample application builds with CMake and runs a model library in the genuine HTP library."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgewright.abi.libraries import find_libraries
from edgewright.tools.qnn_model_lib_generator import main as generate
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.qnn_onnx_converter import main as convert
from tests.cli.models import DIGITS_MODEL

APP = Path(__file__).parents[2] / "examples" / "sample_app"
missing = [tool for tool in ("cmake", "g++") if shutil.which(tool) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing), reason=f"{' and '.join(missing)} not installed"),
]


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("app")
    configure = ["cmake", "-S", str(APP), "-B", str(folder), f"-DPYTHON={sys.executable}"]
    subprocess.run([*configure, "-DCMAKE_CXX_FLAGS=-Werror"], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", str(folder)], check=True, capture_output=True)
    return folder / "qnn-sample-app"


def called(app, *words):
    done = subprocess.run([app, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_app_gives_what_net_run_gives(app, tmp_path):
    np.random.default_rng(5).random((1, 28, 28, 1), np.float32).tofile(tmp_path / "x.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path}/x.raw\n")
    listed = ["--input_list", str(tmp_path / "list.txt")]
    assert convert(["-i", str(DIGITS_MODEL), "-o", str(tmp_path / "m.cpp"), *listed]) == 0
    words = ["-c", str(tmp_path / "m.cpp"), "-b", str(tmp_path / "m.bin"), "-t", "x86_64-linux-clang"]
    assert generate([*words, "-o", str(tmp_path / "m.so")]) == 0
    backend = str(find_libraries().folder / "libQnnHtp.so")
    code, said, problems = called(app, backend, tmp_path / "m.so", tmp_path / "app", tmp_path / "x.raw")
    assert code == 0, problems
    assert "graph m" in said
    words = ["--model", str(tmp_path / "m_net.json"), "--backend", "htp-native", *listed]
    assert net_run([*words, "--output_dir", str(tmp_path / "tool")]) == 0
    of_app = np.fromfile(tmp_path / "app/Plus214_Output_0.raw", np.float32)
    of_tool = np.fromfile(tmp_path / "tool/Result_0/Plus214_Output_0.raw", np.float32)
    # The app names no chip, the tool does: architectures may round one step apart.
    assert np.allclose(of_app, of_tool, atol=0.02)
    assert np.ptp(of_app) > 1


def test_what_is_missing_is_one_line(app, tmp_path):
    backend = str(find_libraries().folder / "libQnnHtp.so")
    code, _, problems = called(app, backend, tmp_path / "none.so", tmp_path, tmp_path / "x.raw")
    assert code == 1
    assert problems.startswith("error: ")
    assert called(app)[0] == 2
