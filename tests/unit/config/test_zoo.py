"""The file of a sweep: everything that is wrong with it is said at once, with what was meant."""

import pytest

from edgewright.config.zoo import make_zoo, read_zoo
from edgewright.core.errors import BadInput


@pytest.fixture
def folder(tmp_path):
    for name in ("a.onnx", "b.tflite", "notes.txt", "samples.npz"):
        (tmp_path / name).touch()
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").touch()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "c.onnx").touch()
    (tmp_path / "more" / "c.txt").touch()
    return tmp_path


def read(folder, text):
    path = folder / "zoo.yaml"
    path.write_text(text)
    return read_zoo(path)


def test_models_are_files_folders_and_patterns_each_once(folder):
    zoo, problems = read(
        folder,
        "models: ['*.onnx', a.onnx, {model: b.tflite, max_drop: 0.5%}, saved, more]\n"
        "targets: SM8650\ndata: samples.npz\nmax_drop: 2\n",
    )
    assert problems == []
    names = [model.path.relative_to(folder).as_posix() for model in zoo.models]
    assert names == ["a.onnx", "b.tflite", "saved", "more/c.onnx"]
    assert [model.options["max_drop"] for model in zoo.models] == [2, 0.5, 2, 2]
    assert zoo.models[0].options["data"] == str(folder / "samples.npz")
    assert (zoo.targets, zoo.precisions) == (("SM8650",), ("auto",))


def test_all_problems_are_said_at_once(folder):
    _, problems = read(
        folder,
        "models: [a.onx, 5, {model: a.onnx, tim_limit: 3}]\nprecisions: [w8a8, w8a88]\ndata: sample.npz\n"
        "calibration_samples: none\nmax_drop: 200\nmetric: wer:alphabet.txt\n"
        "preprocessing: {men: 3}\ndata: x\n",
    )
    texts = [f"{problem.what} {problem.do}" for problem in problems]
    for words in (
        "'data' is there twice",
        "there is no model 'a.onx'",
        "did you mean 'a.onnx'",
        "a model is '5'",
        "option 'tim_limit' of model 'a.onnx' is unknown",
        "did you mean 'time_limit'",
        "precision 'w8a88' is unknown",
        "'targets' is missing",
        "option 'calibration_samples' is 'none': expected a whole number above 0",
        "option 'max_drop' is '200'",
        "option 'metric' is 'wer:alphabet.txt'",
        "option 'preprocessing' is",
    ):
        assert any(words in text for text in texts), (words, texts)
    assert all(isinstance(problem, BadInput) and problem.where.file for problem in problems)


@pytest.mark.parametrize(
    "text", ["- a\n- b\n", "models: [*x]\n", "a: !!python/object:os.system {}\n", "x: [\n", ""]
)
def test_what_is_no_such_file_is_refused(folder, text):
    with pytest.raises(BadInput):
        read(folder, text)


def test_options_are_plain_values(folder):
    options = {
        "time_limit": "2m",
        "preprocessing": {"mean": 127.5, "std": [58.4, 57.1, 57.4]},
        "input_shapes": {"x": (1, 3)},
        "symbols": {"N": 1},
        "outputs": "y",
        "random_data": True,
    }
    zoo, problems = make_zoo({"models": "a.onnx", "targets": ["v73"], **options}, folder)
    assert problems == []
    assert zoo.models[0].options == {
        "time_limit": 120.0,
        "preprocessing": {"mean": [127.5], "std": [58.4, 57.1, 57.4]},
        "input_shapes": {"x": [1, 3]},
        "symbols": {"N": 1},
        "outputs": ["y"],
        "random_data": True,
    }
