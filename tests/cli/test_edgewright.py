import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import edgewright as ew
from edgewright.frontends.open_source import open_source
from edgewright.lower.names import sanitize_name
from edgewright.tools.umbrella import main
from tests.cli import models

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_inspect_shows_a_source_model(call):
    answer = call(main, "inspect", models.DIGITS_MODEL)
    assert answer.code == 0
    assert "ONNX, opset 8, 26.5 kB" in answer.out
    assert "5.99 k parameters (24 kB), 787 k MACs" in answer.out
    assert "  input   Input3            float32  1,1,28,28" in answer.out
    assert "100.0 % of the nodes and 100.0 % of the MACs convert" in answer.out


def test_inspect_shows_a_converted_model(call, digits):
    found = json.loads(call(main, "inspect", digits, "--json").out)
    assert found["format"] == "QNN net.json"
    assert (found["parameters"], found["macs"]) == (5994, 786560)
    assert {item["op"]: item["nodes"] for item in found["ops"]}["Conv2d"] == 2
    assert found["contract"][0]["shape"] == [1, 28, 28, 1]


@pytest.mark.parametrize(
    "source",
    ["mnist_cntk.onnx", "mnist_dscnn_int8.tflite", "mnist_cnn_fakequant_frozen.pb"],
)
@pytest.mark.parametrize("kind", ["m.cpp", "m.dlc"])
def test_every_tensor_of_the_source_is_found_or_has_a_reason(call, here, source, kind):
    """In both formats, once they are read again."""
    file = EXAMPLES / "models" / source
    ew.convert(file).save(here / kind)
    written = here / kind.replace(".cpp", "_net.json")
    found = json.loads(call(main, "inspect", written, "--json").out)["source_tensors"]
    places = {item["name"]: item["tensor"] or item["why"] for item in found}
    assert set(open_source(file).tensors) <= set(places)
    assert all(places.values())
    stored = ew.load(written).fixed_graph()
    assert {item["tensor"] for item in found} - {""} <= {sanitize_name(name) for name in stored.types}
    table = call(main, "inspect", written, "--names").out
    assert "part of the op that makes" in table or "a constant" in table or "stored: part of" in table


def test_inspect_lists_symbols_and_counts_with_numbers_for_them(call, tmp_path):
    path = models.image_net(tmp_path / "m.onnx")
    open_ones = json.loads(call(main, "inspect", path, "--json").out)
    fixed = json.loads(call(main, "inspect", path, "-b", "2", "--json").out)
    assert (open_ones["symbols"], fixed["symbols"]) == (["batch"], [])
    assert fixed["macs"] == 2 * 6 * 6 * 4 * 3 * 3 * 3


def test_inspect_says_what_is_unsupported_and_is_no_failure(call, tmp_path):
    answer = call(main, "inspect", models.strange_net(tmp_path / "m.onnx"))
    assert answer.code == 0
    assert "Unsupported:" in answer.out
    assert "strange" in answer.out


def test_inspect_of_a_missing_file_guesses(call, tmp_path):
    models.two_inputs(tmp_path / "model.onnx")
    answer = call(main, "inspect", tmp_path / "modle.onnx")
    assert (answer.code, "did you mean 'model.onnx'?" in answer.err) == (3, True)


def test_names_from_a_file_cannot_steer_the_terminal(call, tmp_path):
    nodes = [models.helper.make_node("Relu", ["a\x1b[31m"], ["y\n"], name="n\x07")]
    path = models.save(
        tmp_path / "m.onnx", nodes, [("a\x1b[31m", models.FLOAT, [2])], [("y\n", models.FLOAT, [2])]
    )
    answer = call(main, "inspect", path)
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert r"a\x1b[31m" in answer.out


def test_convert_keeps_layouts_and_types(call, here):
    models.token_net(here / "tokens.onnx")
    answer = call(main, "convert", "tokens.onnx", "-o", "out/t.cpp")
    assert answer.code == 0
    assert "note:" not in answer.out
    found = ew.load("out/t_net.json")
    assert found.graph.types["ids"].dtype.numpy == np.int64
    models.image_net(here / "image.onnx")
    assert call(main, "convert", "image.onnx", "-b", "2").code == 0
    assert ew.load("image_net.json").inputs[0].shape == (2, 3, 6, 6)


