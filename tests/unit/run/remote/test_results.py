"""What a device wrote is complete, or an error."""

import errno
import os
from pathlib import Path

import pytest

from edgewright.config.net_run import Execution, InputFiles, OutputFiles
from edgewright.core.errors import BackendCrash
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType
from edgewright.ops.activation import Relu
from edgewright.run.remote.job import DeviceProgram
from edgewright.run.remote.model_run import _require_results
from edgewright.run.remote.net_results import count_least_results, find_results, list_outputs
from edgewright.run.remote.results import list_results, stage_folder
from edgewright.run.run_results import RunRecord
from edgewright.sdk.device_net_run import _keep_answer


def write_results(folder, *names, content=bytes(16)):
    """Results of one file each."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "y.raw").write_bytes(content)
    return folder


@pytest.fixture
def graph():
    """A ReLU on a batch of two."""
    made = Graph("g")
    made.add_input("x", TensorType((2, 2)))
    made.add(Node("relu", Relu(), ["x"], ["y"]), [TensorType((2, 2))])
    made.outputs = ["y"]
    return made


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        (["Result_1", "Result_2"], "expected a folder Result_0"),
        (["Result_0", "Result_00"], "expected a folder Result_"),
        (["Result_0"], "1 results for 2 sets"),
        ([], "0 results for 2 sets"),
    ],
)
def test_each_set_of_inputs_has_its_result(tmp_path, names, wrong):
    with pytest.raises(BackendCrash, match=wrong):
        _require_results(write_results(tmp_path, *names), 2)


def test_a_folder_that_was_not_sent_is_an_error(tmp_path):
    with pytest.raises(BackendCrash, match="no folder 'output'"):
        list_results(tmp_path / "output")


def test_results_are_held_against_the_input_list(tmp_path, graph):
    (tmp_path / "x.raw").write_bytes(bytes(8))
    (tmp_path / "list.txt").write_text("# y\n\n" + "x.raw\n" * 4)

    def count(graphs=(graph,), factor=None, kept=None, **execution):
        inputs = InputFiles((str(tmp_path / "list.txt"),), batch_multiplier=factor)
        return count_least_results(graphs, inputs, OutputFiles(keep_num_outputs=kept), Execution(**execution))

    assert count() == 2
    assert count(factor=2) == 1
    assert count(kept=1) == 1
    assert count(kept=0) == 0
    assert count(num_inferences=1) == 1
    assert count(num_inferences=9) == 2
    assert count(duration=3.0) == 1
    assert count(()) == 1
    written = write_results(tmp_path / "output", "Result_0")
    assert len(find_results(written, 1)) == 1
    with pytest.raises(BackendCrash, match="wrote 1 results, expected 2"):
        find_results(written, 2)


def test_every_result_has_all_files_in_their_size(tmp_path, graph):
    results = list_results(write_results(tmp_path, "Result_0", "Result_1"))
    assert [output.name for output in list_outputs(results, [graph])] == ["y"]
    (tmp_path / "Result_1/y.raw").write_bytes(bytes(15))
    with pytest.raises(BackendCrash, match="has 15 bytes, expected 16"):
        list_outputs(results, [graph])
    (tmp_path / "Result_1/y.raw").unlink()
    with pytest.raises(BackendCrash, match="not all files of 'Result_1'"):
        list_outputs(results, [graph])


def test_graphs_that_share_names_have_their_own_sizes(tmp_path, graph):
    other = graph.copy()
    other.name, other.types["y"] = "h", TensorType((1, 2))
    write_results(tmp_path / "g", "Result_0")
    write_results(tmp_path / "h", "Result_0", content=bytes(8))
    assert len(list_outputs(find_results(tmp_path, 2), [graph, other])) == 1


def test_results_reach_another_file_system(tmp_path, monkeypatch):
    written = write_results(tmp_path / "answer", "Result_0")
    rename = os.rename

    def refuse(source, target):
        if str(source).startswith(str(written)):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    record = RunRecord("m", "cpu", str(tmp_path / "there"), (), ())
    assert _keep_answer(written, record, DeviceProgram("")).notes == (
        "run by a program that does not tell its version",
    )
    assert (tmp_path / "there/Result_0/y.raw").stat().st_size == 16


def test_results_may_go_to_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with stage_folder(Path()) as staged:
        write_results(staged, "Result_0")
    assert [path.name for path in tmp_path.iterdir()] == ["Result_0"]
