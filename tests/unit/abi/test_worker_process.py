"""A worker answers the request that it was asked, whatever happened to the request before."""

import random
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from edgewright.abi import worker_process
from edgewright.abi.worker_process import WorkerGone, WorkerLate, WorkerProcess, end_calls_at
from edgewright.core.errors import BackendCrash, UsageError
from tests.interrupts import LineStop, Stop, stop_after
from tests.unit.abi.echo_worker import CODEC


@pytest.fixture
def start(monkeypatch):
    """Starts workers, and stops them in the end."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=":")
    started = []

    def make(seconds=60.0):
        started.append(WorkerProcess("echo_worker", "the echo", CODEC, seconds))
        return started[-1]

    yield make
    for worker in started:
        worker.stop()


def ask(worker, number, **more):
    """Whether the answer is the one to this request."""
    array = np.full(100_000, number, np.int32)
    name, found = worker.exchange(f"ask {number}", {"array": array, **more})
    return name == f"ask {number}" and np.array_equal(found["array"], array)


def test_no_line_at_which_a_call_is_stopped_makes_a_later_answer_wrong(start):
    worker, drawn = start(), random.Random(1)
    with LineStop() as counted:
        assert ask(worker, 0)
    for number in range(1, 13):
        with pytest.raises(Stop), LineStop(drawn.randint(1, counted.count)):
            ask(worker, 2 * number)
        if not worker.is_alive:
            with pytest.raises(WorkerGone, match=rf"'ask {2 * number}' was not answered"):
                ask(worker, 0)
            worker = start()
        assert ask(worker, 2 * number + 1)


def test_no_time_at_which_a_call_is_stopped_makes_a_later_answer_wrong(start):
    worker, drawn = start(), random.Random(2)
    for number in range(1, 7):
        with pytest.raises(Stop), stop_after(drawn.uniform(1e-4, 0.05)):
            ask(worker, 2 * number, seconds=0.1)
        worker = worker if worker.is_alive else start()
        assert ask(worker, 2 * number + 1)


def test_a_call_stopped_twice_leaves_no_worker_that_answers(start):
    worker = start()
    assert ask(worker, 1)

    def stopped_again():
        raise Stop

    worker.process.kill, kill = stopped_again, worker.process.kill
    with pytest.raises(Stop), stop_after(0.01):
        ask(worker, 2, seconds=0.05)
    worker.process.kill = kill
    assert worker.process.poll() is None
    assert not worker.is_alive
    with pytest.raises(WorkerGone):
        ask(worker, 3)


def test_a_timeout_of_the_caller_is_not_reported_as_one_of_the_worker(start):
    worker = start()
    with pytest.raises(TimeoutError, match=r"^$"), stop_after(0.02, TimeoutError):
        ask(worker, 1, seconds=0.5)
    assert not worker.is_alive


def test_a_worker_that_takes_too_long_is_ended_and_says_so(start):
    worker = start(seconds=1.0)
    assert ask(worker, 1)
    with pytest.raises(BackendCrash, match="gave no answer to 'ask 2' in 1 s"):
        ask(worker, 2, seconds=30)
    assert not worker.is_alive


def test_a_caller_sets_when_its_calls_end_whatever_the_worker_allows(start):
    worker = start(seconds=60.0)
    begun = time.monotonic()
    with end_calls_at(begun + 60), end_calls_at(begun + 0.5), pytest.raises(WorkerLate, match="in 0"):
        ask(worker, 1, seconds=30)
    assert time.monotonic() - begun < 20
    assert not worker.is_alive
    assert ask(start(), 2)


def test_a_worker_that_is_stopped_is_noticed_and_ended(start, monkeypatch):
    assert worker_process.STOPPED_SECONDS < 30
    monkeypatch.setattr(worker_process, "STOPPED_SECONDS", 1.0)
    monkeypatch.setattr(worker_process, "_LOOK_SECONDS", 0.1)
    worker = start(seconds=600.0)
    assert ask(worker, 1)
    worker.process.send_signal(signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(BackendCrash, match="was stopped by a signal during 'ask 2'"):
        ask(worker, 2)
    assert time.monotonic() - started < 30
    assert not worker.is_alive


def test_a_worker_that_is_stopped_for_a_moment_goes_on(start, monkeypatch):
    monkeypatch.setattr(worker_process, "_LOOK_SECONDS", 0.1)
    worker = start()
    worker.process.send_signal(signal.SIGSTOP)
    timer = threading.Timer(0.5, worker.process.send_signal, [signal.SIGCONT])
    timer.start()
    assert ask(worker, 1)
    timer.join()


def test_a_user_sets_the_seconds_of_all_workers(start, monkeypatch):
    monkeypatch.setenv("EDGEWRIGHT_WORKER_SECONDS", "1")
    worker = start(seconds=600.0)
    with pytest.raises(BackendCrash, match=r"in 1 s.*\n.*set EDGEWRIGHT_WORKER_SECONDS to more seconds"):
        ask(worker, 1, seconds=30)
    monkeypatch.setenv("EDGEWRIGHT_WORKER_SECONDS", "soon")
    with pytest.raises(UsageError, match="is 'soon', expected a number of seconds above 0"):
        start()


def test_threads_get_their_own_answers(start):
    worker, answers = start(), []

    def call(thread):
        answers.extend(ask(worker, 100 * thread + number) for number in range(40))

    threads = [threading.Thread(target=call, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 160


def test_a_thread_that_waits_is_told_that_the_worker_was_ended(start):
    worker, told = start(), []
    assert ask(worker, 1)

    def call():
        try:
            told.append(ask(worker, 2))
        except WorkerGone as problem:
            told.append(problem.what)

    waiting = threading.Timer(0.05, call)
    waiting.start()
    with pytest.raises(Stop), stop_after(0.2):
        ask(worker, 3, seconds=20)
    waiting.join()
    assert told == ["the echo was ended: its request 'ask 3' was not answered"]


def test_the_end_of_a_worker_is_reported_once_and_then_it_is_gone(start):
    worker = start()
    with pytest.raises(BackendCrash, match="ended with exit code 3 during 'end'"):
        worker.exchange("end", {})
    with pytest.raises(WorkerGone, match="its request 'end' was not answered"):
        worker.exchange("end", {})


def test_a_worker_that_was_stopped_says_so(start):
    worker = start()
    worker.stop()
    with pytest.raises(WorkerGone, match=r"is gone \(exit code -9\); it printed nothing"):
        ask(worker, 1)
