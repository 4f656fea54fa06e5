"""A model saved as a DLC: it runs as before, from Python and from the tools."""

from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.artifacts.description import Description
from edgewright.artifacts.dlc import reader, writer
from edgewright.core.errors import BadInput, UsageError
from edgewright.core.files import write_whole
from edgewright.model.inspect import inspect
from edgewright.model.saving import SaveOptions
from edgewright.tools.qnn_net_run import main
from tests.cli.models import DIGITS_MODEL
from tests.unit.artifacts.graphs import conv_graph, quantized_graph

DIGIT = np.random.default_rng(3).random((1, 1, 28, 28), np.float32) * 255


@pytest.fixture(scope="module")
def model():
    return ew.convert(DIGITS_MODEL)


@pytest.fixture
def saved(model, tmp_path):
    about = SaveOptions(command="qairt-converter", copyright_text="(c)", model_version="2")
    return model.save(tmp_path / "digits.dlc", about).dlc


def test_a_model_is_loaded_and_run_as_before(model, saved):
    loaded = ew.load(saved)
    assert (loaded.inputs, loaded.outputs) == (model.inputs, model.outputs)
    want, found = model.run({"Input3": DIGIT}), loaded.run({"Input3": DIGIT})
    assert list(found) == list(want)
    for name, value in want.items():
        np.testing.assert_array_equal(found[name], value)


def test_what_a_user_says_about_a_model_is_kept(saved):
    assert reader.read(saved).description == Description(
        command="qairt-converter", copyright_text="(c)", model_version="2"
    )


def test_saving_what_was_loaded_gives_the_same_file(saved, tmp_path):
    about = SaveOptions(command="qairt-converter", copyright_text="(c)", model_version="2")
    again = ew.load(saved).save(tmp_path / "again" / "digits.dlc", about).dlc
    assert again.read_bytes() == saved.read_bytes()


def test_a_dlc_is_inspected_like_a_net_json(saved, model, tmp_path):
    listed = inspect(model.save(tmp_path / "digits.cpp").net_json)
    found = inspect(saved)
    assert found.format == "DLC"
    assert (found.ops, found.macs, found.parameters) == (listed.ops, listed.macs, listed.parameters)


@pytest.mark.parametrize(
    "words",
    [["--model", "digits.dlc"], ["--model", "libQnnModelDlc.so", "--dlc_path", "digits.dlc"]],
    ids=["by-itself", "with-its-library"],
)
def test_net_run_runs_a_dlc(words, saved, model, monkeypatch, capsys):
    monkeypatch.chdir(saved.parent)
    DIGIT.tofile("a.raw")
    Path("list.txt").write_text("a.raw\n")
    assert main([*words, "--backend", "libQnnCpu.so", "--input_list", "list.txt"]) == 0, capsys.readouterr()
    found = np.fromfile("output/Result_0/Plus214_Output_0.raw", np.float32)
    np.testing.assert_array_equal(found, model.run({"Input3": DIGIT})["Plus214_Output_0"].reshape(-1))


def test_a_dlc_of_several_graphs_is_not_taken_for_one_of_them(tmp_path):
    path = tmp_path / "m.dlc"
    write_whole(path, writer.to_chunks([conv_graph(), quantized_graph()], Description()))
    with pytest.raises(
        BadInput, match=r"there are 2 graphs \('tiny_conv', 'quantized'\), expected one graph"
    ):
        ew.load(path)


def test_weights_beside_a_dlc_are_refused(saved):
    with pytest.raises(UsageError, match="a DLC holds its own"):
        ew.load(saved, "digits.bin")


def test_a_net_json_named_as_a_dlc_is_refused(model, tmp_path):
    path = tmp_path / "m.dlc"
    path.write_bytes(model.save(tmp_path / "digits.cpp").net_json.read_bytes())
    with pytest.raises(BadInput, match="not a DLC or is truncated"):
        ew.load(path)
