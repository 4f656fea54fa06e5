"""qnn-accuracy-evaluator in minimal mode: what it counts, how it ranks, what it writes, what it refuses."""

import csv
import itertools
import json

import numpy as np
import pytest

import edgewright as ew
from edgewright.tools.qnn_accuracy_evaluator import main
from tests.cli.models import image_net, run_onnx, token_net

INPUTS = 5


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return make_files(tmp_path)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """One evaluation that several tests look at."""
    home = make_files(tmp_path_factory.mktemp("evaluated"))
    words = ["-model", str(home / "m.onnx"), "-preproc_file", str(home / "list.txt"), "-backend", "htp-sim"]
    assert main([*words, "-comparator", "pixelbypixel", "-work_dir", str(home / "qacc_temp")]) == 0
    return home


def make_files(folder):
    image_net(folder / "m.onnx")
    rng = np.random.default_rng(3)
    for number in range(INPUTS):
        rng.standard_normal((1, 3, 6, 6)).astype(np.float32).tofile(folder / f"x{number}.raw")
    (folder / "list.txt").write_text("".join(f"x{number}.raw\n" for number in range(INPUTS)))
    return folder


def evaluate(*more, comparator="avg"):
    words = [
        "-model",
        "m.onnx",
        "-preproc_file",
        "list.txt",
        "-backend",
        "htp-sim",
        "-comparator",
        comparator,
    ]
    return main([*words, *more])


def read_csv(file):
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def evaluate_independently(
    here, schemes=("tf", "symmetric", "enhanced", "adjusted"), equalized=(False, True)
):
    """The match of combinations without the evaluator: the API, ONNX Runtime and numpy."""
    samples = [
        np.fromfile(here / f"x{number}.raw", np.float32).reshape(1, 3, 6, 6) for number in range(INPUTS)
    ]
    matches = {}
    for scheme, is_equalized, channels, rows in itertools.product(
        schemes, equalized, (True, False), (True, False)
    ):
        algorithms = ("cle",) if is_equalized else ()
        model = ew.quantize(
            here / "m.onnx",
            samples,
            act_quantizer="tf",
            param_quantizer=scheme,
            algorithms=algorithms,
            per_channel=channels,
            per_row=rows,
            bias_bw=8,
        )
        name = "_".join([scheme, *algorithms, *["pcq"] * channels, *["pqr"] * rows])
        figures = []
        for sample in samples:
            golden = run_onnx(here / "m.onnx", {"image": sample})["features"]
            result = model.run({"image": sample}, backend="htp-sim")["features"]
            gap = np.abs(golden - result)
            gap[gap <= 0.001 * np.abs(golden)] = 0
            figures.append(100 * (1 - gap.mean() / np.abs(golden).mean()))
        matches[f"schema1_qnn_{name}"] = float(np.mean(figures))
    return matches


def read_matches(folder):
    rows = read_csv(folder / "qacc_temp" / "metrics-info.csv")
    assert rows[0]["Inference schema"] == "schema0_qnn_cpu_fp32"
    return {
        row["Inference schema"]: float(row["Comparator"].split("\n")[0].rpartition(" ")[2])
        for row in rows[1:]
    }


def test_figures_are_those_of_an_independent_evaluation(evaluated):
    expected = evaluate_independently(evaluated, ("enhanced",), (False,))
    found = read_matches(evaluated)
    assert len(found) == 32
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=0.002)
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.slow
def test_it_ranks_as_an_independent_evaluation_does(evaluated):
    found, expected = read_matches(evaluated), evaluate_independently(evaluated)
    assert found == pytest.approx(expected, abs=0.002)
    assert found[next(iter(found))] == pytest.approx(max(expected.values()), abs=0.002)


def test_nothing_is_computed_twice(here):
    result = ew.evaluate("m.onnx", "list.txt", folder="out")
    work = result.work
    assert (work.conversions, work.quantizations, work.float_runs) == (1, 32, 1)
    distinct = [item for item in result.results if not (item.same_as or item.is_reference)]
    assert work.quantized_runs == len(distinct) < 32
    assert result.best is result.ranked[0]
    # Whoever has no run of its own has the results of the schema with the same model.
    for item in result.results:
        assert (here / item.folder / "qnn_ir" / "model_net.json").is_file()
        assert len(list((here / item.folder).glob("Result_*/features.raw"))) == INPUTS


def test_the_page_needs_nothing_else_and_pictures_are_drawn(evaluated):
    page = (evaluated / "qacc_temp" / "metrics-info.html").read_text()
    assert "<svg" in page
    assert "data:image/png;base64," in page
    assert "http" not in page
    picture = evaluated / "qacc_temp/infer/schema1_qnn_tf_pcq_pqr/Result_4/features_pixelbypixel.png"
    image = pytest.importorskip("PIL.Image").open(picture)
    assert (image.mode, image.size) == ("RGB", (3 * 96 + 2 * 6, 96))


