"""Tables of samples: rows of numbers or of paths, with right answers in a column."""

import numpy as np
import pytest
from PIL import Image

import edgewright.ops  # noqa: F401 - registers the ops that graphs name
from edgewright.core.errors import BadInput, ShapeMismatch
from edgewright.data.labels import TEXTS, find_labels
from edgewright.data.open_samples import open_samples
from edgewright.data.samples import DataRequest, read_samples
from edgewright.ir.text import parse

FLOWER = parse("""
    graph flower {
      input x: float_32[1,4]
      y = Relu(x)
      output y
    }
""")
TWO = parse("""
    graph two {
      input age: float_32[1,1]
      input pixels: float_32[1,2]
      y = ElementWiseAdd(age, pixels)
      output y
    }
""")
PICTURE = parse("""
    graph picture {
      input x: float_32[1,3,4,6]
      y = Relu(x)
      output y
    }
""")


def write(folder, text):
    path = folder / "samples.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_are_samples_and_a_column_has_the_right_answers(tmp_path):
    path = write(tmp_path, "a,b,c,d,label\n1,2,3,4.5,0\n5,6,7,8,2\n")
    samples = open_samples(FLOWER, path)
    assert [sample["x"].tolist() for sample in samples] == [[[1, 2, 3, 4.5]], [[5, 6, 7, 8]]]
    labels = find_labels(path, samples, 2, None)
    assert (labels.values, labels.note) == ([0, 2], "right answers are a column of samples.csv")


@pytest.mark.parametrize("mark", [";", "\t"])
def test_other_separators_are_seen(tmp_path, mark):
    path = write(tmp_path, "1,2,3,4\n5,6,7,8\n".replace(",", mark))
    assert [sample["x"].tolist() for sample in open_samples(FLOWER, path)] == [[[1, 2, 3, 4]], [[5, 6, 7, 8]]]


def test_columns_go_to_the_inputs_that_they_are_named_after(tmp_path):
    path = write(tmp_path, "pixels_0,age,pixels_1,y\n1,30,2,1\n3,40,4,0\n")
    first, second = open_samples(TWO, path)
    assert (first["age"].tolist(), first["pixels"].tolist()) == ([[30]], [[1, 2]])
    assert (second["age"].tolist(), second["pixels"].tolist()) == ([[40]], [[3, 4]])


def test_paths_are_read_from_the_folder_of_the_table(tmp_path):
    for number in range(2):
        Image.fromarray(np.full((4, 6, 3), 40 * number, np.uint8)).save(tmp_path / f"{number}.png")
    path = write(tmp_path, "file,word\n0.png,cat\n1.png,dog\n")
    samples = open_samples(PICTURE, path)
    assert [float(sample["x"].max()) for sample in samples] == [0, 40]
    labels = find_labels(path, samples, 2, None)
    assert (labels.values, labels.kind) == (["cat", "dog"], TEXTS)


def test_builds_take_such_tables(tmp_path):
    rows = "".join(f"{n},{n},{n},{n},{n % 3}\n" for n in range(12))
    samples = read_samples(FLOWER, DataRequest(data=write(tmp_path, "a,b,c,d,target\n" + rows)))
    numbers = samples.judging.selection.numbers
    assert samples.labels.values == [number % 3 for number in numbers]


@pytest.mark.parametrize(
    ("text", "error", "what", "do"),
    [
        ("a,b,c,d\n1,2,,4\n", BadInput, "'' in column 'c' is no number", "numbers"),
        ("a,b,c,d\n1,2,3\n", BadInput, "the row has 3 columns, expected 4", ""),
        ("a,b\n1,2\n", ShapeMismatch, "2 columns of numbers for it", "a column for each number"),
        ("1,2,3,4,0\n1,2,3,4,1\n", ShapeMismatch, "5 columns of numbers for it", "is called label"),
        ("\n", BadInput, "the file has no rows", "a column"),
        ("a,b,c,d\n1,2,3,1e999\n", BadInput, "'1e999' in column 'd' is no number", "numbers"),
    ],
)
def test_what_does_not_fit_says_where_and_what_to_do(tmp_path, text, error, what, do):
    with pytest.raises(error, match=what) as caught:
        list(open_samples(FLOWER, write(tmp_path, text)))
    assert do in (caught.value.do or "")
    assert "samples.csv" in str(caught.value)


@pytest.mark.parametrize(("missing", "line"), [("0.png", "line 2"), ("1.png", "line 3")])
def test_a_path_that_is_not_there_names_its_line(tmp_path, missing, line):
    for name in {"0.png", "1.png"} - {missing}:
        Image.fromarray(np.zeros((4, 6, 3), np.uint8)).save(tmp_path / name)
    with pytest.raises(BadInput, match=f"no file '{missing}'") as caught:
        open_samples(PICTURE, write(tmp_path, "file,label\n0.png,0\n1.png,1\n"))
    assert line in str(caught.value)
