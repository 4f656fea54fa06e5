import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

import edgewright as ew
from edgewright.tools.qairt_converter import main as qairt
from edgewright.tools.qnn_tensorflow_converter import main
from edgewright.tools.umbrella import main as umbrella
from tests.unit.frontends.tensorflow.graph_writer import const, graph, node, placeholder

MODELS = Path(__file__).parents[1] / "unit/frontends/tensorflow/models.zip"
RANDOM = np.random.default_rng(5)
WEIGHTS = RANDOM.uniform(-1, 1, (3, 3, 2, 4)).astype(np.float32)
CONV = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def small(folder, *more):
    """An image through a convolution, with a branch that leads nowhere."""
    nodes = (
        placeholder("image", 1, 6, 5, 2),
        const("w", WEIGHTS),
        node("conv", "Conv2D", "image", "w", **CONV),
        node("y", "Relu", "conv"),
        *more,
    )
    (folder / "small.pb").write_bytes(graph(*nodes))
    return folder / "small.pb"


def trained(folder):
    """The same with ranges that a quantization-aware training left."""
    nodes = (
        placeholder("image", 1, 6, 5, 2),
        node("fq_in", "FakeQuantWithMinMaxArgs", "image", min=0.0, max=1.0, num_bits=8),
        const("w", WEIGHTS),
        const("low", np.float32(-1.27)),
        const("high", np.float32(1.27)),
        node("fq_w", "FakeQuantWithMinMaxVars", "w", "low", "high", num_bits=8, narrow_range=True),
        node("conv", "Conv2D", "fq_in", "fq_w", **CONV),
        node("relu", "Relu", "conv"),
        node("y", "FakeQuantWithMinMaxArgs", "relu", min=0.0, max=5.1, num_bits=8),
    )
    (folder / "trained.pb").write_bytes(graph(*nodes))
    return folder / "trained.pb"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    with ZipFile(MODELS) as archive:
        archive.extractall(folder)
    return folder


def tensors(net_json):
    return json.loads(net_json.read_text())["graph"]["tensors"]


@pytest.mark.parametrize("port", ["", ":0"])
def test_names_are_accepted_with_and_without_their_port(call, tmp_path, port):
    file = small(tmp_path)
    answer = call(main, "-i", file, "-d", f"image{port}", "2,6,5,2", "--out_node", f"conv{port}")
    assert answer.code == 0
    model = ew.load(tmp_path / "small_net.json")
    assert [(item.name, item.shape) for item in model.inputs] == [("image:0", (2, 6, 5, 2))]
    assert [item.name for item in model.outputs] == ["conv:0"]


def test_what_is_written_computes_what_the_graph_does(call, tmp_path):
    assert call(main, "-i", small(tmp_path), "-o", tmp_path / "out.cpp").code == 0
    x = RANDOM.standard_normal((1, 6, 5, 2)).astype(np.float32)
    source, written = ew.convert(tmp_path / "small.pb"), ew.load(tmp_path / "out_net.json")
    np.testing.assert_allclose(
        written.run({"image:0": x})["y:0"], source.run({"image:0": x})["y:0"], atol=1e-6
    )


def test_unconsumed_nodes_are_listed_where_they_are_asked_for(call, tmp_path):
    file = small(tmp_path, node("loose", "Neg", "conv"))
    answer = call(main, "-i", file, "--out_node", "y", "--show_unconsumed_nodes", "--allow_unconsumed_nodes")
    assert "no output depends on node 'loose'" in answer.out
    answer = call(main, "-i", file, "--out_node", "y")
    assert "loose" not in answer.out


def test_ranges_of_a_quantization_aware_training_become_encodings(call, tmp_path):
    assert call(main, "-i", trained(tmp_path), "--float_fallback").code == 0
    found = tensors(tmp_path / "trained_net.json")
    scales = {
        name: item["quant_params"]["scale_offset"]["scale"]
        for name, item in found.items()
        if "scale_offset" in item["quant_params"]
    }
    assert scales["image_0"] == pytest.approx(1 / 255)
    assert scales["y_0"] == pytest.approx(0.02)
    weights = next(scale for name, scale in scales.items() if name.startswith(("w_0", "fq_w")))
    assert weights == pytest.approx(0.01)


def test_ranges_can_be_ignored(call, tmp_path):
    np.full((1, 6, 5, 2), 0.5, np.float32).tofile(tmp_path / "x.raw")
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'x.raw'}\n")
    words = ("--input_list", tmp_path / "list.txt", "--ignore_encodings")
    assert call(main, "-i", trained(tmp_path), *words).code == 0
    scale = tensors(tmp_path / "trained_net.json")["image_0"]["quant_params"]["scale_offset"]["scale"]
    assert scale == pytest.approx(0.5 / 255, rel=0.1)


