"""Input lists of the evaluator: files of any type become float32, and lists may have commas."""

import numpy as np
import pytest

from edgewright.core.errors import BadInput, ShapeMismatch, UsageError
from edgewright.core.numbers import DType
from edgewright.ir.graph import Graph
from edgewright.ir.types import TensorType
from edgewright.sdk.evaluator.inputs import InputWriter


@pytest.fixture
def graph():
    made = Graph("g")
    made.add_input("ids:0", TensorType((1, 4), DType.INT_32))
    made.add_input("mask", TensorType((1, 4), DType.FLOAT_32))
    return made


def write(folder, name, values, dtype):
    np.asarray(values).astype(dtype).tofile(folder / name)


def read(listed):
    (line,) = listed.path.read_text().splitlines()
    return [np.fromfile(part.partition(":=")[2], np.float32).tolist() for part in line.split()]


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32"])
def test_tokens_of_any_type_become_float32(tmp_path, graph, dtype):
    write(tmp_path, "a.raw", [0, 7, 300, 21000], dtype)
    write(tmp_path, "b.raw", [1, 1, 1, 0], "float32")
    (tmp_path / "list.txt").write_text("a.raw,b.raw\n")
    listed = InputWriter(graph, tmp_path / "work").read_list(tmp_path / "list.txt", "inputs")
    assert read(listed) == [[0, 7, 300, 21000], [1, 1, 1, 0]]
    assert len(listed) == 1


def test_float32_files_stay_where_they_are(tmp_path, graph):
    for name in ("a.raw", "b.raw"):
        write(tmp_path, name, [1, 2, 3, 4], "float32")
    (tmp_path / "list.txt").write_text("ids_0:=a.raw mask:=b.raw\n")
    listed = InputWriter(graph, tmp_path / "work").read_list(tmp_path / "list.txt", "inputs")
    assert listed.path.read_text() == f"ids_0:={tmp_path / 'a.raw'} mask:={tmp_path / 'b.raw'}\n"


def test_a_type_that_is_said_comes_before_a_guess(tmp_path, graph):
    write(tmp_path, "a.raw", [0, 0, 1, 2], "int32")
    write(tmp_path, "b.raw", [1, 0, 1, 0], "int32")
    (tmp_path / "list.txt").write_text("a.raw b.raw\n")
    writer = InputWriter(graph, tmp_path / "work", {"ids:0": "int", "mask": "int32"})
    assert read(writer.read_list(tmp_path / "list.txt", "inputs")) == [[0, 0, 1, 2], [1, 0, 1, 0]]


def test_wrong_sizes_large_numbers_and_unknown_names_are_refused(tmp_path, graph):
    write(tmp_path, "a.raw", [1, 2, 3], "float32")
    write(tmp_path, "b.raw", [1, 1, 1, 1], "float32")
    (tmp_path / "list.txt").write_text("a.raw b.raw\n")
    writer = InputWriter(graph, tmp_path / "work")
    with pytest.raises(ShapeMismatch, match="12 bytes, expected 16"):
        writer.read_list(tmp_path / "list.txt", "inputs")
    write(tmp_path, "a.raw", [1, 2, 3, 1 << 40], "int64")
    with pytest.raises(BadInput, match="1099511627776"):
        writer.read_list(tmp_path / "list.txt", "inputs")
    with pytest.raises(UsageError, match="'idz'"):
        InputWriter(graph, tmp_path / "work", {"idz": "int64"})
