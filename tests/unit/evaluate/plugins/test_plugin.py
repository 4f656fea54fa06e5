"""How plugins are declared, opened and run: once for files and for memory."""

import logging
from pathlib import Path

import numpy as np
import pytest

from edgewright.core.errors import BadInput, EdgewrightError, Problems, UsageError
from edgewright.evaluate.plugins.chain import change_dataset, measure_results, process_samples
from edgewright.evaluate.plugins.custom import find_plugins
from edgewright.evaluate.plugins.dataset import open_dataset
from edgewright.evaluate.plugins.parameters import COUNT, RGB, TEXT, declare
from edgewright.evaluate.plugins.plugin import (
    DATASET,
    METRIC,
    PREPROCESSING,
    PreprocessingPlugin,
    Step,
    find_builtin_plugins,
    open_plugins,
)
from edgewright.evaluate.plugins.sample import Context, Dataset, Sample

OWN = """
from edgewright import PreprocessingPlugin


class times(PreprocessingPlugin):
    '''Multiplies all values.'''

    factor: float = 2.0
    extra: object = None

    def compute(self, sample, context):
        if self.factor < 0:
            return [1]
        return sample.make_next([value * self.factor for value in sample.values])
"""


class Shift(PreprocessingPlugin):
    """Adds a number."""

    name = "shift"

    by: int = declare(COUNT, "what is added")
    word: str = declare(TEXT, "a word", "a", in_memory="b", spelled="the-word")
    colours: dict[str, float] = declare(RGB, "colours", {"R": 0, "G": 0, "B": 0})

    def compute(self, sample: Sample, context: Context) -> Sample:
        return sample.make_next([value + self.by for value in sample.values], shifted=self.by)


def test_parameters_are_read_with_their_defaults_and_both_spellings():
    plugin = Shift.open({"by": "3", "the_word": "x"})
    assert (plugin.by, plugin.word, plugin.colours) == (3, "x", {"R": 0, "G": 0, "B": 0})
    assert Shift.open({"by": 1}).word == "a"
    assert Shift.open({"by": 1}, is_memory=True).word == "b"


def test_all_that_is_wrong_is_said_at_once():
    steps = [
        Step("shift", {"byy": 1, "colours": {"R": 1}}, PREPROCESSING),
        Step("shfit", {}, PREPROCESSING),
        Step("shift", {"by": -1}, METRIC),
    ]
    with pytest.raises(Problems) as problem:
        open_plugins(steps, {"shift": Shift})
    text = str(problem.value)
    for part in (
        "has no parameter 'byy'",
        "needs the parameter 'by'",
        "parameter 'colours' of the plugin 'shift'",
        "there is no plugin 'shfit'",
        "'shift' is a preprocessing plugin, expected a metric plugin",
    ):
        assert part in text
    assert problem.value.exit_code == 2


@pytest.mark.parametrize("is_memory", [False, True])
def test_the_file_form_gives_what_memory_gives(tmp_path, is_memory):
    chain = [Shift.open({"by": 1}), Shift.open({"by": 2})]
    context = Context(Dataset(tmp_path, ()), tmp_path / "work", is_memory=is_memory)
    samples = [Sample(n, (np.full((2, 3), n, np.float32),)) for n in range(3)]
    results = list(process_samples(chain, samples, context, "preproc"))
    assert [sample.load().values[0].tolist() for sample in results] == [[[n + 3] * 3] * 2 for n in range(3)]
    assert results[0].facts == {"shifted": 2}
    files = sorted(path.name for path in (tmp_path / "work").rglob("*.raw"))
    assert len(files) == (0 if is_memory else 6)


def test_a_file_of_the_work_folder_that_was_changed_is_an_error(tmp_path):
    context = Context(Dataset(tmp_path, ()), tmp_path / "work")
    (sample,) = process_samples([Shift.open({"by": 1})], [Sample(0, (np.zeros(4),))], context, "a")
    sample.files[0].write_bytes(b"abc")
    with pytest.raises(BadInput, match="has 3 bytes, expected 32"):
        sample.load()


