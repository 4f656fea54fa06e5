"""Two models side by side, and the tensors of a run beside golden ones."""

import json

import numpy as np
import pytest

import edgewright as ew
from edgewright.core.errors import BadInput, UsageError
from edgewright.view.compare_graphs import compare_views
from edgewright.view.compare_outputs import OutputFolders, compare_outputs
from edgewright.view.document import list_drawn_nodes, make_document
from edgewright.view.open_view import open_view
from edgewright.view.viewer import prepare_views
from tests.unit.view.sample_models import save_chain, save_convolution


def find_place(model, kind):
    return next(n for n, (_, node) in enumerate(list_drawn_nodes(model.graphs[0])) if node.type == kind)


@pytest.fixture
def small(tmp_path):
    save_convolution(tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


@pytest.fixture
def data():
    return np.random.default_rng(0).standard_normal((4, 1, 3, 8, 8)).astype(np.float32)


def test_a_model_beside_itself_has_no_difference(small):
    models, comparison = compare_views(open_view(small), open_view(small))
    assert [pair[0] for pair in comparison.pairs] == [pair[1] for pair in comparison.pairs] == [0, 1, 2, 3]
    assert comparison.differences == {}
    assert all(overlay.values == {} for model in models for overlay in model.overlays["ONNX"])
    json.dumps(comparison.to_document())


def test_a_source_is_matched_with_what_it_became(small, data, tmp_path):
    ew.quantize(small, data).save(tmp_path / "small.dlc")
    models, comparison = compare_views(open_view(small), open_view(tmp_path / "small.dlc"))
    pairs = dict(comparison.pairs)
    here, there = find_place(models[0], "Conv"), find_place(models[1], "Conv2d")
    assert pairs[here] == there
    told = {item.what: (item.left, item.right) for item in comparison.differences[here]}
    # Other words for ops and another order of axes are no difference between a source and its conversion.
    assert told == {"output 0, datatype": ("float32", "ufixed_point_8")}
    assert make_document(models[1])["graphs"][0]["overlayAtFirst"] == 0


def test_other_encodings_of_results_and_biases_are_told(small, data, tmp_path):
    ew.quantize(small, data).save(tmp_path / "a.dlc")
    ew.quantize(small, data * np.float32(1.5)).save(tmp_path / "b.dlc")
    models, comparison = compare_views(open_view(tmp_path / "a.dlc"), open_view(tmp_path / "b.dlc"))
    told = [item.what for item in comparison.differences[find_place(models[0], "Conv2d")]]
    assert told == ["output 0, encoding", "constant 1, encoding"]


def test_a_node_that_one_model_lacks_counts_as_different(tmp_path):
    save_chain(tmp_path / "a.onnx", ["one", "two"])
    save_chain(tmp_path / "b.onnx", ["one", "two", "three"])
    models, comparison = compare_views(open_view(tmp_path / "a.onnx"), open_view(tmp_path / "b.onnx"))
    assert models[1].overlays["ONNX"][0].values == {"three": 1}
    assert 4 not in dict(comparison.pairs).values()


def test_a_diff_needs_two_models(small):
    with pytest.raises(UsageError, match="1 models are to be compared, expected 2"):
        prepare_views([open_view(small)], is_diff=True)


def write_folder(folder, tensors):
    folder.mkdir()
    for name, array in tensors.items():
        array.astype(np.float32).tofile(folder / f"{name}.raw")


def test_outputs_beside_outputs_colour_the_nodes_that_made_them(small, tmp_path):
    golden = {"wide": np.arange(512.0), "result": np.arange(512.0)}
    write_folder(tmp_path / "golden", golden)
    write_folder(tmp_path / "run", {"wide": golden["wide"] + 0.1, "result": golden["result"]})
    folders = OutputFolders(tmp_path / "golden", tmp_path / "run", ("MSE", "SQNR"))
    mse, sqnr = compare_outputs(open_view(small), folders).overlays["ONNX"]
    assert mse.values == {"conv": pytest.approx(0.01, rel=1e-3), "relu": 0.0}
    assert (mse.is_low_worse, mse.threshold) == (False, 0.01)
    assert (sqnr.is_low_worse, sqnr.values["relu"] > sqnr.values["conv"] > 0) == (True, True)
    strict = OutputFolders(tmp_path / "golden", tmp_path / "run", ("MSE",), 0.5)
    assert compare_outputs(open_view(small), strict).overlays["ONNX"][0].threshold == 0.5


def test_tensors_of_another_size_are_noted_and_nothing_in_common_is_refused(small, tmp_path):
    write_folder(tmp_path / "golden", {"wide": np.zeros(512), "result": np.zeros(512)})
    write_folder(tmp_path / "run", {"wide": np.zeros(3), "result": np.full(512, np.nan)})
    model = compare_outputs(open_view(small), OutputFolders(tmp_path / "golden", tmp_path / "run"))
    assert "'wide' is not compared" in model.notes[-1]
    (overlay,) = model.overlays["ONNX"]
    assert overlay.values["relu"] < overlay.threshold
    json.dumps(make_document(model), allow_nan=False)
    write_folder(tmp_path / "others", {"nothing": np.zeros(3)})
    with pytest.raises(BadInput, match="belongs to a node"):
        compare_outputs(open_view(small), OutputFolders(tmp_path / "golden", tmp_path / "others"))
