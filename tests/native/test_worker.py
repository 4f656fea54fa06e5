"""Whatever happens to the worker process, its caller gets one clear error and works on."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from edgewright.backends.base import RunOptions
from edgewright.backends.qnn.backend import HtpNativeBackend, live_records
from edgewright.backends.qnn.options import HtpOptions, WorkerOptions
from edgewright.backends.qnn.runtime import QnnRuntime
from edgewright.core.errors import BackendCrash, EdgewrightError
from tests.native.nets import conv_net, values


def compiled(runtime):
    graph = conv_net()
    return runtime.compile([live_records(graph, graph.outputs)])


def process_of(runtime):
    return runtime._worker._child.process


def test_a_killed_worker_is_an_error_and_the_next_run_starts_another():
    session = HtpNativeBackend().prepare(conv_net(), RunOptions())
    wanted = session.run({"x": values()})["y"]
    process_of(session._context.current()).send_signal(signal.SIGKILL)
    process_of(session._context.current()).wait()
    np.testing.assert_array_equal(session.run({"x": values()})["y"], wanted)


def test_a_worker_killed_in_the_middle_of_a_call_says_so():
    with QnnRuntime() as runtime:
        process = process_of(runtime)
        process.send_signal(signal.SIGSTOP)  # the call cannot be answered before the end comes
        killer = threading.Timer(0.3, process.kill)
        killer.start()
        with pytest.raises(BackendCrash, match="ended with SIGKILL during 'operations'") as caught:
            runtime.operations()
        killer.join()
    assert caught.value.exit_code == 7


def test_a_worker_that_hangs_is_ended_after_its_time():
    with QnnRuntime(HtpOptions(worker=WorkerOptions(timeout=20))) as runtime:
        runtime._worker._child.seconds = 0.5
        process_of(runtime).send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(BackendCrash, match=r"gave no answer to 'operations' in 0.5 s"):
            runtime.operations()
        assert time.monotonic() - began < 10
        assert not runtime.is_alive


def test_corrupted_binaries_are_errors_or_results_never_the_end_of_the_caller():
    random = np.random.default_rng(3)
    with QnnRuntime() as runtime:
        binary = np.frombuffer(compiled(runtime).binary(), np.uint8)
    codes = []
    for _ in range(6):
        damaged = binary.copy()
        damaged[random.integers(0, damaged.size, 2000)] ^= 0xFF
        with QnnRuntime(HtpOptions(worker=WorkerOptions(timeout=60))) as runtime:
            try:
                runtime.load(damaged)
            except EdgewrightError as problem:
                codes.append(problem.exit_code)
    assert len(codes) >= 4
    assert set(codes) <= {3, 7}


def test_half_a_binary_is_an_error():
    with QnnRuntime() as runtime:
        binary = compiled(runtime).binary()
        with pytest.raises(EdgewrightError):
            runtime.load(binary[: len(binary) // 2])


def test_a_worker_without_memory_is_an_error():
    few = HtpOptions(worker=WorkerOptions(memory_limit=300 << 20))
    with QnnRuntime(few) as runtime, pytest.raises(BackendCrash) as caught:
        compiled(runtime)
    assert caught.value.exit_code == 7
    assert "Conv2d" in str(caught.value)


def test_a_forked_child_gets_an_error_and_the_parent_works_on():
    with QnnRuntime() as runtime:
        context = compiled(runtime)
        wanted = context.run("net", {"x": values()})["y"]
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                context.run("net", {"x": values()})
                os.write(writer, b"no error")
            except BackendCrash as problem:
                os.write(writer, problem.what.encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as told:
            assert b"belongs to process" in told.read()
        os.waitpid(child, 0)
        np.testing.assert_array_equal(context.run("net", {"x": values()})["y"], wanted)


def test_contexts_that_are_let_go_are_freed_in_the_worker():
    with QnnRuntime() as runtime:
        for _ in range(3):
            compiled(runtime)
        kept = compiled(runtime)
        assert kept.run("net", {"x": values()})["y"].any()
        assert runtime._worker._dropped == []
