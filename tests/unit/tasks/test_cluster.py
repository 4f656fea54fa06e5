"""Tasks on a real Dask scheduler with worker processes: what is lost is computed again, nothing else is."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgewright.core.errors import EnvironmentProblem
from edgewright.tasks import cluster
from edgewright.tasks.engine import open_engine
from edgewright.tasks.task import make_task
from tests.optional import NO_CLUSTER
from tests.unit.tasks.small_tasks import count_bytes, fail_somehow, slow_down_once, square_number

pytest.importorskip("distributed", reason=NO_CLUSTER)
pytestmark = pytest.mark.slow

WORKER = ("worker", "--nthreads", "1", "--no-dashboard", "--name")


def find_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def list_children(pid: int) -> list[int]:
    words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(word) for word in words]


class Machines:
    """A scheduler and workers, each a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, find_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.start_scheduler()

    def start_scheduler(self) -> None:
        place = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self._start("scheduler", "scheduler", *place)

    def start_worker(self, name: str) -> None:
        self.workers[name] = self._start(name, *WORKER, name, self.address)

    def kill_worker(self, name: str) -> None:
        """The nanny and the worker: it is gone as a machine is gone that loses its power."""
        nanny = self.workers.pop(name)
        children = list_children(nanny.pid)
        for pid in (nanny.pid, *children):
            os.kill(pid, signal.SIGKILL)
        nanny.wait()

    def send_signal(self, name: str, number: signal.Signals) -> None:
        for pid in list_children(self.workers[name].pid):
            os.kill(pid, number)

    def kill_scheduler(self) -> None:
        self.scheduler.kill()
        self.scheduler.wait()

    def stop(self) -> None:
        for process in (*self.workers.values(), self.scheduler):
            process.terminate()
        for process in (*self.workers.values(), self.scheduler):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str, *words: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *words], stdout=log, stderr=log, cwd=self.folder
            )


@contextmanager
def running_machines(folder: Path, *workers: str):
    machines = Machines(folder)
    try:
        for name in workers:
            machines.start_worker(name)
        yield machines
    finally:
        machines.stop()


@contextmanager
def running_engine(folder: Path, *workers: str):
    with (
        running_machines(folder, *workers) as machines,
        open_engine(folder / "store", cluster=machines.address) as engine,
    ):
        yield machines, engine


def count_calls(log: Path) -> Counter[int]:
    return Counter(map(int, log.read_text().split())) if log.exists() else Counter()