def test_convert_fixes_shapes_as_the_converter_does(call, here):
    models.symbolic_net(here / "m.onnx")
    assert call(main, "convert", "m.onnx").code == 2
    assert call(main, "convert", "m.onnx", "-d", "x", "1,3,4").code == 0
    assert ew.load("m_net.json").inputs[0].shape == (1, 3, 4)


def test_an_input_that_shapes_the_graph_is_made_a_constant(call, here):
    models.shaped_by_value(here / "m.onnx")
    answer = call(main, "convert", "m.onnx", "-d", "x", "1,6")
    assert answer.code == 4
    assert "--input_value 'size' VALUE" in answer.err
    words = ("m.onnx", "-d", "x", "1,6", "--input_value", "size", "2,3")
    assert call(main, "convert", *words).code == 0
    assert ew.load(here / "m_net.json").outputs[0].shape == (2, 3)
    assert "2,3" in call(main, "inspect", *words).out
    assert call(main, "run", *words, "--random", "--compare").code == 0


def test_quantize_takes_constants_for_inputs_and_sizes_from_the_samples(call, here):
    models.shaped_by_value(here / "m.onnx")
    np.save(here / "x.npy", np.random.default_rng(0).random((4, 6), np.float32))
    words = ("m.onnx", "--input_value", "size", "2,3", "--data", "x.npy", "-o", "q.dlc")
    answer = call(main, "quantize", *words)
    assert answer.code == 0, answer.err
    assert [item.name for item in ew.load(here / "q.dlc").inputs] == ["x"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("many", "expected numbers separated by commas"),
        ("2,2.5", "is not one of int64"),
        ("1,2,3", "shape [3] does not fit [2]"),
    ],
)
def test_a_value_that_its_input_cannot_have_is_refused(call, here, value, why):
    models.shaped_by_value(here / "m.onnx")
    answer = call(main, "convert", "m.onnx", "-d", "x", "1,6", "--input_value", "size", value)
    assert (answer.code in (2, 3), why in answer.err) == (True, True), answer.err


@pytest.mark.parametrize("file", ["a.npy", "a.npz", "a.raw", "wide.npy"])
def test_run_takes_files_of_any_kind(call, here, file):
    models.two_inputs(here / "m.onnx")
    a, b = np.float32([[1, 2, 3]]), np.float32([[10, 20, 30]])
    a.tofile("a.raw")
    np.save("a.npy", a)
    np.save("wide.npy", a.astype(np.float64))
    np.savez("a.npz", **{"in/a": a, "in b": b})
    np.save("b.npy", b)
    answer = call(main, "run", "m.onnx", "--input", f"in/a={file}", "--input", "in b=b.npy", "-o", "out")
    assert answer.code == 0, answer.err
    np.testing.assert_array_equal(np.load("out/Result_0/out_0.npy"), a * b + a)


def test_run_takes_an_input_list_and_summarises_all_runs(call, here):
    models.two_inputs(here / "m.onnx")
    for number in (1, 2):
        np.full(3, number, np.float32).tofile(f"{number}.raw")
    Path("list.txt").write_text("1.raw 1.raw\n2.raw 2.raw\n", "utf-8")
    found = json.loads(call(main, "run", "m.onnx", "--input_list", "list.txt", "--json").out)
    assert found["runs"] == 2
    assert {k: found["outputs"][0][k] for k in ("least", "most", "mean")} == {
        "least": 2,
        "most": 6,
        "mean": 4,
    }


def test_run_compares_with_the_source_in_onnx_runtime(call, here, digits):
    for words in (
        ("run", models.DIGITS_MODEL, "--compare"),
        ("run", digits, "--compare", models.DIGITS_MODEL),
    ):
        answer = call(main, *words, "--random")
        assert answer.code == 0
        assert f"Compared with {models.DIGITS_MODEL} in ONNX Runtime {onnxruntime.__version__}" in answer.out


def test_run_compares_a_spatial_first_model_in_the_layout_of_the_source(call, here):
    # As many channels as rows: shapes alone do not tell the layout.
    models.image_net(here / "m.onnx", channels=4, size=4)
    assert call(main, "convert", "m.onnx", "-o", "kept").code == 0
    from edgewright.tools.qnn_onnx_converter import main as convert

    assert call(convert, "-i", "m.onnx", "-o", "turned").code == 0
    for name in ("kept_net.json", "turned_net.json"):
        found = json.loads(call(main, "run", name, "--random", "--compare", "m.onnx", "--json").out)
        assert found["errors"][0]["share"] < 1e-4


