"""A client that passes anything: the library neither crashes nor hangs, and right graphs still work."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import edgewright.abi
from edgewright.sdk.backend_library import compile_library

SOURCE = Path(__file__).parent / "csrc" / "backend_fuzzer.c"
HEADERS = Path(edgewright.abi.__file__).parent / "csrc"
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the library is for Linux"),
]


def run_fuzzer(folder, seed, calls, threads, *flags, library_flags=(), words=()):
    compile_library("cpu", folder / "library.so", library_flags)
    compiler = shutil.which("gcc") or "cc"
    fuzzer = [
        compiler,
        *flags,
        f"-I{HEADERS}",
        str(SOURCE),
        "-o",
        str(folder / "fuzzer"),
        "-ldl",
        "-lpthread",
    ]
    subprocess.run(fuzzer, check=True, capture_output=True)
    # Reports go to files: the fuzzer closes standard error.
    environment = dict.fromkeys(("ASAN_OPTIONS", "UBSAN_OPTIONS"), f"log_path={folder}/report")
    command = [
        str(folder / "fuzzer"),
        str(folder / "library.so"),
        str(seed),
        str(calls),
        str(threads),
        *words,
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env={**os.environ, **environment}
    )
    reports = "".join(path.read_text() for path in folder.glob("report*"))
    assert done.returncode == 0, (done.returncode, done.stdout, reports[:3000])
    assert not reports


def test_no_byte_outside_of_a_buffer_is_touched(tmp_path):
    """Address and undefined-behaviour sanitizers look on; buffers are exactly as long as they say."""
    own = (*SANITIZERS, "-DEDGEWRIGHT_TRUST_POINTERS")
    run_fuzzer(tmp_path, 1, 1500, 3, "-fsanitize=address", "-g", library_flags=own)


def test_pointers_to_nowhere_are_refused(tmp_path):
    run_fuzzer(tmp_path, 2, 1500, 3, words=("wild",))
