"""Whole models, in every form in which TensorFlow saves them, against what it computes."""

import shutil
from collections import Counter
from contextlib import suppress
from zipfile import ZipFile

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, UsageError
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.tensorflow.load import TensorflowSource

CLOSE = {"rtol": 0, "atol": 1e-5}


def opened(path, **options):
    return TensorflowSource.open(path, InputSpec(**options))


def test_a_saved_model_is_called_by_the_keys_of_its_signature(saved_models, expected):
    model = ew.convert(saved_models / "saved")
    found = model.run({"x": expected["x"]})
    np.testing.assert_allclose(found["scores"], expected["scores"], **CLOSE)
    assert int(found["rows"]) == 2


def test_open_dimensions_of_a_saved_model_take_any_number(saved_models, expected):
    found = ew.convert(saved_models / "saved").run({"x": np.repeat(expected["x"], 3, 0)})
    np.testing.assert_allclose(found["scores"], np.repeat(expected["scores"], 3, 0), **CLOSE)


def test_another_signature_is_another_model(saved_models, expected):
    model = ew.convert(saved_models / "saved", signature="embed", tag="serve")
    found = model.run({"index": np.asarray([3, 0, 4, 1], np.int32)})
    np.testing.assert_array_equal(found["vectors"], expected["vectors"])


def test_outputs_of_a_signature_may_be_chosen(saved_models):
    model = ew.convert(saved_models / "saved", outputs=["scores"])
    assert [item.name for item in model.outputs] == ["scores"]


def test_a_signature_that_is_not_there_is_answered_with_those_that_are(saved_models):
    with pytest.raises(UsageError, match="the signature 'embod' is asked for") as found:
        opened(saved_models / "saved", signature="embod")
    assert "embed" in found.value.do


def test_a_tag_that_is_not_there_is_answered_with_those_that_are(saved_models):
    with pytest.raises(UsageError, match="the tag 'train' is asked for") as found:
        opened(saved_models / "saved", tag="train")
    assert "serve" in found.value.do


def test_a_zipped_saved_model_is_read_like_its_folder(saved_models, expected, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "model"), "zip", saved_models, "saved")
    found = ew.convert(archive).run({"x": expected["x"]})
    np.testing.assert_allclose(found["scores"], expected["scores"], **CLOSE)


@pytest.mark.parametrize("file", ["early.pb", "early.meta"])
def test_loops_and_branches_of_tensorflow_1_are_unrolled(saved_models, expected, file):
    model = ew.convert(saved_models / file, outputs=["y"])
    np.testing.assert_allclose(model.run({"x:0": expected["x"]})["y:0"], expected["y"], **CLOSE)
    np.testing.assert_allclose(model.run({"x:0": -expected["x"]})["y:0"], expected["y_negative"], **CLOSE)


def test_a_saved_model_of_tensorflow_1_reads_its_variables(saved_models, expected):
    found = ew.convert(saved_models / "early_saved").run({"image": expected["x"]})
    np.testing.assert_allclose(found["result"], expected["y"], **CLOSE)


@pytest.mark.parametrize("suffix", ["", "_lowered"])
@pytest.mark.parametrize(
    ("name", "layers"), [("lstm", {"Lstm": 1}), ("gru", {"Gru": 1}), ("both", {"Lstm": 2}), ("relu", {})]
)
def test_loops_that_compute_a_recurrent_layer_become_it(saved_models, expected, name, layers, suffix):
    model = ew.convert(saved_models / f"{name}{suffix}.pb")
    found = Counter(node.op.qnn_name() for node in model.graph.nodes)
    assert {kind: found[kind] for kind in ("Lstm", "Gru") if found[kind]} == layers
    result = model.run({"x:0": expected["steps"]})["Identity:0"]
    np.testing.assert_allclose(result, expected[name], **CLOSE)


def test_a_recurrent_layer_leaves_nothing_of_its_loop_behind(saved_models):
    imported = opened(saved_models / "lstm.pb").build({})
    assert len(imported.emitted) < 10
    assert {node.op.qnn_name() for node in imported.graph.nodes} <= {"Lstm", "Transpose", "UnPack", "Reshape"}


@pytest.mark.parametrize("wanted", ["Identity", "Identity:0"])
def test_a_port_may_be_named_or_left_out(saved_models, wanted):
    assert opened(saved_models / "gru.pb", outputs=[wanted]).outputs == ["Identity:0"]


def test_a_node_that_is_not_there_is_answered_with_one_close_to_it(saved_models):
    with pytest.raises(UsageError, match="the tensor 'Identty:0', which the model does not have") as found:
        opened(saved_models / "gru.pb", outputs=["Identty"])
    assert "Identity:0" in found.value.do


def test_saving_and_restoring_are_no_part_of_the_model(saved_models):
    ops = {node.op for node in opened(saved_models / "saved").nodes()}
    assert "MatMul" in ops
    assert not ops & {"SaveV2", "RestoreV2", "AssignVariableOp"}


def test_variables_without_a_checkpoint_say_so(saved_models, tmp_path):
    shutil.copytree(saved_models / "saved", tmp_path / "saved", ignore=shutil.ignore_patterns("variables*"))
    with pytest.raises(BadInput, match="has no value: no checkpoint lies beside the model"):
        ew.convert(tmp_path / "saved")


def test_a_checkpoint_that_is_cut_off_says_so(saved_models, tmp_path):
    shutil.copytree(saved_models / "saved", tmp_path / "saved")
    data = tmp_path / "saved/variables/variables.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:10])
    with pytest.raises(BadInput, match="the file has 10"):
        ew.convert(tmp_path / "saved")


@pytest.mark.parametrize("length", [0, 20, 60, 200])
def test_a_damaged_index_of_a_checkpoint_is_an_error(saved_models, tmp_path, length):
    shutil.copytree(saved_models / "saved", tmp_path / "saved")
    index = tmp_path / "saved/variables/variables.index"
    index.write_bytes(index.read_bytes()[:length])
    with pytest.raises(BadInput, match="index"):
        ew.convert(tmp_path / "saved")


@pytest.mark.parametrize("seed", range(40))
def test_a_flipped_byte_is_an_error_or_another_model(saved_models, tmp_path, seed):
    random = np.random.default_rng(seed)
    shutil.copytree(saved_models / "saved", tmp_path / "saved")
    file = tmp_path / "saved" / ["saved_model.pb", "variables/variables.index"][seed % 2]
    data = bytearray(file.read_bytes())
    for place in random.integers(0, len(data), 3):
        data[place] = random.integers(0, 256)
    file.write_bytes(data)
    with suppress(ew.EdgewrightError):
        ew.convert(tmp_path / "saved")


def test_an_archive_that_reaches_outside_is_refused(saved_models, tmp_path):
    with ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.write(saved_models / "saved/saved_model.pb", "saved_model.pb")
        archive.writestr("../outside.txt", "x")
    with pytest.raises(BadInput, match="which lies outside"):
        ew.convert(tmp_path / "m.zip")
    assert not (tmp_path.parent / "outside.txt").exists()


def test_a_folder_without_a_model_says_what_is_missing(tmp_path):
    with pytest.raises(BadInput, match=r"the folder has no saved_model\.pb"):
        ew.convert(tmp_path)
