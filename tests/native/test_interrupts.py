"""A call that is stopped on the way, at any point, leaves every later answer right."""

import random
import threading
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from edgewright.abi.worker_process import WorkerGone
from edgewright.backends.base import RunOptions
from edgewright.backends.qnn.backend import HtpNativeBackend, live_records, shared_runtime
from edgewright.backends.qnn.composed import ContextSession
from edgewright.backends.qnn.options import HtpOptions, ProfilingLevel
from edgewright.backends.qnn.runtime import RenewedContext
from edgewright.backends.qnn.writers import genuine_dlc, record_calls
from tests.interrupts import LineStop, Stop, stop_after
from tests.native.nets import conv_net, values

PLAIN = HtpOptions()
KINDS = {
    "plain": PLAIN,
    "shared": replace(PLAIN, is_shared=True),
    "profiled": replace(PLAIN, profiling=ProfilingLevel.BASIC),
}


class Bench:
    """Sessions of several kinds on one worker, the calls that users make, and the right answers."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.graphs = {kind: conv_net(seed=seed) for seed, kind in enumerate((*KINDS, "loaded"), 1)}
        self.feeds = [{"x": values(seed=seed)} for seed in range(4)]
        self.records = {kind: live_records(graph, graph.outputs) for kind, graph in self.graphs.items()}
        self.binary = shared_runtime(PLAIN).compile([self.records["loaded"]]).binary()
        self.sessions = {kind: self.prepare(kind) for kind in self.graphs}
        self.answers = {kind: [self.run(kind, feed) for feed in range(4)] for kind in self.graphs}

    def prepare(self, kind):
        if kind == "loaded":
            context = RenewedContext(lambda: shared_runtime(PLAIN).load(self.binary))
            return ContextSession(context, self.records[kind].name)
        return HtpNativeBackend(KINDS[kind]).prepare(self.graphs[kind], RunOptions())

    def run(self, kind, feed):
        return self.sessions[kind].run(self.feeds[feed])["y"]

    def record(self):
        record_calls(self.records["plain"], [self.feeds[0]], self.folder)

    def calls(self, drawn):
        """Every kind of call, in an order of its own."""
        runs = [lambda kind=kind: self.run(kind, drawn.randrange(4)) for kind in self.graphs]
        prepares = [lambda kind=kind: self.prepare(kind) for kind in self.graphs]
        others = [
            self.sessions["profiled"].profile,
            lambda: shared_runtime(PLAIN).info(self.binary),
            lambda: shared_runtime(PLAIN).operations(),
            lambda: self.sessions["plain"]._context.current().binary(),
            lambda: shared_runtime(PLAIN).close(),
            lambda: genuine_dlc(self.records["plain"]),
            self.record,
        ]
        return drawn.sample([*runs, *prepares, *others], len(runs) + len(prepares) + len(others))

    def check(self, drawn):
        """Two answers, of sessions and for inputs that the stopped call need not have had."""
        for kind in drawn.sample(sorted(self.graphs), 2):
            feed = drawn.randrange(4)
            np.testing.assert_array_equal(self.run(kind, feed), self.answers[kind][feed], kind)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("calls"))


def repeat(call):
    """Calls until it is stopped: what one call leaves undone may make it shorter the next time."""
    while True:
        call()


def count_lines(call):
    with LineStop() as counted:
        call()
    return counted.count


def test_the_answers_tell_the_sessions_and_the_inputs_apart(bench):
    found = {answer.tobytes() for answers in bench.answers.values() for answer in answers}
    assert len(found) == 16


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_no_line_at_which_a_call_is_stopped_makes_a_later_answer_wrong(bench, seed):
    drawn = random.Random(seed)
    for call in bench.calls(drawn):
        line = drawn.randint(1, count_lines(call))
        with pytest.raises(Stop), LineStop(line):
            repeat(call)
        bench.check(drawn)


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_no_time_at_which_a_call_is_stopped_makes_a_later_answer_wrong(bench, seed):
    drawn = random.Random(seed)
    for call in bench.calls(drawn):
        with pytest.raises(Stop), stop_after(drawn.choice([1e-4, 1e-3, 1e-2, 0.1]) * drawn.uniform(0.3, 3)):
            repeat(call)
        bench.check(drawn)


def test_a_session_of_another_thread_gets_its_answers_through_all_stops(bench):
    drawn, verdicts, over = random.Random(7), [], threading.Event()

    def work():
        while not over.is_set():
            with suppress(WorkerGone):  # ended again and again
                verdicts.append(np.array_equal(bench.run("shared", 1), bench.answers["shared"][1]))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(8):
            with pytest.raises(Stop), stop_after(drawn.uniform(1e-3, 2e-2)):
                repeat(lambda: bench.run("plain", 0))
            np.testing.assert_array_equal(bench.run("plain", 2), bench.answers["plain"][2])
    finally:
        over.set()
        thread.join()
    assert set(verdicts) == {True}
