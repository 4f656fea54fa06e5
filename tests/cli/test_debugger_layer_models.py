"""Layerwise debugging with a model for each layer: the same numbers, and the stage at which a layer fails."""

import json

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.cli import models
from tests.cli.test_accuracy_debugger import here, read_table, run, wrapper  # noqa: F401 - a fixture

RNG = np.random.default_rng(9)
LAYERWISE = ("--default_verifier", "sqnr", "--debugging_algorithm", "layerwise")


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """A network with an op in the middle that has no QNN equivalent."""
    monkeypatch.chdir(tmp_path)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="m"),
        helper.make_node("Unique", ["a"], ["d"], name="unique"),
        helper.make_node("Relu", ["a"], ["r"], name="r"),
        helper.make_node("MatMul", ["r", "w"], ["y"], name="q"),
    ]
    outputs = [("y", TensorProto.FLOAT, [4, 4]), ("d", TensorProto.FLOAT, ["n"])]
    weights = {"w": RNG.standard_normal((4, 4)).astype(np.float32)}
    models.save(tmp_path / "m.onnx", nodes, [("x", TensorProto.FLOAT, [4, 4])], outputs, weights)
    RNG.standard_normal((4, 4)).astype(np.float32).tofile(tmp_path / "0.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path}/0.raw\n")
    return tmp_path


def read_layers(home, algorithm="layerwise"):
    folder = home / "working_directory" / f"{algorithm}_snooping" / "latest"
    return {row["O/P Name"]: row for row in read_table(folder / f"{algorithm}.csv")}


def debug(*more, algorithm="layerwise"):
    words = ("-f", "onnx", "-m", "m.onnx", "-i", "x", "4,4", "0.raw", "-r", "htp-sim", "-l", "list.txt")
    return run(*words, "--default_verifier", "sqnr", "--debugging_algorithm", algorithm, *more)


def test_an_op_that_cannot_be_converted_leaves_the_other_layers_alone(refused, capsys):
    assert debug(algorithm="cumulative-layerwise") == 0
    rows = read_layers(refused, "cumulative_layerwise")
    assert {name: row["Status"] for name, row in rows.items()} == {
        "a": "part",
        "d": "err_con",
        "r": "part",
        "y": "part",
    }
    assert "Unique" in rows["d"]["Info"]
    # From the first layer on the refused op is part of the model; from the others on it is not.
    assert rows["a"]["Info"].startswith("outputs: err_con")
    assert json.loads(rows["r"]["Orig Outputs"].replace("'", '"'))["y"]["sqnr"] > 20
    text = capsys.readouterr().out
    assert "each layer was converted by itself, the whole is not" in text
    assert "first divergence: d (Unique): ONNX op 'Unique'" in text


def test_a_context_that_is_not_generated_and_a_run_that_fails_have_their_own_status(refused):
    assert debug("--offline_prepare", "--compiler_config", "missing.json") == 0
    assert [row["Status"] for row in read_layers(refused).values()] == [
        "err_cntx",
        "err_con",
        "err_cntx",
        "err_cntx",
    ]
    assert debug("--extra_runtime_args", "native_input_tensor_names=nope") == 0
    rows = read_layers(refused)
    assert [row["Status"] for row in rows.values()] == ["err_exec", "err_con", "err_exec", "err_exec"]
    assert "nope" in rows["a"]["Info"]


def test_a_library_that_is_not_compiled_is_told(here, monkeypatch):  # noqa: F811
    monkeypatch.setenv("PATH", "")
    assert wrapper(*LAYERWISE, "--model_per_layer", "--start_layer", "/sum", "--end_layer", "pooled") == 0
    rows = read_layers(here)
    assert [row["Status"] for row in rows.values()] == ["skip", "skip", "err_lib", "err_lib", "skip"]
    assert "g++" in rows["/sum"]["Info"]


def test_layers_are_skipped_by_type_and_name(here):  # noqa: F811
    assert wrapper(*LAYERWISE, "--skip_layer_types", "Conv2d", "--skip_layer_outputs", "pooled") == 0
    statuses = {name: row["Status"] for name, row in read_layers(here).items()}
    # What the library computes with its activation is that activation's layer.
    assert statuses == {
        "/r1/out": "part",
        "/c2/out": "skip",
        "/sum": "part",
        "pooled": "skip",
        "scores": "part",
    }
    folder = here / "working_directory" / "layerwise_snooping" / "latest" / "inference_engine"
    assert (folder / "_sum" / "output" / "Result_0" / "_sum.raw").stat().st_size == 8 * 8 * 8 * 4
    assert not (folder / "_c2_out").exists()


@pytest.mark.slow
def test_a_model_for_each_layer_gives_the_same_numbers(here):  # noqa: F811
    words = ("--default_verifier", "sqnr", "--debugging_algorithm", "cumulative-layerwise")
    assert wrapper(*words) == 0
    fast = read_layers(here, "cumulative_layerwise")
    assert wrapper(*words, "--model_per_layer") == 0
    slow = read_layers(here, "cumulative_layerwise")
    assert fast.keys() == slow.keys()
    for name, row in fast.items():
        assert float(slow[name]["sqnr"]) == pytest.approx(float(row["sqnr"]), abs=1e-4)
        assert slow[name]["Orig Outputs"] == row["Orig Outputs"]
