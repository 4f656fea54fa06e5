"""Tasks in processes of this machine: nothing is computed twice, and one that fails is one clean error."""

import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from edgewright.core.errors import BadInput, UsageError
from edgewright.core.events import listen_to_progress
from edgewright.tasks import engine as engine_module
from edgewright.tasks import executors
from edgewright.tasks.engine import open_engine
from edgewright.tasks.task import make_task
from tests.unit.tasks.small_tasks import (
    count_bytes,
    fail_somehow,
    make_things,
    slow_down_once,
    square_number,
    tell_process,
)


def count_calls(log: Path) -> Counter[int]:
    return Counter(map(int, log.read_text().split())) if log.exists() else Counter()


@pytest.mark.parametrize("workers", [0, 2])
def test_outcomes_come_in_the_order_of_the_tasks_and_each_is_computed_once(tmp_path, workers):
    log = str(tmp_path / "log")
    tasks = [make_task(square_number, number=number, log=log) for number in (3, 1, 2, 3)]
    with open_engine(tmp_path / "store", workers=workers) as engine:
        first = engine.compute_all(tasks)
        more = engine.compute_all([*tasks, make_task(square_number, number=9, log=log)])
    assert [outcome.value["square"] for outcome in first] == [9, 1, 4, 9]
    assert [outcome.value["square"] for outcome in more] == [9, 1, 4, 9, 81]
    assert [outcome.is_reused for outcome in more] == [True] * 4 + [False]
    assert count_calls(tmp_path / "log") == Counter([1, 2, 3, 9])


def test_a_task_that_fails_is_one_error_and_the_others_go_on(tmp_path):
    log = str(tmp_path / "log")
    tasks = [make_task(fail_somehow, number=number, log=log) for number in range(5)]
    with open_engine(tmp_path / "store", workers=2) as engine:
        outcomes = engine.compute_all(tasks)
        again = engine.compute_all(tasks)
    assert [outcome.value for outcome in outcomes] == [0, None, None, None, 4]
    codes = [outcome.error and outcome.error.code for outcome in outcomes]
    assert codes == [None, "bad-input", "backend-crash", "internal", None]
    assert "SIGKILL, 2 times" in outcomes[2].error.what
    assert "RuntimeError: a defect" in outcomes[3].error.what
    with pytest.raises(BadInput, match="the model is damaged"):
        outcomes[1].check()
    # An error of the input is its result; one of the machine may be gone the next time.
    assert [outcome.is_reused for outcome in again] == [True, True, False, False, True]
    assert count_calls(tmp_path / "log") == Counter({0: 1, 1: 1, 2: 4, 3: 2, 4: 1})


def test_whoever_stops_listening_stops_the_processes_and_what_was_finished_is_kept(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "block").touch()
    inputs = {"log": str(tmp_path / "log"), "block": str(tmp_path / "block")}
    tasks = [make_task(slow_down_once, number=number, **inputs) for number in range(4)]
    with open_engine(tmp_path / "store", workers=2) as engine:
        outcomes = engine.iterate_outcomes(tasks)
        values = {next(outcomes)[1].value for _ in range(3)}
        outcomes.close()
    with open_engine(tmp_path / "store", workers=2) as engine:
        assert [outcome.value for outcome in engine.compute_all(tasks)] == [0, 1, 2, 3]
    assert list((tmp_path / "temporary").iterdir()) == []
    calls = count_calls(tmp_path / "log")
    assert [calls[number] for number in sorted(values)] == [1, 1, 1]
    assert calls.total() == 5


def test_files_of_this_machine_are_not_copied_for_its_processes(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"12345")
    with open_engine(tmp_path / "store", workers=1) as engine:
        digest = engine.share_files(tmp_path, ["model.onnx"])
        (outcome,) = engine.compute_all([make_task(count_bytes, files=digest, names=["model.onnx"])])
    assert outcome.value == {"folder": str(tmp_path), "sizes": {"model.onnx": 5}}


def test_a_file_that_is_changed_meanwhile_is_not_used_and_the_error_is_not_kept(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"12345")
    with open_engine(tmp_path / "store", workers=0) as engine:
        digest = engine.share_files(tmp_path, ["model.onnx"])
        task = make_task(count_bytes, files=digest, names=["model.onnx"])
        path.write_bytes(b"54321 changed")
        (outcome,) = engine.compute_all([task])
        assert outcome.error.code == "environment"
        assert "changed or removed meanwhile" in outcome.error.what
        path.write_bytes(b"12345")
        assert engine.share_files(tmp_path, ["model.onnx"]) == digest
        assert engine.compute_all([task])[0].value["sizes"] == {"model.onnx": 5}


