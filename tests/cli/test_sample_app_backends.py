"""The guide's integration workflow (lines 625 to 676) in C++: one binary on every backend library."""

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
from edgewright.tools.umbrella import main
from tests.cli.models import DIGITS_MODEL
from tests.cli.test_op_packages import X, built, converted, cpu_library, expected  # noqa: F401

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


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A folder for each kind, with the names that programs look for."""
    folder = tmp_path_factory.mktemp("libraries")
    for kind in ("cpu", "htp-sim"):
        assert main(["backend-library", "-o", str(folder / kind), "--kind", kind, "--qnn-names"]) == 0
    found = {"cpu": folder / "cpu/libQnnCpu.so", "htp-sim": folder / "htp-sim/libQnnHtp.so"}
    genuine = find_libraries()
    return found if genuine is None else {**found, "htp-native": genuine.folder / "libQnnHtp.so"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Steps 1, 3 and 4: a quantized model.cpp with its .bin, compiled into a model library."""
    folder = tmp_path_factory.mktemp("model")
    np.random.default_rng(5).random((1, 28, 28, 1), np.float32).tofile(folder / "x.raw")
    (folder / "list.txt").write_text(f"{folder}/x.raw\n")
    listed = ["--input_list", str(folder / "list.txt")]
    assert convert(["-i", str(DIGITS_MODEL), "-o", str(folder / "m.cpp"), *listed]) == 0
    words = ["-c", str(folder / "m.cpp"), "-b", str(folder / "m.bin"), "-t", "x86_64-linux-clang"]
    assert generate([*words, "-o", str(folder / "m.so")]) == 0
    return folder


def call_app(app, *words):
    done = subprocess.run([app, *words], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(folder):
    (file,) = folder.glob("*.raw")
    return np.fromfile(file, np.float32)


@pytest.mark.parametrize("backend", ["cpu", "htp-sim", "htp-native"])
def test_a_model_library_and_its_saved_context_run(app, libraries, model, backend, tmp_path):
    """Steps 5 and 6: the application executes the model, saves its context, runs that without the model."""
    if backend not in libraries:
        pytest.skip("the wheel onnxruntime-qnn is not installed")
    library, saved = libraries[backend], tmp_path / "saved.bin"
    said = call_app(
        app, "--save_context", saved, library, model / "m.so", tmp_path / "first", model / "x.raw"
    )
    assert ("EDGEWRIGHT" in said) == (backend != "htp-native")
    call_app(app, library, saved, tmp_path / "second", model / "x.raw")
    assert np.array_equal(read(tmp_path / "first"), read(tmp_path / "second"))
    words = ["--model", str(model / "m_net.json"), "--backend", backend]
    words += ["--input_list", str(model / "list.txt"), "--output_dir", str(tmp_path / "tool")]
    assert net_run(words) == 0
    # The app names no chip, the tool does: architectures of the emulator may round one step apart.
    step = 0.02 if backend == "htp-native" else 0
    assert np.abs(read(tmp_path / "first") - read(tmp_path / "tool/Result_0")).max() <= step
    assert np.ptp(read(tmp_path / "first")) > 1


def test_a_model_with_a_custom_op_runs_with_its_package(app, libraries, call, built, tmp_path):  # noqa: F811
    """Steps 2 and 5: the op package is registered with the backend, which loads it."""
    converted(call, built, tmp_path)
    words = ("-c", tmp_path / "m.cpp", "-b", tmp_path / "m.bin", "-t", "x86_64-linux-clang")
    assert call(generate, *words, "-o", tmp_path / "m.so").code == 0
    package = f"{cpu_library(built)}:StrangeInterfaceProvider:CPU"
    given = (libraries["cpu"], tmp_path / "m.so", tmp_path / "out", built / "x.raw")
    call_app(app, "--op_package", package, *given)
    assert np.allclose(read(tmp_path / "out").reshape(2, 3), expected(X), atol=1e-6)
    done = subprocess.run([app, *given], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert "Wobble" in done.stderr
