"""Results and contents in an object store: a real S3 server, and workers that share nothing else."""

import os
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

from edgewright.core.errors import EnvironmentProblem
from edgewright.tasks.contents import Contents
from edgewright.tasks.engine import open_engine
from edgewright.tasks.store import open_store
from edgewright.tasks.task import make_task
from tests.unit.tasks.small_tasks import count_bytes, make_things, square_number

NO_S3 = "s3fs and moto are not installed: pip install 'edgewright[s3,servers]'"
fsspec = pytest.importorskip("fsspec", reason=NO_S3)
pytest.importorskip("s3fs", reason=NO_S3)
pytest.importorskip("moto", reason=NO_S3)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of an S3 server of this machine."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    log = (tmp_path_factory.mktemp("moto") / "log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log
    )
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(address, timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        yield address
    finally:
        process.kill()
        process.wait()
        log.close()


@pytest.fixture
def store(server, monkeypatch, tmp_path):
    """A bucket of its own, found by the variables that all clients of S3 know."""
    names = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION")
    for name, value in zip(names, (server, "key", "secret", "us-east-1"), strict=True):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("EDGEWRIGHT_CACHE", str(tmp_path / "cache"))
    bucket = f"bucket-{os.getpid()}-{abs(hash(str(tmp_path))) % 10**9}"
    fsspec.filesystem("s3").mkdir(bucket)
    return f"s3://{bucket}/sweeps"


def test_processes_share_results_and_files_through_s3(store, tmp_path):
    log = tmp_path / "log"
    (tmp_path / "model.onnx").write_bytes(b"12345")
    tasks = [make_task(square_number, number=number, log=str(log)) for number in range(6)]
    with open_engine(store, workers=2) as engine:
        first = engine.compute_all(tasks)
        again = engine.compute_all(tasks)
        digest = engine.contents.share_files(tmp_path, ["model.onnx"])
        (tmp_path / "model.onnx").unlink()
        counted, made = engine.compute_all(
            [
                make_task(count_bytes, files=digest, names=["model.onnx"]),
                make_task(make_things, folder=str(tmp_path), number=3),
            ]
        )
        assert (engine.fetch_files(made.value["files"]) / "made.txt").read_text() == "made"
        np.testing.assert_array_equal(engine.contents.load_arrays(made.value["arrays"])["x"], [0, 1, 2])
    assert [outcome.value["square"] for outcome in first] == [0, 1, 4, 9, 16, 25]
    assert all(outcome.is_reused for outcome in again)
    assert counted.value["sizes"] == {"model.onnx": 5}
    assert sorted(log.read_text().split()) == list("012345")
    names = fsspec.filesystem("s3").find(store)
    # Six numbers and two others; model and manifest, file and manifest, arrays.
    assert len([name for name in names if "/results/" in name]) == 8
    assert len([name for name in names if "/content/" in name]) == 5


def test_contents_are_shared_once_and_checked_against_their_hash(store, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"12345")
    contents = Contents(open_store(store), tmp_path / "cache")
    digest = contents.share_files(tmp_path, ["model.onnx"])
    files = fsspec.filesystem("s3")
    times = {name: files.modified(name) for name in files.find(store)}
    assert contents.share_files(tmp_path, ["model.onnx"]) == digest
    assert {name: files.modified(name) for name in files.find(store)} == times
    (content,) = (name for name in times if files.size(name) == 5)
    files.pipe_file(content, b"54321")
    with pytest.raises(EnvironmentProblem, match="is damaged: its hash differs"):
        contents.fetch_files(digest)
    files.rm_file(content)
    with pytest.raises(EnvironmentProblem, match="is not in the store"):
        contents.fetch_files(digest)


def test_a_bucket_that_is_not_there_is_said(store):
    with open_engine(f"{store.rpartition('-')[0]}-none/x", workers=0) as engine:
        (outcome,) = engine.compute_all([make_task(square_number, number=1)])
    assert outcome.error.code == "environment"
    assert "cannot be used" in outcome.error.what