def wait_for(condition) -> None:
    for _ in range(2400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within two minutes")


@pytest.fixture
def patient(monkeypatch):
    """A busy machine starts a scheduler in many seconds."""
    monkeypatch.setattr(cluster, "FIRST_CONTACT", 120.0)


@pytest.mark.usefixtures("patient")
def test_a_poisoned_task_is_one_error_and_a_second_run_computes_nothing(tmp_path):
    log = str(tmp_path / "log")
    tasks = [make_task(square_number, number=number, log=log) for number in range(40)]
    tasks += [make_task(fail_somehow, number=number) for number in range(3)]
    with running_engine(tmp_path, "a", "b") as (_, engine):
        outcomes = engine.compute_all(tasks)
        again = engine.compute_all(tasks[:40])
    assert [outcome.value["square"] for outcome in outcomes[:40]] == [number**2 for number in range(40)]
    assert [outcome.error and outcome.error.code for outcome in outcomes[40:]] == [
        None,
        "bad-input",
        "backend-crash",
    ]
    assert all(outcome.is_reused for outcome in again)
    assert count_calls(tmp_path / "log") == Counter(range(40))


@pytest.mark.usefixtures("patient")
def test_a_worker_that_is_killed_in_the_middle_loses_nothing_and_repeats_only_what_it_had_begun(tmp_path):
    block = tmp_path / "block"
    block.touch()
    inputs = {"log": str(tmp_path / "log"), "block": str(block)}
    tasks = [make_task(slow_down_once, number=number, **inputs) for number in range(30)]
    with running_machines(tmp_path, "a") as machines:

        def kill_when_it_is_stuck() -> None:
            wait_for(block.with_suffix(".met").exists)
            machines.start_worker("b")
            machines.kill_worker("a")

        killer = threading.Thread(target=kill_when_it_is_stuck)
        killer.start()
        with open_engine(tmp_path / "store", cluster=machines.address) as engine:
            outcomes = engine.compute_all(tasks)
        killer.join()
    assert [outcome.value for outcome in outcomes] == list(range(30))
    calls = count_calls(tmp_path / "log")
    assert set(calls) == set(range(30))
    # The one that was being computed, and no other.
    assert calls.total() == 31


@pytest.mark.usefixtures("patient")
def test_a_scheduler_that_is_restarted_is_waited_for_and_nothing_finished_is_repeated(tmp_path):
    log = tmp_path / "log"
    tasks = [make_task(square_number, number=number, log=str(log), seconds=0.3) for number in range(30)]
    with running_machines(tmp_path, "a", "b") as machines:

        def restart() -> None:
            wait_for(lambda: count_calls(log).total() >= 5)
            machines.kill_scheduler()
            # Workers of a scheduler that is gone for good are of no use to the next one.
            for name in ("a", "b"):
                machines.kill_worker(name)
            machines.start_scheduler()
            for name in ("c", "d"):
                machines.start_worker(name)

        restarter = threading.Thread(target=restart)
        restarter.start()
        with open_engine(tmp_path / "store", cluster=machines.address) as engine:
            outcomes = engine.compute_all(tasks)
        restarter.join()
    assert [outcome.value["square"] for outcome in outcomes] == [number**2 for number in range(30)]
    calls = count_calls(log)
    assert set(calls) == set(range(30))
    # One for each worker, at most, was being computed at that moment.
    assert calls.total() <= 32


@pytest.mark.usefixtures("patient")
def test_a_slow_worker_holds_up_no_more_than_what_it_has(tmp_path):
    tasks = [
        make_task(square_number, number=number, log=str(tmp_path / "log"), seconds=0.2)
        for number in range(30)
    ]
    with running_engine(tmp_path, "a") as (machines, engine):
        outcomes = engine.iterate_outcomes(tasks)
        values = {next(outcomes)[1].value["square"]}
        # It stands still, and another one comes: that one does all but the few that the first has.
        machines.send_signal("a", signal.SIGSTOP)
        machines.start_worker("b")
        values |= {next(outcomes)[1].value["square"] for _ in range(25)}
        machines.send_signal("a", signal.SIGCONT)
        values |= {outcome.value["square"] for _, outcome in outcomes}
    assert values == {number**2 for number in range(30)}
    assert count_calls(tmp_path / "log") == Counter(range(30))


@pytest.mark.usefixtures("patient")
def test_files_reach_workers_by_content_once(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEWRIGHT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "model.onnx").write_bytes(b"12345")
    with running_engine(tmp_path, "a", "b") as (_, engine):
        digest = engine.share_files(tmp_path, ["model.onnx"])
        # Workers have it from the store.
        (tmp_path / "model.onnx").unlink()
        tasks = [make_task(count_bytes, files=digest, names=["model.onnx"], n=n) for n in range(8)]
        values = [outcome.check() for outcome in engine.compute_all(tasks)]
    assert values == [{"folder": str(tmp_path / "cache/contents" / digest), "sizes": {"model.onnx": 5}}] * 8


def test_a_cluster_of_this_machine_is_started_and_ended(tmp_path):
    with open_engine(tmp_path / "store", cluster="local:2") as engine:
        outcomes = engine.compute_all([make_task(square_number, number=number) for number in range(5)])
    assert [outcome.value["square"] for outcome in outcomes] == [0, 1, 4, 9, 16]


def test_an_address_where_no_scheduler_answers_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "FIRST_CONTACT", 2.0)
    with pytest.raises(EnvironmentProblem, match="no scheduler answers at 'tcp:"):
        open_engine(tmp_path, cluster=f"tcp://127.0.0.1:{find_port()}").__enter__()
