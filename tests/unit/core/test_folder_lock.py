"""A folder that one process writes: others are told who does, and a dead one is in nobody's way."""

import contextlib
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from edgewright.core.errors import EnvironmentProblem
from edgewright.core.folder_lock import LOCK, hold_folder, is_folder_held, wait_for_same_work

HOLD = (
    "import sys; from pathlib import Path; from edgewright.core.folder_lock import hold_folder\n"
    "with hold_folder(Path(sys.argv[1]), 'build --precision w8a8'):\n"
    "    print('held', flush=True); sys.stdin.read()\n"
)


@contextlib.contextmanager
def holding(folder: Path):
    """Another process that holds the folder until it is told to end, or killed."""
    words = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(20)


def test_another_process_is_told_who_writes_the_folder(tmp_path):
    folder = tmp_path / "out"
    with holding(folder) as process:
        for ask in (lambda: wait_for_same_work(folder, "other"), lambda: hold_folder(folder, "").__enter__()):
            with pytest.raises(EnvironmentProblem) as refusal:
                ask()
            assert f"is being written by process {process.pid} since 20" in refusal.value.what
            assert "(build --precision w8a8)" in refusal.value.what
            assert "another folder" in refusal.value.do
    assert not folder.exists(), "nothing was written into it"
    wait_for_same_work(folder, "other")


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path, caplog):
    with holding(tmp_path) as process:
        process.kill()
        process.wait(20)
        assert (tmp_path / LOCK).exists()
    wait_for_same_work(tmp_path, "other")
    with caplog.at_level(logging.WARNING), hold_folder(tmp_path, "second"):
        assert f'"pid": {os.getpid()}' in (tmp_path / LOCK).read_text()
    assert f"left behind by process {process.pid} since" in caplog.text
    assert not (tmp_path / LOCK).exists()


def test_two_threads_do_not_write_one_folder(tmp_path):
    problems = []

    def ask():
        with contextlib.suppress(EnvironmentProblem), hold_folder(tmp_path, "second"):
            return
        problems.append("refused")

    with hold_folder(tmp_path, "first"):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert problems == ["refused"]


@pytest.mark.parametrize("text", [b"", b"\xff", b"[]", b'{"pid": "many"}'])
def test_a_damaged_lock_is_no_obstacle(tmp_path, text):
    (tmp_path / LOCK).write_bytes(text)
    (tmp_path / "kept").touch()
    with hold_folder(tmp_path, "build"):
        assert b"build" in (tmp_path / LOCK).read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_many_that_ask_at_once_hold_it_one_after_the_other(tmp_path):
    """Each removes the file when it is done: no two may hold different files of that name."""
    inside, most, lock = 0, 0, threading.Lock()

    def work():
        nonlocal inside, most
        for _ in range(30):
            with contextlib.suppress(EnvironmentProblem), hold_folder(tmp_path / "out", "build"):
                with lock:
                    inside += 1
                    most = max(most, inside)
                with lock:
                    inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_file_in_place_of_the_folder_is_said(tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(EnvironmentProblem, match="cannot write"):
        hold_folder(tmp_path / "out", "build").__enter__()


def test_the_same_work_is_waited_for(tmp_path, caplog):
    folder, waited = tmp_path / "out", []

    def wait():
        wait_for_same_work(folder, "work")
        waited.append(True)

    with caplog.at_level(logging.WARNING), hold_folder(folder, "build", "work"):
        thread = threading.Thread(target=wait)
        thread.start()
        while "waiting for its result" not in caplog.text and thread.is_alive():
            thread.join(0.01)
        assert is_folder_held(folder)
        assert not waited
    thread.join(20)
    assert waited
    assert not is_folder_held(folder)
