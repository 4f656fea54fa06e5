"""Our Saver records a run as JSON lines and a tensor file, and replays it on any backend."""

import json

import numpy as np
import pytest

import edgewright as ew
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.backends.saver import SaverBackend
from edgewright.backends.saver.c_program import write_program
from edgewright.backends.saver.replay import replay
from edgewright.core.errors import BadInput, UsageError
from edgewright.core.numbers import DType
from edgewright.lower.qnn_graph import QnnGraph, QnnTensor, TensorKind
from tests.native.nets import conv_net, values


@pytest.fixture
def recorded(tmp_path):
    session = SaverBackend(tmp_path).prepare(conv_net(), RunOptions())
    for seed in range(2):
        assert not session.run({"x": values(seed=seed)})["y"].any(), "a recorded run computes nothing"
    return tmp_path


@pytest.mark.parametrize("backend", ["cpu", "htp-sim"])
def test_a_recording_replays_as_the_graph_runs(recorded, backend):
    session = find_backend(backend).prepare(conv_net(), RunOptions())
    found = replay(recorded, backend)
    assert len(found) == 2
    for seed, outputs in enumerate(found):
        np.testing.assert_array_equal(outputs["y"], session.run({"x": values(seed=seed)})["y"])


def test_the_calls_are_lines_in_the_order_they_were_made(recorded):
    lines = [json.loads(line)["call"] for line in (recorded / "saver_output.jsonl").read_text().splitlines()]
    assert lines[:4] == ["saver", "backendCreate", "contextCreate", "graphCreate"]
    assert lines[-3:] == ["graphFinalize", "graphExecute", "graphExecute"]
    assert lines.count("graphAddNode") == 2


def test_names_of_the_source_survive(tmp_path):
    model = ew.convert("examples/models/mnist_cntk.onnx")
    feed = {"Input3": np.load("examples/data/digits.npz")["images"][:1].astype(np.float32)[None]}
    SaverBackend(tmp_path).prepare(model.fixed_graph(), RunOptions()).run(feed)
    (found,) = replay(tmp_path, "cpu")
    np.testing.assert_allclose(found["Plus214_Output_0"], model.run(feed)["Plus214_Output_0"], rtol=1e-5)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "params.bin").write_bytes(b"short"),
        lambda folder: (folder / "saver_output.jsonl").write_text("{}"),
        lambda folder: (folder / "saver_output.jsonl").write_text("no json"),
        lambda folder: (folder / "saver_output.jsonl").unlink(),
        lambda folder: (folder / "saver_output.jsonl").write_text('{"call": "saver", "version": 9}'),
    ],
    ids=["short", "empty", "text", "missing", "version"],
)
def test_a_damaged_recording_is_one_clear_error(recorded, damage):
    damage(recorded)
    with pytest.raises(BadInput, match="recording"):
        replay(recorded, "cpu")


def test_a_missing_input_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"inputs \['x'\] are missing"):
        SaverBackend(tmp_path).prepare(conv_net(), RunOptions()).run({})


def test_the_program_has_the_calls_of_the_recording(recorded):
    text = (recorded / "saver_output.c").read_text()
    assert text.count("addNode((Qnn_OpConfigV1_t)") == 2
    assert text.count("  execute((const uint64_t[])") == 2
    assert text.endswith("  return finish();\n}\n")


def test_names_cannot_leave_their_literals_in_the_program():
    odd = QnnTensor('a"?\\\n', TensorKind.APP_WRITE, DType.FLOAT_32, (1,))
    program = write_program(QnnGraph("g", {odd.name: odd}, []), {})
    assert '"a\\042\\077\\134\\012"' in program
