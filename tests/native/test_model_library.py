"""Model libraries compose in the genuine HTP library itself."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.artifacts.model_library.toolchains import NoToolchain, find_toolchain
from edgewright.backends.qnn.runtime import QnnRuntime
from edgewright.core.errors import EnvironmentProblem
from edgewright.model.model import Model
from edgewright.ops.norm import RmsNorm
from edgewright.ops.rearrange_fill import Pad, Scheme
from edgewright.tools.qnn_model_lib_generator import main as generate
from edgewright.tools.qnn_net_run import main as net_run
from edgewright.tools.qnn_onnx_converter import main as convert
from tests.cli.models import DIGITS_MODEL
from tests.native.test_rewrites import Chain

HOST = "x86_64-linux-clang"
pytestmark = pytest.mark.skipif(
    isinstance(find_toolchain(HOST), NoToolchain), reason="no compiler for x86_64 Linux"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    np.random.default_rng(3).random((1, 28, 28, 1), np.float32).tofile(folder / "x.raw")
    (folder / "list.txt").write_text(f"{folder}/x.raw\n")
    words = ["-i", str(DIGITS_MODEL), "-o", str(folder / "digits.cpp")]
    assert convert([*words, "--input_list", str(folder / "list.txt")]) == 0
    words = ["-c", str(folder / "digits.cpp"), "-b", str(folder / "digits.bin"), "-t", HOST]
    assert generate([*words, "-o", str(folder / "digits.so")]) == 0
    return folder


def test_a_library_composed_in_htp_gives_what_its_net_json_gives(made, tmp_path):
    found = []
    for number, model in enumerate(("digits.so", "digits_net.json")):
        words = ["--model", str(made / model), "--backend", "htp-native"]
        words += ["--input_list", str(made / "list.txt"), "--output_dir", str(tmp_path / str(number))]
        assert net_run(words) == 0
        found += [path.read_bytes() for path in (tmp_path / str(number)).glob("Result_0/*.raw")]
    assert len(found) == 2
    assert found[0] == found[1]


def test_the_graph_is_described_by_the_library(made):
    with QnnRuntime() as runtime:
        (graph,) = runtime.compose_library(made / "digits.so").graphs
    assert graph.name == "digits"
    assert [tensor.dims for tensor in (*graph.inputs, *graph.outputs)] == [(1, 28, 28, 1), (1, 10)]


def test_a_function_that_is_not_there_leaves_the_worker_alive(made):
    with QnnRuntime() as runtime:
        with pytest.raises(EnvironmentProblem, match="it has no function 'Other_composeGraphs'"):
            runtime.compose_library(made / "digits.so", "Other")
        assert runtime.is_alive


def norm_with_beta():
    """Right to 4 dB as one op."""
    net = Chain(1, 7, 16)
    return net, net.add(RmsNorm(axes=(2,)), "x", net.draw(16), net.draw(16))


def edges():
    """A tenth of the padding is wrong as it stands."""
    net = Chain(1, 9, 9, 4)
    return net, net.add(Pad(pad_amount=((0, 0), (3, 3), (3, 3), (0, 0)), scheme=Scheme.EDGE), "x")


@pytest.mark.parametrize("network", [norm_with_beta, edges])
def test_a_library_with_ops_that_htp_computes_wrongly_gives_what_the_model_gives(network, tmp_path):
    net, output = network()
    net.graph.outputs = [output]
    model = ew.quantize(Model.of(net.graph), float_bw=16)
    files = model.save(tmp_path / "model.cpp")
    words = ["-c", str(files.cpp), "-b", str(files.bin), "-t", HOST]
    assert generate([*words, "-o", str(tmp_path / "libmodel.so")]) == 0
    net.feed["x"].tofile(tmp_path / "x.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path}/x.raw\n")
    words = ["--model", str(tmp_path / "libmodel.so"), "--backend", "htp-native"]
    assert net_run([*words, "--input_list", str(tmp_path / "list.txt"), "--output_dir", str(tmp_path)]) == 0
    expected = model.run(net.feed, backend="htp-native")[output]
    found = np.fromfile(next((tmp_path / "Result_0").glob("*.raw")), np.float32)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)
