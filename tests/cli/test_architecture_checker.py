"""qnn-architecture-checker: its table, its modifications, and what it refuses."""

import csv
import json
import shutil

import numpy as np
import pytest
from onnx import helper

import edgewright as ew
from edgewright.sdk.architecture_checker import HEADERS
from edgewright.tools.qnn_architecture_checker import main
from edgewright.tools.qnn_onnx_converter import main as convert
from tests.cli.models import FLOAT, save

GUIDE_COLUMNS = [
    *("Graph/Node_name", "Issue", "Recommendation", "Type", "Input_tensor_name:[dims]"),
    *("Output_tensor_name:[dims]", "Parameters", "Previous node", "Next node"),
    *("Modification", "Modification_info"),
]


@pytest.fixture
def model(tmp_path):
    """A convolution, a Prelu and a division: as the guide's example."""
    rng = np.random.default_rng(3)
    constants = {
        "w": rng.standard_normal((32, 3, 5, 5)).astype(np.float32),
        "slope": np.full((32, 1, 1), 0.2, np.float32),
        "other": rng.standard_normal((32, 12, 12)).astype(np.float32),
        "seven": np.full((32, 12, 12), 7.0, np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"], name="conv"),
        helper.make_node("PRelu", ["c", "slope"], ["p"], name="act"),
        helper.make_node("Add", ["p", "other"], ["a"], name="add"),
        helper.make_node("Div", ["a", "seven"], ["out"], name="div"),
    ]
    path = save(
        tmp_path / "m.onnx",
        nodes,
        [("image", FLOAT, [1, 3, 16, 16])],
        [("out", FLOAT, [1, 32, 12, 12])],
        constants,
    )
    assert convert(["-i", str(path), "-o", str(tmp_path / "m.cpp")]) == 0
    return tmp_path / "m_net.json"


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_has_the_guides_columns_and_names_the_nodes(call, model, tmp_path):
    answer = call(main, "-i", model, "-b", model.with_name("m.bin"), "-o", tmp_path / "checked")
    assert answer.code == 0
    table = tmp_path / "checked" / "m_architecture_checker.csv"
    assert list(HEADERS[:11]) == GUIDE_COLUMNS
    rows = {row["Graph/Node_name"]: row for row in read(table)}
    assert rows["Graph"]["Type"] == "N/A"
    assert "smaller than 32" in rows["conv"]["Issue"]
    assert "image:[1, 16, 16, 3]" in rows["conv"]["Input_tensor_name:[dims]"]
    assert rows["conv"]["Next node"] == "act"
    assert rows["act"]["Previous node"] == "conv"
    assert rows["div"]["Issue"].startswith("ElementWiseDivide usually has poor performance")
    assert {row["Modification"] for row in rows.values()} == {"N/A"}


@pytest.mark.parametrize("words", [["--modify"], ["--modify", "show"], ["-m"]])
def test_modifications_are_shown_and_nothing_is_changed(call, model, tmp_path, words):
    answer = call(main, "-i", model, "-o", tmp_path / "checked", *words)
    assert answer.code == 0
    assert "prelu" in answer.out
    assert "Possible modifications" in answer.out
    assert [path.name for path in (tmp_path / "checked").iterdir()] == ["m_architecture_checker.csv"]


@pytest.mark.parametrize("query", ["all", "apply=prelu,elwisediv"])
def test_a_modified_model_computes_the_same_and_has_the_issues_no_more(call, model, tmp_path, query):
    folder = tmp_path / "checked"
    assert call(main, "-i", model, "-o", folder, "--modify", query).code == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        *("m.bin", "m.cpp", "m_architecture_checker.csv", "m_net.json"),
    ]
    types = [
        node["type"] for node in json.loads((folder / "m_net.json").read_text())["graph"]["nodes"].values()
    ]
    assert not {"Prelu", "ElementWiseDivide"} & set(types)
    image = np.random.default_rng(0).standard_normal((1, 16, 16, 3)).astype(np.float32)
    before, after = (ew.load(path).run({"image": image})["out"] for path in (model, folder / "m_net.json"))
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-6)
    rows = {row["Graph/Node_name"]: row for row in read(folder / "m_architecture_checker.csv")}
    assert {rows[name]["Modification"] for name in ("act", "div")} == {"Applied"}
    again = call(main, "-i", folder / "m_net.json", "-o", tmp_path / "again", "--json")
    assert not {"prelu", "elwisediv"} & {issue["rule"] for issue in json.loads(again.out)["issues"]}


def test_the_model_that_is_read_is_never_written_over(call, model, tmp_path):
    content = model.read_bytes()
    answer = call(main, "-i", model, "--modify", "all")
    assert answer.code == 0
    assert "m_modified.cpp" in answer.out
    assert model.read_bytes() == content
    assert (tmp_path / "m_modified_net.json").exists()


def test_a_model_that_nothing_can_be_modified_in_is_not_written(call, model, tmp_path):
    assert call(main, "-i", model, "-o", tmp_path / "first", "--modify", "all").code == 0
    answer = call(main, "-i", tmp_path / "first/m_net.json", "-o", tmp_path / "again", "--modify", "all")
    assert "no model was written" in answer.out
    assert [path.name for path in (tmp_path / "again").iterdir()] == ["m_architecture_checker.csv"]


def test_weights_are_not_needed_to_look_at_shapes(call, model, tmp_path):
    alone = tmp_path / "alone" / "m_net.json"
    alone.parent.mkdir()
    shutil.copy(model, alone)
    answer = call(main, "-i", alone)
    assert answer.code == 0
    assert "weights are not beside the model" in answer.out
    assert "low_channels" in answer.out
    assert call(main, "-i", alone, "--modify", "all").code == 3


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ([], 2, "--input_json"),
        (["-i", "no.json"], 3, "does not exist"),
        (["-i", "m_net.json", "--modify", "some"], 2, "show, all or apply="),
        (["-i", "m_net.json", "--modify", "apply="], 2, "show, all or apply="),
        (["-i", "m_net.json", "--modify", "apply=prelo"], 2, "prelu"),
        (["-i", "m_net.json", "--modify", "apply=low_channels"], 2, "has no modification"),
    ],
)
def test_mistakes_are_told(call, model, monkeypatch, words, code, text):
    monkeypatch.chdir(model.parent)
    answer = call(main, *words)
    assert (answer.code, text in answer.err) == (code, True)


def test_a_broken_file_is_refused(call, tmp_path):
    broken = tmp_path / "x_net.json"
    broken.write_text('{"graph": {"tensors": {}, "nodes": 7}}')
    assert call(main, "-i", broken).code == 3