def test_files_and_arrays_that_a_task_makes_are_kept(tmp_path):
    with open_engine(tmp_path / "store", workers=1) as engine:
        (outcome,) = engine.compute_all([make_task(make_things, folder=str(tmp_path), number=3)])
        (tmp_path / "made.txt").unlink()
        assert (engine.fetch_files(outcome.value["files"]) / "made.txt").read_text() == "made"
        assert engine.contents.load_arrays(outcome.value["arrays"])["x"].tolist() == [0, 1, 2]


def test_a_damaged_result_is_computed_again(tmp_path):
    task = make_task(square_number, number=5)
    with open_engine(tmp_path / "store", workers=0) as engine:
        engine.compute_all([task])
        (result,) = (tmp_path / "store" / "results").rglob("*.json")
        result.write_bytes(result.read_bytes()[:20])
        (outcome,) = engine.compute_all([task])
    assert outcome.value == {"square": 25}
    assert not outcome.is_reused


def test_progress_counts_what_is_computed_only(tmp_path):
    class Steps:
        totals: list[int | None] = []  # noqa: RUF012 - one listener

        def start_work(self, work):
            self.totals.append(work.total)

        def advance_work(self, work):
            pass

        def end_work(self, work):
            self.totals.append(work.done)

    tasks = [make_task(square_number, number=number) for number in range(4)]
    with open_engine(tmp_path / "store", workers=0) as engine, listen_to_progress(Steps()):
        engine.compute_all(tasks[:3])
        engine.compute_all(tasks)
    assert Steps.totals == [3, 3, 1, 1]


@pytest.mark.parametrize("cluster", ["8786", "local:0", "local:x", "tcp://", "http://host:1"])
def test_a_cluster_that_cannot_be_one_is_refused(tmp_path, cluster):
    with pytest.raises(UsageError, match="expected tcp://HOST:PORT"), open_engine(tmp_path, cluster=cluster):
        pass


def test_workers_and_a_cluster_exclude_each_other(tmp_path):
    with pytest.raises(UsageError, match="a cluster has its own"):
        open_engine(tmp_path, cluster="local:2", workers=2).__enter__()


@pytest.mark.parametrize(("worth", "is_elsewhere"), [(1e9, False), (0.0, True)])
def test_processes_are_started_where_the_rest_takes_long_enough(tmp_path, monkeypatch, worth, is_elsewhere):
    monkeypatch.setattr(executors, "WORTH_PROCESSES", worth)
    monkeypatch.setattr(engine_module, "count_cores", lambda: 2)
    tasks = [make_task(tell_process, number=number) for number in range(4)]
    with open_engine(tmp_path, is_growing=True) as engine:
        first, *rest = [outcome.check() for outcome in engine.compute_all(tasks)]
    assert [answer["number"] for answer in (first, *rest)] == [0, 1, 2, 3]
    assert first["pid"] == os.getpid()
    assert all((answer["pid"] != os.getpid()) == is_elsewhere for answer in rest)


def test_processes_do_without_what_dask_sets_for_its_own_workers(tmp_path, monkeypatch):
    for value, expected in (("65536", None), ("4096", "4096")):
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", value)
        with open_engine(tmp_path / value, workers=1) as engine:
            (outcome,) = engine.compute_all([make_task(tell_process, number=1)])
        assert outcome.check()["trim"] == expected


def test_files_are_copied_under_other_names_and_checked(tmp_path):
    with open_engine(tmp_path / "store", workers=0) as engine:
        (tmp_path / "a.txt").write_text("a")
        (tmp_path / "b.txt").write_text("b")
        digest = engine.contents.share_files(tmp_path, ["a.txt", "b.txt"])
        engine.copy_files(digest, tmp_path / "out", {"a.txt": "x/a.txt"}.get)
        assert [path.name for path in (tmp_path / "out").rglob("*")] == ["x", "a.txt"]
        with pytest.raises(BadInput, match="expected one inside"):
            engine.copy_files(digest, tmp_path / "out", lambda name: f"../{name}")
