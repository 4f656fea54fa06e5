"""edgewright replay: what the Saver recorded runs on another backend."""

import numpy as np

from edgewright.backends.base import RunOptions
from edgewright.backends.saver import SaverBackend
from edgewright.backends.saver.replay import replay
from edgewright.tools.umbrella import main as edgewright
from tests.native.nets import conv_net, values


def test_the_command_replays_a_recording(call, tmp_path):
    session = SaverBackend(tmp_path / "recorded").prepare(conv_net(), RunOptions())
    for seed in range(2):
        session.run({"x": values(seed=seed)})
    answer = call(edgewright, "replay", tmp_path / "recorded", "--backend", "htp-sim", "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "2 executions" in answer.out
    for number, outputs in enumerate(replay(tmp_path / "recorded", "htp-sim")):
        stored = np.fromfile(tmp_path / "out" / f"Result_{number}" / "y.raw", outputs["y"].dtype)
        np.testing.assert_array_equal(stored, outputs["y"].ravel())


def test_what_is_no_recording_is_answered(call, tmp_path):
    answer = call(edgewright, "replay", tmp_path / "nothing")
    assert (answer.code, "the recording cannot be read" in answer.err) == (3, True)
