"""Hostile surroundings, in processes of their own: full and locked disks, no home, no output, other runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.seeds import convert_quantized
from tests.hostile.artifacts import INPUT, convert_small

TOOLS = Path(sys.executable).parent
NET_RUN = ("qnn-net-run", "--model", "m_net.json", "--backend", "cpu", "--input_list", "list.txt")
# Each writes more than a disk of 4 kB has room for, except the context, which is small.
FULL = "head -c 4096 /dev/zero > out/full &&"
WRITERS = {
    "cpp": ("edgewright", "convert", "q.onnx", "-o", "out/m.cpp"),
    "dlc": ("edgewright", "quantize", "q.onnx", "--data", "x.npy", "-o", "out/m.dlc"),
    "results": (*NET_RUN, "--output_dir", "out/r"),
    "context": (
        "qnn-context-binary-generator",
        "--model",
        "q_net.json",
        "--backend",
        "cpu",
        "--binary_file",
        "c",
        "--output_dir",
        "out/a/b",
    ),
    "page": ("edgewright", "view", "q.onnx", "--export", "out/v.html"),
    "library": ("qnn-model-lib-generator", "-c", "m.cpp", "-b", "m.bin", "-o", "out/lib"),
    "package": ("qnn-op-package-generator", "-p", "p.xml", "-o", "out/p"),
    "sdk": ("edgewright", "sdk-root", "out/root"),
    "llm": ("edgewright", "llm", "quantize", "llm", "--recipe", "fast", "-o", "out/m.gguf"),
}
MOUNT = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")


def can_mount() -> bool:
    """Whether this user may have a file system of its own for a process."""
    if not shutil.which("unshare"):
        return False
    done = subprocess.run([*MOUNT, "mount -t tmpfs none /mnt"], check=False, capture_output=True)
    return done.returncode == 0


def mostly_exhaustive(names, *quick):
    """A process of its own each: a few run with the slow tests, all of them with the exhaustive ones."""
    return [
        pytest.param(name, marks=pytest.mark.slow if name in quick else pytest.mark.exhaustive)
        for name in names
    ]


needs_mount = pytest.mark.skipif(not can_mount(), reason="file systems cannot be mounted here")


@pytest.fixture
def place(tmp_path):
    from tests.cli.op_packages import XML
    from tests.unit.llm.checkpoints import write_checkpoint

    for name, content in {**convert_quantized(), **convert_small()}.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "p.xml").write_text(XML)
    np.save(tmp_path / "x.npy", np.zeros((4, 1, 4, 4), np.float32))
    (tmp_path / "x.raw").write_bytes(INPUT.tobytes())
    (tmp_path / "list.txt").write_text("x.raw\n")
    write_checkpoint(tmp_path / "llm")
    (tmp_path / "out").mkdir()
    return tmp_path


def run(place, *words, environment=None, **more):
    words = [str(TOOLS / words[0]), *words[1:]] if (TOOLS / words[0]).exists() else words
    given = {**os.environ, "OMP_NUM_THREADS": "1"} if environment is None else environment
    return subprocess.run(
        words,
        cwd=place,
        env=given,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
        **more,
    )


def mounted(place, options, words, before=""):
    """A command whose folder `out` is another file system; says what it left there."""
    tool = " ".join([str(TOOLS / words[0]), *words[1:]])
    listed = "find out -mindepth 1 ! -name full"
    script = f"mount -t tmpfs -o {options} none out && {before} {tool}; code=$?; {listed}; exit $code"
    return run(place, *MOUNT, script)


def is_clean(done, code):
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error[") == (1 if code else 0)


@needs_mount
@pytest.mark.parametrize("name", mostly_exhaustive(WRITERS, "cpp", "results"))
def test_a_full_disk_is_an_error_and_nothing_is_left(name, place):
    done = mounted(place, "size=4k", WRITERS[name], FULL if name == "context" else "")
    is_clean(done, 6)
    assert "no space left on device" in done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("out/")] == []


@needs_mount
@pytest.mark.parametrize("name", mostly_exhaustive(WRITERS, "cpp"))
def test_a_disk_that_is_read_only_is_an_error(name, place):
    is_clean(mounted(place, "ro", WRITERS[name]), 6)


@pytest.mark.exhaustive
@needs_mount
def test_a_build_on_a_full_disk_says_so_and_is_not_taken_for_a_whole_one(place):
    words = ("edgewright", "build", "q.onnx", "--data", "x.npy", "--target", "SM8650", "-o", "out/b")
    done = mounted(place, "size=200k", words)
    is_clean(done, 6)
    left = [line for line in done.stdout.splitlines() if line.startswith("out/")]
    # Finished stages are kept for the next try, and nothing beside them.
    assert [line for line in left if not line.startswith("out/b/.build") and line != "out/b"] == []


@pytest.mark.parametrize("closed", mostly_exhaustive([">&-", "<&-", ">&- 2>&- <&-"], ">&- 2>&- <&-"))
def test_a_tool_without_its_streams_still_works(closed, place):
    done = run(place, "sh", "-c", f"{TOOLS}/edgewright convert q.onnx -o out/n.cpp {closed}")
    assert done.returncode == 0
    assert (place / "out" / "n.cpp").is_file()


@pytest.mark.parametrize(
    "words",
    mostly_exhaustive(["inspect q.onnx", "inspect q.onnx --json", "--help", "targets"], "inspect q.onnx"),
)
def test_output_that_cannot_be_written_is_an_error(words, place):
    is_clean(run(place, "sh", "-c", f"{TOOLS}/edgewright {words} > /dev/full"), 6)


PLAIN = {"PATH": os.defpath, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
BARE = {
    "no environment": {},
    "a C locale": {**PLAIN, "LC_ALL": "C"},
    "a POSIX locale": {**PLAIN, "LANG": "POSIX"},
    "a locale that is not there": {**PLAIN, "LC_ALL": "xx_YY.UTF-8"},
    "a home that is not there": {"HOME": "/nowhere"},
    "a dumb terminal": {"TERM": "dumb"},
    "an unknown terminal": {"TERM": "no-such-terminal", "COLUMNS": "-3", "LINES": "x"},
}


@pytest.mark.parametrize("name", mostly_exhaustive(BARE, "a C locale"))
@pytest.mark.parametrize("stem", ["plain", "mödel ∂ 模型"])
def test_bare_surroundings_do_no_harm(name, stem, place):
    shutil.copy(place / "q.onnx", place / f"{stem}.onnx")
    is_clean(
        run(place, "edgewright", "convert", f"{stem}.onnx", "-o", f"out/{stem}.cpp", environment=BARE[name]),
        0,
    )
    assert (place / "out" / f"{stem}.cpp").is_file()
    is_clean(run(place, "edgewright", "inspect", f"gone {stem}.onnx", environment=BARE[name]), 3)
    is_clean(run(place, *NET_RUN, "--output_dir", "out/r", environment=BARE[name]), 0)


@pytest.mark.slow
def test_two_runs_in_one_folder_leave_whole_files(place):
    words = [
        [str(TOOLS / w[0]), *w[1:]] for w in (WRITERS["cpp"], WRITERS["cpp"], WRITERS["dlc"], WRITERS["dlc"])
    ]
    started = [
        subprocess.Popen(w, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for w in words
    ]
    assert [process.wait(120) for process in started] == [0] * 4, [p.stderr.read() for p in started]
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        "m.bin",
        "m.cpp",
        "m.dlc",
        "m_net.json",
    ]
    is_clean(run(place, "edgewright", "inspect", "out/m.dlc"), 0)
    is_clean(run(place, "edgewright", "inspect", "out/m_net.json"), 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kilobytes", [400_000, 900_000])
def test_too_little_memory_is_no_traceback(kilobytes, place):
    script = f"ulimit -v {kilobytes}; {TOOLS}/edgewright quantize q.onnx --data x.npy -o out/m.dlc"
    done = run(place, "sh", "-c", script)
    assert done.returncode in {0, 6, 7}, done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or list((place / "out").iterdir()) == []
