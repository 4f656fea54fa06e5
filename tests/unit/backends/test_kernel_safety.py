"""Compiled convolutions of any shape: the right numbers, nothing beyond a buffer, none without memory."""

import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from edgewright.backends.cpu import compiled

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
# Those that make a library, or take a compiler long.
LEFT_OUT = ("-O3", "-shared", "-fPIC", "-std=c11")
CASES = 200
FASTEST, *_, PLAINEST = (*compiled._list_machine_flags(), [])


@pytest.mark.parametrize("flags", [FASTEST, PLAINEST], ids=["this-processor", "any-processor"])
def test_products_of_any_shape_stay_within_their_buffers(tmp_path: Path, flags: list[str]) -> None:
    kept = [flag for flag in compiled._FLAGS if flag not in LEFT_OUT]
    program, source = tmp_path / "product_shapes", Path(__file__).with_name("product_shapes.c")
    folder = str(files("edgewright") / "backends" / "cpu" / "_data")
    (tmp_path / "all_kernels.c").write_text("".join(f'#include "{name}"\n' for name in compiled._SOURCES))
    command = ["gcc", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *kept, *flags, *SANITIZERS]
    built = subprocess.run(
        [*command, "-I", folder, "-I", str(tmp_path), str(source), "-o", str(program), "-lm", "-lpthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    if "cannot find" in built.stderr and "san" in built.stderr:
        pytest.skip("gcc has no sanitizers")
    assert not built.returncode, built.stderr
    ran = subprocess.run([program, "1", str(CASES)], capture_output=True, text=True, check=False)
    assert not ran.returncode, ran.stdout + ran.stderr
    assert "are as expected" in ran.stdout
