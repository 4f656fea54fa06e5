"""Every tutorial runs as it is printed: its shell and Python blocks, one after another, in one folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.optional import page_params

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "guide" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"```(bash|python)\n(.*?)```", re.DOTALL)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the tutorials are for a POSIX shell"),
]


def script_of(page):
    """One script: Python blocks go to the interpreter that runs the tests."""
    parts = ["set -eo pipefail"]
    for kind, code in BLOCK.findall(page.read_text("utf-8")):
        parts.append(
            code if kind == "bash" else f"'{sys.executable}' - <<'END_OF_BLOCK'\n{code}\nEND_OF_BLOCK"
        )
    return "\n".join(parts)


@pytest.mark.parametrize("page", page_params(PAGES))
def test_a_tutorial_runs_as_printed(page, tmp_path):
    script = script_of(page)
    if "qnn-model-lib-generator" in script and not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("no C++ compiler: install g++ or clang++")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
