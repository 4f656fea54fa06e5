"""The program that the Saver writes compiles, and runs in the genuine HTP library."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
import edgewright.abi
from edgewright.abi.libraries import find_libraries
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.backends.saver import SaverBackend
from edgewright.backends.saver.replay import replay
from edgewright.sdk.backend_library import compile_library
from tests.cli.models import DIGITS_MODEL
from tests.native.nets import conv_net, values
from tests.native.saver_nets import KINDS

HEADERS = Path(edgewright.abi.__file__).parent / "csrc"
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def run_program(folder, outputs, library=None):
    """Compiles and runs what was recorded; the outputs of each execution by name."""
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", f"-I{HEADERS}"]
    program = folder / "program"
    compile_it = ["gcc", *flags, str(folder / "saver_output.c"), "-ldl", "-lm", "-o", str(program)]
    subprocess.run(compile_it, check=True, capture_output=True, text=True)
    library = library or find_libraries().folder / "libQnnHtp.so"
    words = [str(program), str(library), str(folder / "params.bin"), str(folder / "out")]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [
        {name: np.fromfile(path / f"{name}.raw", dtype) for name, dtype in outputs.items()}
        for path in sorted((folder / "out").iterdir())
    ]


def test_the_program_gives_what_the_emulator_gives(tmp_path):
    session = SaverBackend(tmp_path).prepare(conv_net(), RunOptions())
    for seed in range(2):
        session.run({"x": values(seed=seed)})
    found = run_program(tmp_path, {"y": np.uint8})
    emulator = find_backend("htp-native").prepare(conv_net(), RunOptions())
    for seed, outputs in enumerate(found):
        expected = emulator.run({"x": values(seed=seed)})["y"].ravel()
        # The program names no chip, and older ones round a few sums the other way.
        assert np.abs(outputs["y"].astype(int) - expected).max() <= 1


def store(graph, feed):
    """Inputs as a graph holds them."""
    found = {}
    for name in graph.inputs:
        kind, array = graph.types[name], feed[graph.source_names.get(name, name)]
        shaped = array.reshape(kind.static_shape())
        found[name] = (
            kind.encoding.encode(shaped, kind.dtype) if kind.encoding else shaped.astype(kind.dtype.numpy)
        )
    return found


def check_program(folder, graph, feeds):
    """`edgewright replay` gives what the emulator gives, and the program within three steps of it."""
    session = SaverBackend(folder).prepare(graph, RunOptions())
    stored = [store(graph, feed) for feed in feeds]
    for feed in stored:
        session.run(feed)
    found = run_program(folder, {name: graph.types[name].dtype.numpy for name in graph.outputs})
    again = replay(folder, "htp-native")
    emulator = find_backend("htp-native").prepare(graph, RunOptions())
    for feed, outputs, replayed in zip(stored, found, again, strict=True):
        for name, expected in emulator.run(feed).items():
            # The program names no chip, and older ones round otherwise: three steps behind a softmax.
            assert np.abs(outputs[name].astype(float) - expected.ravel()).max() <= 3
            np.testing.assert_array_equal(replayed[name].ravel(), expected.ravel())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_quantized_network_of_each_kind_runs(tmp_path, kind):
    feeds = KINDS[kind](tmp_path / "m.onnx")
    check_program(tmp_path / "recorded", ew.quantize(tmp_path / "m.onnx", feeds).fixed_graph(), feeds)


@pytest.mark.slow
def test_a_quantized_network_with_weights_and_tensor_parameters_runs(tmp_path):
    images = np.random.default_rng(1).random((3, 1, 1, 28, 28), np.float32) * 255
    feeds = [{"Input3": image} for image in images]
    check_program(tmp_path, ew.quantize(DIGITS_MODEL, feeds).fixed_graph(), feeds)


@pytest.mark.parametrize("kind", ["cpu", "htp-sim"])
def test_the_program_runs_on_our_own_library_as_our_backend_does(tmp_path, kind):
    compile_library(kind, tmp_path / "library.so")
    graph = conv_net()
    session = SaverBackend(tmp_path / "recorded").prepare(graph, RunOptions())
    feeds = [{"x": values(seed=seed)} for seed in range(2)]
    for feed in feeds:
        session.run(feed)
    found = run_program(tmp_path / "recorded", {"y": np.uint8}, tmp_path / "library.so")
    backend = find_backend(kind).prepare(graph, RunOptions())
    for feed, outputs in zip(feeds, found, strict=True):
        np.testing.assert_array_equal(outputs["y"], backend.run(feed)["y"].ravel())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_networks_of_each_kind_run_on_our_own_library(tmp_path, kind):
    feeds = KINDS[kind](tmp_path / "m.onnx")
    graph = ew.quantize(tmp_path / "m.onnx", feeds).fixed_graph()
    session, stored = SaverBackend(tmp_path / "recorded").prepare(graph, RunOptions()), store(graph, feeds[0])
    session.run(stored)
    compile_library("cpu", tmp_path / "library.so")
    types = {name: graph.types[name].dtype.numpy for name in graph.outputs}
    (found,) = run_program(tmp_path / "recorded", types, tmp_path / "library.so")
    for name, expected in replay(tmp_path / "recorded", "cpu")[0].items():
        np.testing.assert_array_equal(found[name], expected.ravel())