def test_run_fails_where_the_difference_is_over_the_tolerance(call, here):
    models.image_net(here / "a.onnx")
    models.save(
        here / "b.onnx",
        [models.helper.make_node("Neg", ["image"], ["features"])],
        [("image", models.FLOAT, [1, 3, 6, 6])],
        [("features", models.FLOAT, [1, 3, 6, 6])],
    )
    models.save(
        here / "c.onnx",
        [models.helper.make_node("Abs", ["image"], ["features"])],
        [("image", models.FLOAT, [1, 3, 6, 6])],
        [("features", models.FLOAT, [1, 3, 6, 6])],
    )
    answer = call(main, "run", "b.onnx", "--random", "--compare", "c.onnx")
    assert (answer.code, "NO" in answer.out) == (5, True)
    assert call(main, "run", "b.onnx", "--random", "--compare", "c.onnx", "--tolerance", "9").code == 0


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ((), 2, "2 of 2 inputs have no file"),
        (("--input", "in/a=a.npy"), 2, "add --input 'in b=FILE'; or use --random"),
        (("--input", "in/c=a.npy"), 2, "did you mean 'in/a'?"),
        (("--input", "in/a"), 2, "expected NAME=FILE"),
        (("--input", "in/a=none.npy", "--input", "in b=none.npy"), 3, "2 problems"),
        (("--random", "--input_list", "x"), 2, "were given together"),
        (("--tolerance", "1"), 2, "without '--compare'"),
        (("--random", "--compare", "--tolerance", "nan"), 2, "expected a number, 0 or more"),
        (("--random", "-d", "in/a", "9,9,9"), 3, "9, 9, 9"),
    ],
)
def test_run_answers_mistakes_clearly(call, here, words, code, why):
    models.two_inputs(here / "m.onnx")
    answer = call(main, "run", "m.onnx", *words)
    assert (answer.code, why in answer.err) == (code, True), answer.err


def test_run_of_a_converted_model_has_fixed_shapes(call, digits):
    answer = call(main, "run", digits, "--random", "-b", "2")
    assert (answer.code, "has fixed shapes" in answer.err) == (2, True)


def test_run_needs_the_source_to_compare_a_converted_model(call, digits):
    answer = call(main, "run", digits, "--random", "--compare")
    assert (answer.code, "--compare model.onnx" in answer.err) == (2, True)


def test_run_with_symbolic_shapes_follows_the_arrays(call, here):
    models.symbolic_net(here / "m.onnx")
    np.save("x.npy", np.float32([[[-1, 2]]]))
    answer = call(main, "run", "m.onnx", "--input", "x=x.npy", "--compare", "-o", "out")
    assert answer.code == 0
    np.testing.assert_array_equal(np.load("out/Result_0/y.npy"), [[[0, 2]]])
    np.float32([1]).tofile("x.raw")
    assert call(main, "run", "m.onnx", "--input", "x=x.raw").code == 3
    assert call(main, "run", "m.onnx", "--random").code == 2
    assert call(main, "run", "m.onnx", "--random", "-s", "height", "2", "-s", "width", "2").code == 0


def test_random_inputs_are_the_same_for_the_same_seed(call, here):
    models.two_inputs(here / "m.onnx")
    found = [
        json.loads(call(main, "run", "m.onnx", "--random", seed, "--json").out)["outputs"] for seed in "112"
    ]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("command", ["inspect", "convert", "run"])
def test_every_command_has_help_with_examples(call, command):
    answer = call(main, command, "--help")
    assert answer.code == 0
    assert "Examples:" in answer.out


@pytest.mark.slow
def test_the_demo_builds_a_model_and_reads_digits_with_it_in_three_minutes(tmp_path):
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 180
    assert all(f"[{number}] " in done.stdout for number in range(1, 5))
    assert re.search(r"->  (mixed|w8a8)", done.stdout), "the table of precisions shows the choice"
    assert "limit met: mnist_cntk for SM8650" in done.stdout
    assert f"report: {tmp_path / 'mnist' / 'report.html'}" in done.stdout
    read = re.findall(r"digit (\d) is read as (\d)", done.stdout)
    assert len(read) == 5
    assert all(label == found for label, found in read)
