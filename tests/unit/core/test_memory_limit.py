"""What a model may take of the memory, seen from a process of its own."""

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
from edgewright.core.errors import LimitExceeded
from edgewright.core.memory_limit import BASE, enable_memory_limit, limit_memory

def take(count):
    try:
        with limit_memory(sys.argv[1]):
            return np.zeros(count, np.uint8).size == count
    except LimitExceeded:
        return False

before = take(2 * BASE)
enable_memory_limit()
print(before, take(2 * BASE), take(BASE // 2), bool(np.zeros(2 * BASE, np.uint8).size))
"""


def ask(path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], check=True, capture_output=True, text=True
    )
    return done.stdout.split()


def test_only_tools_have_a_limit_and_only_inside(tmp_path):
    assert ask(tmp_path / "m.onnx") == ["True", "False", "True", "True"]


def test_a_large_model_may_take_more(tmp_path):
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(1 << 30)
    assert ask(tmp_path / "m.onnx") == ["True", "True", "True", "True"]
