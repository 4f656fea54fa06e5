"""A TorchScript file is converted without a question, and nothing of it runs: the interpreter reports."""

import subprocess
import sys

import pytest

from tests.unit.frontends.pytorch import hostile

# What a process does when it runs what a file says. Ops of torch are loaded before anything is read.
WATCHED = """
import sys
import torch
from edgewright.tools.umbrella import main

def look(event, words):
    if event in {"os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen", "pickle.find_class",
                 "socket.connect", "ctypes.dlopen"}:
        seen.append((event, str(words)[:200]))

seen = []
sys.addaudithook(look)
torch.jit.load = torch.load = lambda *_, **__: seen.append("torch loads it")
code = main(sys.argv[1:])
print("SEEN", seen)
sys.exit(code)
"""


def convert(path, *words):
    command = [sys.executable, "-W", "ignore", "-c", WATCHED, "convert", str(path)]
    command += ["-o", str(path.with_suffix(".cpp")), *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@pytest.mark.torch
def test_a_script_converts_with_nobody_to_answer_and_runs_nothing(tmp_path):
    done = convert(hostile.write(tmp_path / "m.pt"), "-d", "x", "4")
    assert done.returncode == 0, done.stderr
    assert "SEEN []" in done.stdout
    assert "?" not in done.stdout + done.stderr
    assert {path.suffix for path in tmp_path.iterdir()} == {".pt", ".cpp", ".bin", ".json"}


@pytest.mark.torch
def test_a_traced_network_converts_with_nobody_to_answer_and_runs_nothing(tmp_path):
    import torch

    layers = (torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten())
    network = torch.nn.Sequential(*layers, torch.nn.Linear(144, 3)).eval()
    torch.jit.trace(network, torch.zeros(1, 1, 8, 8)).save(str(tmp_path / "m.pt"))
    done = convert(tmp_path / "m.pt", "-d", "input", "1,1,8,8")
    assert done.returncode == 0, done.stderr
    assert "SEEN []" in done.stdout