def test_custom_plugins_are_found_under_their_class_name_and_said_once(tmp_path, monkeypatch, caplog):
    (tmp_path / "own.py").write_text(OWN)
    assert "times" not in find_plugins()
    monkeypatch.setenv("CUSTOM_PLUGIN_PATH", str(tmp_path))
    with caplog.at_level(logging.WARNING):
        known = find_plugins()
        find_plugins()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "was run; plugins: 'times'" in caplog.text
    (plugin,) = open_plugins([Step("times", {"factor": 3}, PREPROCESSING)], known)
    context = Context(Dataset(tmp_path, ()), tmp_path, is_memory=True)
    (sample,) = process_samples([plugin], [Sample(0, (np.ones(2),))], context, "")
    assert sample.values[0].tolist() == [3, 3]
    (plugin,) = open_plugins([Step("times", {"factor": -3}, PREPROCESSING)], known)
    with pytest.raises(UsageError, match="gave list, expected a Sample"):
        list(process_samples([plugin], [Sample(0, (np.ones(2),))], context, ""))
    with pytest.raises(Problems, match="is 'x', expected a number"):
        open_plugins([Step("times", {"factor": "x"}, PREPROCESSING)], known)
    (plugin,) = open_plugins([Step("times", {"extra": [1]}, PREPROCESSING)], known)
    with pytest.raises(UsageError, match="plugin 'times' failed with"):
        list(process_samples([plugin], [Sample(0, ({},))], context, ""))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_of_this_name", "failed with ModuleNotFoundError"),
        (OWN.replace("class times", "class topk"), "there is a plugin 'topk' already"),
    ],
)
def test_files_of_plugins_that_cannot_be_used_are_errors(tmp_path, monkeypatch, text, message):
    (tmp_path / "own.py").write_text(text)
    monkeypatch.setenv("CUSTOM_PLUGIN_PATH", str(tmp_path))
    with pytest.raises(EdgewrightError, match=message):
        find_plugins()


def test_a_custom_path_that_is_no_folder_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("CUSTOM_PLUGIN_PATH", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="expected a folder of Python files"):
        find_plugins()


def test_filtered_samples_keep_their_annotations(tmp_path):
    for n in range(4):
        (tmp_path / f"{n}.txt").write_text("x")
    (tmp_path / "list.txt").write_text("".join(f"{n}.txt\n" for n in range(4)))
    (tmp_path / "truth.txt").write_text("".join(f"{n}.txt {n % 2}\n" for n in range(4)))
    (tmp_path / "calibration.txt").write_text("0 2 3")
    dataset = open_dataset(
        tmp_path,
        input_list="list.txt",
        annotations="truth.txt",
        calibration="calibration.txt",
        calibration_type="index",
    )
    assert [row[0].name for row in dataset.calibration] == ["0.txt", "2.txt", "3.txt"]
    context = Context(dataset, tmp_path, is_memory=True)
    steps = [
        Step("filter_dataset", {"max_inputs": 3, "max_calib": 1, "random": True}, DATASET),
        Step("topk", {"kval": "1"}, METRIC),
    ]
    choose, topk = open_plugins(steps, find_builtin_plugins())
    dataset = change_dataset([choose], context)
    assert len(dataset.rows) == 3
    assert len(dataset.calibration) == 1
    samples = [
        sample.make_next([np.eye(2)[sample.number % 2 if sample.number else 1]])
        for sample in dataset.make_samples()
    ]
    expected = sum(sample.number != 0 for sample in samples) / 3
    assert measure_results([topk], samples, context) == {"topk": {"top1": round(expected, 3)}}


@pytest.mark.parametrize("line", ["../outside.txt", "/etc/passwd", "a\0b", "missing.txt"])
def test_lists_that_leave_the_folder_are_refused(tmp_path, line):
    (tmp_path / "list.txt").write_text(line + "\n")
    with pytest.raises(BadInput):
        open_dataset(tmp_path, input_list="list.txt")


def test_folders_of_classes_are_annotations(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        Path(tmp_path, name, "1.png").write_bytes(b"")
    dataset = open_dataset(tmp_path)
    assert dataset.annotations == tmp_path
    (topk,) = open_plugins([Step("topk", {"kval": 1}, METRIC)], find_builtin_plugins(), is_memory=True)
    samples = [sample.make_next([np.eye(2)[1]]) for sample in dataset.make_samples()]
    assert topk.measure(samples, Context(dataset, tmp_path)) == {"top1": 0.5}
