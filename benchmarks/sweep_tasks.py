"""Functions of the sweep's benchmark, in a module that workers import."""

import time
from typing import Any

import numpy as np

from edgewright.tasks.job import Job
from edgewright.tasks.task import register_task

__all__ = ["compute_for_a_while", "do_nothing", "wait_for_a_while"]


@register_task(version=1)
def do_nothing(job: Job) -> int:
    return int(job.inputs["number"])


@register_task(version=1)
def compute_for_a_while(job: Job) -> dict[str, Any]:
    """The same work each time, on one thread: products of small matrices."""
    generator = np.random.default_rng(job.inputs["number"])
    matrix = generator.standard_normal((192, 192)).astype(np.float32)
    start = time.process_time()
    product = matrix
    for _ in range(job.inputs["rounds"]):
        product = np.tanh(product @ matrix / 14)
    return {"sum": float(product.sum()), "processor_seconds": time.process_time() - start}


@register_task(version=1)
def wait_for_a_while(job: Job) -> dict[str, Any]:
    """Work that is done elsewhere, so to speak: it takes its time whatever else this machine does."""
    time.sleep(job.inputs["seconds"])
    return {"number": job.inputs["number"], "processor_seconds": job.inputs["seconds"]}
