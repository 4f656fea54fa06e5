"""A worker that returns what it is given, after a time."""

import os
import sys
import time
from typing import Any

from edgewright.abi.frames import Codec
from edgewright.abi.worker_process import serve

CODEC = Codec(())


def answer(name: str, arguments: dict[str, Any]) -> Any:
    """What was asked for, with the arguments."""
    time.sleep(arguments.get("seconds", 0.0))
    if name == "end":
        os._exit(3)
    return name, arguments


if __name__ == "__main__":
    serve(int(sys.argv[1]), CODEC, answer)
