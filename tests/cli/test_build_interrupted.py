"""A build that is stopped at any moment leaves no half of a file, and goes on where it stopped."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.cli.models import DIGITS_MODEL

# Seconds are in these, and nothing else differs between two builds.
TIMED = {"report.html", "report.json"}


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
    paths = [path for path in out.rglob("*") if path.is_file() and ".build" not in path.parts]
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in paths}


def _stages(out: Path) -> set[str]:
    state = out / ".build" / "state.json"
    return set(json.loads(state.read_text())["stages"]) if state.exists() else set()


def _stopped(command: list[str], seconds: float, how: signal.Signals) -> int:
    started = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(started.pid, how)
        _, said = started.communicate()
        # Before that, the interpreter itself is stopped while it starts.
        assert seconds < 0.5 or b"Traceback" not in said
    return started.returncode


@pytest.fixture(scope="module")
def whole(samples, tmp_path_factory):
    """An uninterrupted build, and how long it took."""
    out = tmp_path_factory.mktemp("whole") / "out"
    began = time.monotonic()
    done = subprocess.run(_command(samples, out), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (out / ".build").exists()
    return _files(out), time.monotonic() - began


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=lambda how: how.name)
def test_a_build_that_is_stopped_again_and_again_ends_with_the_same_files(samples, whole, tmp_path, how):
    files, seconds = whole
    out = tmp_path / "out"
    # The first ones end before anything is done: Python itself takes a while to start.
    waits = [0.1, 0.4, 0.8, *np.linspace(1.0, max(2.0, 0.6 * seconds), 6)]
    known: set[str] = set()
    for wait in waits:
        code = _stopped(_command(samples, out, "--resume"), wait, how)
        for name, content in _files(out).items():
            assert name in TIMED or content == files[name], f"{name} is not whole after {wait:.1f} s"
        if code == 0:
            break
        assert code in {-how, 128 + how}
        assert _stages(out) >= known, "a finished stage was lost"
        known = _stages(out)
    assert known, "no build was stopped after its first stage"
    done = subprocess.run(_command(samples, out, "--resume"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = _files(out)
    assert found.keys() == files.keys()
    assert [name for name in files if name not in TIMED and found[name] != files[name]] == []
    assert not (out / ".build").exists()


@pytest.mark.slow
def test_what_is_resumed_repeats_no_finished_stage(samples, whole, tmp_path):
    _, seconds = whole
    out = tmp_path / "out"
    known: set[str] = set()
    for share in (0.5, 0.6, 0.7, 0.8):
        _stopped(_command(samples, out), share * seconds, signal.SIGKILL)
        known = _stages(out)
        if any(name.startswith("quantize") for name in known):
            break
    assert any(name.startswith("quantize") for name in known)
    done = subprocess.run(
        _command(samples, out, "--resume", "--json"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    stages = {stage["name"]: stage["is_resumed"] for stage in json.loads(done.stdout)["stages"]}
    assert {name for name, is_resumed in stages.items() if is_resumed} == known


@pytest.mark.slow
def test_a_changed_option_starts_over_and_says_so(samples, whole, tmp_path):
    _, seconds = whole
    out = tmp_path / "out"
    _stopped(_command(samples, out), 0.6 * seconds, signal.SIGKILL)
    assert _stages(out)
    words = _command(samples, out, "--resume", "--precision", "w8a8")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "started from the beginning: an option changed" in done.stdout


@pytest.mark.slow
def test_without_resume_an_interrupted_build_is_started_over_and_that_is_said(samples, whole, tmp_path):
    _, seconds = whole
    out = tmp_path / "out"
    _stopped(_command(samples, out, "--precision", "w8a8"), 0.5 * seconds, signal.SIGKILL)
    kept = shutil.copytree(out, tmp_path / "kept") if (out / ".build").exists() else None
    done = subprocess.run(
        _command(samples, out, "--precision", "w8a8"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert kept is None or "--resume would have continued it" in done.stdout
