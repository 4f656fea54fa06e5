"""The process that computes tasks: reads a line for each, and writes one; ends with whoever started it."""

import os
import queue
import sys
import threading
from typing import IO

from edgewright.core.signals import leave_to_caller
from edgewright.tasks.perform import perform_message

# Seconds without work after which it ends, and the exit code of that.
IDLE, IDLE_CODE = 300.0, 75


def main() -> int:
    """Answers until there is nothing to do for a while."""
    leave_to_caller()
    # What tasks and libraries print goes where errors go: only answers go to the caller.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    messages: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_messages, args=(sys.stdin, messages), daemon=True).start()
    while True:
        try:
            message = messages.get(timeout=IDLE)
        except queue.Empty:
            return IDLE_CODE
        answers.write(perform_message(message) + "\n")
        answers.flush()


def _read_messages(lines: IO[str], messages: "queue.SimpleQueue[str]") -> None:
    for line in lines:
        messages.put(line)
    # The caller is gone: what is computed has nobody to go to.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