@pytest.mark.slow
def test_two_runs_write_the_same_bytes(here):
    assert evaluate("-silent", "-work_dir", "a") == 0
    assert evaluate("-silent", "-work_dir", "b") == 0
    assert (here / "a/metrics-info.csv").read_bytes() == (here / "b/metrics-info.csv").read_bytes()


def test_a_directory_of_models_is_evaluated_and_a_broken_one_does_not_stop_the_others(here, capsys):
    for name in ("one", "two"):
        (here / "zoo" / name / "Source_model").mkdir(parents=True)
        (here / "zoo" / name / "inputs").mkdir()
        (here / "zoo" / name / "inputs" / "input_list.txt").write_text(f"{here / 'x0.raw'}\n")
    image_net(here / "zoo/one/Source_model/model.onnx")
    (here / "zoo/two/Source_model/model.onnx").write_bytes(b"nothing of the kind")
    assert main(["-model", "zoo", "-backend", "htp-sim"]) == 3
    text = capsys.readouterr()
    assert "error[bad-input]" in text.err
    assert "Traceback" not in text.err
    assert len(read_csv(here / "qacc_temp/one/metrics-info.csv")) == 33
    page = (here / "qacc_temp/metrics-info.html").read_text()
    assert "Failed" in page
    assert "one" in page


def test_tokens_and_several_outputs(here):
    token_net(here / "t.onnx")
    np.array([[1, 2, 3, 4, 5]], np.int64).tofile(here / "ids.raw")
    (here / "ids.txt").write_text("ids.raw\n")
    assert (
        main(["-model", "t.onnx", "-preproc_file", "ids.txt", "-backend", "cpu", "-comparator", "cos"]) == 0
    )
    first = read_csv(here / "qacc_temp/metrics-info.csv")[1]["Comparator"]
    assert "(avg) rows: " in first
    assert "(avg) best: " in first


@pytest.mark.slow
def test_results_of_an_earlier_evaluation_are_gone(here, capsys):
    stale = here / "qacc_temp" / "infer" / "schema7_qnn_old"
    stale.mkdir(parents=True)
    kept = here / "qacc_temp" / "infer" / "mine"
    kept.mkdir()
    assert evaluate("-silent") == 0
    assert not stale.exists()
    assert kept.exists()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ([], 2, "none of the options '-model' or '-config'"),
        (["-model", "m.onnx"], 2, "'-backend'"),
        (["-model", "m.onnx", "-config", "c.yaml", "-backend", "htp"], 2, "given together"),
        (["-config", "c.yaml", "-comparator", "abs"], 2, "does not have -comparator"),
        (["-model", "m.onnx", "-backend", "htp-sim"], 2, "'-preproc_file' is missing"),
        (["-model", "m.onnx", "-backend", "htp-sim", "-batchsize", "2"], 2, "does not have -batchsize"),
        (["-model", "m.onnx", "-backend", "hta", "-preproc_file", "list.txt"], 4, "only runs on a device"),
        (["-model", "none.onnx", "-backend", "htp-sim"], 3, "there is no model 'none.onnx'"),
        (
            ["-model", "m.onnx", "-backend", "htp-sim", "-preproc_file", "list.txt", "-comparator", "box"],
            2,
            "needs '-box_input'",
        ),
        (
            [
                *("-model", "m.onnx", "-backend", "dspv69", "-target_arch", "aarch64-android"),
                *("-preproc_file", "list.txt"),
            ],
            6,
            "the program '/nowhere/adb' was not found",
        ),
    ],
)
def test_what_is_wrong_is_one_clean_error_and_nothing_is_written(here, capsys, words, code, text):
    assert main(words) == code
    error = capsys.readouterr().err
    assert text in error
    assert "Traceback" not in error
    assert not (here / "qacc_temp" / "metrics-info.csv").exists()


@pytest.mark.slow
def test_models_are_found_in_the_model_zoo(here, monkeypatch):
    (here / "zoo").mkdir()
    (here / "m.onnx").rename(here / "zoo" / "z.onnx")
    monkeypatch.setenv("QNN_MODEL_ZOO", str(here / "zoo"))
    assert main(["-model", "z.onnx", "-preproc_file", "list.txt", "-backend", "htp-sim", "-silent"]) == 0


@pytest.mark.slow
def test_boxes_are_compared_by_the_outputs_that_a_file_names(here, capsys):
    (here / "box.json").write_text(json.dumps({"box": "Result_0/features.raw"}))
    assert evaluate("-box_input", "box.json", comparator="box") == 0
    (here / "box.json").write_text(json.dumps({"box": "Result_0/nothing.raw"}))
    assert evaluate("-box_input", "box.json", comparator="box") == 3
    assert "'nothing' is no output" in capsys.readouterr().err
