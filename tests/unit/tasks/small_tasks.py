"""Functions that workers of the tests import: each says in a file that it was called."""

import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

from edgewright.core.errors import BadInput
from edgewright.tasks.job import Job
from edgewright.tasks.task import register_task


def note_call(job: Job) -> None:
    if "log" in job.inputs:
        with Path(job.inputs["log"]).open("a", encoding="utf-8") as file:
            file.write(f"{job.inputs['number']}\n")


@register_task(version=1)
def square_number(job: Job) -> dict[str, int]:
    note_call(job)
    time.sleep(job.inputs.get("seconds", 0))
    return {"square": job.inputs["number"] ** 2}


@register_task(version=1)
def fail_somehow(job: Job) -> object:
    """Each number its own way."""
    note_call(job)
    match job.inputs["number"]:
        case 1:
            raise BadInput("the model is damaged", do="export it again")
        case 2:
            os.kill(os.getpid(), signal.SIGKILL)
        case 3:
            raise RuntimeError("a defect")
    return job.inputs["number"]


@register_task(version=1)
def count_bytes(job: Job) -> dict[str, object]:
    folder = job.fetch_files(job.inputs["files"])
    sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.name in job.inputs["names"]}
    return {"folder": str(folder), "sizes": sizes}


@register_task(version=1)
def make_things(job: Job) -> dict[str, str]:
    made = Path(job.inputs["folder"])
    (made / "made.txt").write_text("made", encoding="utf-8")
    return {
        "files": job.keep_files(made, ["made.txt"]),
        "arrays": job.keep_arrays({"x": np.arange(job.inputs["number"])}),
    }


@register_task(version=1)
def slow_down_once(job: Job) -> int:
    """Takes long in the process that meets the stumbling block first, and no time afterwards."""
    note_call(job)
    block = Path(job.inputs["block"])
    if block.exists():
        block.rename(block.with_suffix(".met"))
        tempfile.mkdtemp()
        time.sleep(3600)
    return int(job.inputs["number"])


@register_task(version=1)
def tell_process(job: Job) -> dict[str, object]:
    """Which process computes, and what it has of a variable."""
    return {
        "number": job.inputs["number"],
        "pid": os.getpid(),
        "trim": os.environ.get("MALLOC_TRIM_THRESHOLD_"),
    }