def test_a_saved_model_is_converted_by_its_signature(call, saved, tmp_path):
    words = ("--saved_model_tag", "serve", "--saved_model_signature_key", "embed")
    assert call(main, "-i", saved / "saved", "-o", tmp_path / "m.cpp", *words).code == 0
    model = ew.load(tmp_path / "m_net.json")
    assert [item.name for item in (*model.inputs, *model.outputs)] == ["index", "vectors"]


def test_a_signature_that_is_missing_is_the_user_s_mistake(call, saved, tmp_path):
    words = ("--saved_model_signature_key", "nothing")
    answer = call(main, "-i", saved / "saved", "-o", tmp_path / "m.cpp", *words)
    assert (answer.code, "which the model does not have" in answer.err) == (2, True)
    assert not list(tmp_path.iterdir())


def test_open_batches_become_one_and_the_option_that_exists_is_named(call, saved, tmp_path):
    answer = call(main, "-i", saved / "saved", "-o", tmp_path / "m.cpp")
    assert "batch 'batch' of 'x' was set to 1; --input_dim sets another one" in answer.out


def test_all_that_is_unsupported_comes_at_once(call, tmp_path):
    file = small(tmp_path, node("a", "Mystery", "conv"), node("b", "Riddle", "y"))
    answer = call(main, "-i", file)
    assert answer.code == 4
    assert all(word in answer.err for word in ("'Mystery'", "'Riddle'", "node 'a'", "node 'b'"))
    assert not (tmp_path / "small.cpp").exists()


def test_qairt_validates_the_rewrites_and_lists_what_is_left_over(call, saved, tmp_path):
    words = ("--tf_validate_models", "--tf_show_unconsumed_nodes")
    answer = call(qairt, "-i", saved / "saved", "-o", tmp_path / "m.dlc", *words)
    assert answer.code == 0
    assert "rewritten against original on inputs of ones: 'scores' differs by" in answer.out
    assert "the outputs depend on every node" in answer.out


def test_qairt_takes_tag_signature_and_no_optimization(call, saved, tmp_path):
    words = ("--tf_saved_model_tag", "serve", "--tf_saved_model_signature_key", "embed")
    answer = call(qairt, "-i", saved / "saved", "-o", tmp_path / "m.dlc", "--tf_no_optimization", *words)
    assert answer.code == 0
    assert [item.name for item in ew.load(tmp_path / "m.dlc").outputs] == ["vectors"]


def test_inspect_shows_a_saved_model_and_a_zipped_one(call, saved, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "m"), "zip", saved / "saved")
    for source in (saved / "saved", archive):
        answer = call(umbrella, "inspect", source)
        assert (answer.code, "TensorFlow SavedModel" in answer.out, "MatMul" in answer.out) == (0, True, True)


def test_a_graph_under_another_name_is_known_by_its_content(call, tmp_path):
    small(tmp_path).rename(tmp_path / "model.dat")
    answer = call(umbrella, "inspect", tmp_path / "model.dat")
    assert (answer.code, "TensorFlow frozen graph" in answer.out) == (0, True)


@pytest.mark.parametrize("kind", ["missing", "empty", "random", "folder"])
def test_what_is_no_model_is_one_clean_error(call, tmp_path, kind):
    target = tmp_path / "m.pb"
    if kind == "folder":
        target.mkdir()
    elif kind != "missing":
        target.write_bytes(b"" if kind == "empty" else RANDOM.bytes(500))
    answer = call(main, "-i", target, "-o", tmp_path / "out.cpp")
    assert (answer.code, answer.out, answer.err.count("error[")) == (3, "", 1)
    assert not list(tmp_path.glob("out*"))


def test_a_folder_runs_and_its_comparison_says_what_it_needs(call, saved):
    folder = next(path.parent for path in sorted(saved.rglob("saved_model.pb")))
    answer = call(umbrella, "run", folder, "--random")
    assert (answer.code, "1 run in" in answer.out) == (0, True), answer.err
    compared = call(umbrella, "run", folder, "--random", "--compare")
    if find_spec("tensorflow") is None:
        assert (compared.code, "edgewright[tensorflow]" in compared.err) == (6, True)
    else:
        assert (compared.code, "in TensorFlow" in compared.out) == (0, True)
