"""A build that is stopped at any moment leaves no half of a file, and goes on where it stopped."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from edgewright.tools.build_command import main
from tests.cli.models import DIGITS_MODEL

# Seconds are in these, and nothing else differs between two builds.
TIMED = {"report.html", "report.json"}
# How often a build is stopped, how often of that before its first stage is done, and seconds to wait for one.
ROUNDS, EARLY, PATIENCE = 14, 3, 120


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    with np.load(DIGITS_MODEL.parents[1] / "data" / "digits.npz") as stored:
        path = tmp_path_factory.mktemp("data") / "digits.npz"
        np.savez(path, Input3=stored["images"][:40, None].astype(np.float32), labels=stored["labels"][:40])
    return path


def _command(samples: Path, out: Path, *more: str) -> list[str]:
    program = Path(sys.executable).with_name("edgewright")
    words = (program, "build", DIGITS_MODEL, "--data", samples, "--target", "SM8650", "-o", out, *more)
    return [str(word) for word in words]


def _files(out: Path) -> dict[str, bytes]:
    paths = [path for path in out.rglob("*") if path.is_file() and not _is_state(path)]
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in paths}


def _is_state(path: Path) -> bool:
    """What a build that did not end keeps for the next one."""
    return ".build" in path.parts or path.name == ".build.lock"


def _stages(out: Path) -> set[str]:
    state = out / ".build" / "state.json"
    return set(json.loads(state.read_text())["stages"]) if state.exists() else set()


def _stopped(
    command: list[str], out: Path, how: signal.Signals, *, stages: int = 0, delay: float = 0.0
) -> int:
    """Runs a build until so many stages are finished, waits a little more, and stops it."""
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # A test that runs in the background has SIGINT ignored, and what it starts would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    ) as started:
        deadline = time.monotonic() + PATIENCE
        while started.poll() is None and len(_stages(out)) < stages and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(delay)
        started.send_signal(how)
        _, notes = started.communicate()
    # Before the first stage the interpreter itself may be stopped while it starts.
    assert not stages or b"Traceback" not in notes
    return started.returncode


@pytest.fixture(scope="module")
def whole(samples, tmp_path_factory):
    """The files of a build that nobody stopped."""
    out = tmp_path_factory.mktemp("whole") / "out"
    finished = subprocess.run(_command(samples, out), capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert not (out / ".build").exists()
    return _files(out)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=lambda how: how.name)
def test_a_build_that_is_stopped_again_and_again_ends_with_the_same_files(samples, whole, tmp_path, how):
    out = tmp_path / "out"
    delays = np.random.default_rng(0).uniform(0, 1.5, ROUNDS)
    known: set[str] = set()
    for number, delay in enumerate(delays):
        # At first before anything is finished, then somewhere in the stage after the next one.
        expected = 0 if number < EARLY else len(known) + 1
        code = _stopped(_command(samples, out, "--resume"), out, how, stages=expected, delay=delay)
        for name, content in _files(out).items():
            assert name in TIMED or content == whole[name], f"{name} is not whole"
        if code == 0 or (not (out / ".build").exists() and number >= EARLY):
            break
        # An interpreter that is interrupted while it imports its site module ends with 1.
        assert code in {-how, 128 + how, *([1] if number < EARLY else [])}
        assert _stages(out) >= known, "a finished stage was lost"
        known = _stages(out)
    assert len(known) > 3, "no build was stopped late"
    finished = subprocess.run(_command(samples, out, "--resume"), capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    result = _files(out)
    assert result.keys() == whole.keys()
    assert [name for name in whole if name not in TIMED and result[name] != whole[name]] == []
    assert not (out / ".build").exists()


@pytest.mark.slow
def test_what_is_resumed_repeats_no_finished_stage(samples, tmp_path):
    out = tmp_path / "out"
    _stopped(_command(samples, out), out, signal.SIGKILL, stages=5)
    known = _stages(out)
    assert len(known) >= 5
    command = _command(samples, out, "--resume", "--json")
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    stages = {stage["name"]: stage["is_resumed"] for stage in json.loads(finished.stdout)["stages"]}
    assert {name for name, is_resumed in stages.items() if is_resumed} == known


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--resume", "--precision", "w8a8"), "started from the beginning: an option changed"),
        (("--max-drop", "50"), "an interrupted build was there and is started over; --resume would have"),
    ],
)
def test_a_build_that_starts_over_says_why(samples, tmp_path, more, text):
    out = tmp_path / "out"
    _stopped(_command(samples, out), out, signal.SIGKILL, stages=3)
    assert len(_stages(out)) >= 3
    finished = subprocess.run(_command(samples, out, *more), capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert text in finished.stdout


@pytest.mark.slow
def test_two_builds_do_not_write_one_folder(samples, tmp_path, capsys):
    """The second one is refused at once, whatever it asks for; the first one's files are its own."""
    out = tmp_path / "out"
    first = _command(samples, out, "--precision", "w8a8")
    with subprocess.Popen(first, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as started:
        deadline = time.monotonic() + PATIENCE
        while not (out / ".build.lock").exists() and started.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert main(_command(samples, out, "--precision", "w8a16")[2:]) == 6
        _, notes = started.communicate()
    assert started.returncode == 0, notes
    words = capsys.readouterr().err
    assert f"is being written by process {started.pid} since" in words
    assert "--precision w8a8" in words
    assert json.loads((out / "report.json").read_text())["precision"] == "w8a8"
    assert not (out / ".build.lock").exists()


@pytest.mark.slow
def test_the_same_build_started_twice_is_built_once(samples, tmp_path):
    out = tmp_path / "out"
    command = _command(samples, out, "--precision", "w8a8")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    both = [subprocess.Popen(command, **streams) for _ in range(2)]
    texts = [started.communicate(timeout=PATIENCE)[0] for started in both]
    assert [started.returncode for started in both] == [0, 0], texts
    assert sum("waiting for its result" in text for text in texts) == 1
    assert not (out / ".build.lock").exists()
