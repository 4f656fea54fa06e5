"""Models with what was measured of them elsewhere: times of a profile, values of samples."""

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput
from edgewright.tools.qnn_net_run import main as run_net
from edgewright.view.measured import open_measured
from tests.unit.view.sample_models import save_chain, save_convolution


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("measured")
    save_convolution(home / "small.onnx")
    ew.convert(home / "small.onnx").save(home / "small.dlc")
    data = np.random.default_rng(0).standard_normal((6, 1, 3, 8, 8)).astype(np.float32)
    np.save(home / "data.npy", data)
    data[0].tofile(home / "0.raw")
    (home / "list.txt").write_text(f"{home / '0.raw'}\n")
    words = ["--backend", "cpu", "--input_list", str(home / "list.txt"), "--output_dir", str(home / "output")]
    assert run_net(["--model", str(home / "small.dlc"), *words, "--profiling_level", "detailed"]) == 0
    return home


def test_a_profile_colours_nodes_by_their_time(folder):
    log = folder / "output" / "qnn-profiling-data_0.log"
    model = open_measured(folder / "small.dlc", profile=log)
    overlay = model.overlays[model.graphs[0].name][0]
    assert (overlay.key, overlay.unit) == ("time", "µs")
    # The activation is fused to it.
    assert "conv" in overlay.values
    save_chain(folder / "other.onnx", ["elsewhere"])
    with pytest.raises(BadInput, match=r"no op of the profile is a node of 'other\.onnx'"):
        open_measured(folder / "other.onnx", profile=log)


@pytest.mark.parametrize("name", ["small.onnx", "small.dlc"])
def test_samples_give_the_values_of_results(folder, name):
    model = open_measured(folder / name, data=folder / "data.npy")
    values = [tensor.values for tensor in model.graphs[0].tensors.values() if tensor.values is not None]
    data, run = np.load(folder / "data.npy")[:4], ew.convert(folder / "small.onnx").run
    expected = np.stack([run({"image": sample})["result"] for sample in data])
    result = next(each for each in values if each["min"] == 0)
    assert result["count"] == expected.size
    assert result["max"] == pytest.approx(float(expected.max()), rel=1e-5)
    assert sum(result["counts"]) == expected.size
    assert "4 samples" in model.notes[-1]


def test_a_model_in_memory_has_values_too(folder):
    model = open_measured(ew.convert(folder / "small.onnx"), data=np.load(folder / "data.npy"))
    assert any(tensor.values for tensor in model.graphs[0].tensors.values())
