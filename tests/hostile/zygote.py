"""Runs command lines in forks of one process that has everything imported, each within limits.

It reads one JSON object a line (the words, the folder, the seconds) and answers each with another: the exit
code, what was said, the time and the memory. A process with threads must not fork, so this one makes none.
"""

import importlib
import io
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

# What one command may take on top of what the imports hold.
MEMORY = 2 << 30
_TOOLS = "edgewright.tools"
_WARM = (
    *("edgewright", "onnx", "numpy", "yaml", "onnxruntime", "PIL.Image", "edgewright.frontends.open_source"),
    *("edgewright.frontends.conversion", "edgewright.sdk.net_run", "edgewright.artifacts.dlc.reader"),
)
# Not the interpreter's own exit codes.
HANG, TRACEBACK = 1001, 1002


def run_words(words: list[str], folder: str, seconds: float) -> dict[str, Any]:
    """One command line in a child: its exit code (negative: a signal), output, seconds and peak of memory."""
    said = Path(folder) / ".said"
    start = time.monotonic()
    child = os.fork()
    if not child:
        _become_tool(words, folder, said)
    status, usage = _wait(child, seconds)
    code = HANG if status is None else os.waitstatus_to_exitcode(status)
    text = said.read_text("utf-8", "replace") if said.exists() else ""
    said.unlink(missing_ok=True)
    if code == 1 and "Traceback" in text:
        code = TRACEBACK
    took = time.monotonic() - start
    return {"code": code, "said": text, "seconds": took, "peak": usage.ru_maxrss << 10}


def _wait(child: int, seconds: float) -> tuple[int | None, Any]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return status, usage
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    _, _, usage = os.wait4(child, 0)
    return None, usage


def _become_tool(words: list[str], folder: str, said: Path) -> None:
    code = 1
    try:
        os.chdir(folder)
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        limit = _measure_address_space() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = _find_main(words[0])(words[1:])
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)


def _find_main(tool: str) -> Any:
    name = "umbrella" if tool == "edgewright" else tool.replace("-", "_")
    return importlib.import_module(f"{_TOOLS}.{name}").main


def _measure_address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _warm_up() -> None:
    """Runs commands that end before they start threads: forks need not import what these have imported."""
    from tests.hostile.warm_commands import COMMANDS, lay_out

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        lay_out(Path(folder))
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            for words in COMMANDS:
                _find_main(words[0])(list(words[1:]))
        os.chdir("/")
    assert threading.active_count() == 1


def main() -> None:
    """Answers until its input ends."""
    for name in _WARM:
        importlib.import_module(name)
    _warm_up()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(run_words(**json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
