"""A worker's side: finds the outcome of a task in the store, or computes it and puts it there."""

import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgewright.core.cache import find_cache
from edgewright.core.errors import EdgewrightError
from edgewright.core.machine_use import measure_processor_time
from edgewright.tasks.contents import Contents
from edgewright.tasks.job import Job
from edgewright.tasks.outcome import Outcome, TaskError, read_outcome
from edgewright.tasks.store import Store, locate_result, open_store
from edgewright.tasks.task import Task, find_function

log = logging.getLogger(__name__)


def write_message(task: Task, store: str, cache: str) -> str:
    """A task as a line of text: what goes to a worker."""
    fields = {"function": task.function, "version": task.version, "inputs": task.inputs}
    return json.dumps({"task": fields, "store": store, "cache": cache}, allow_nan=False)


def perform_message(message: str) -> str:
    """The outcome of a task as a line of text."""
    fields: Mapping[str, Any] = json.loads(message)
    task = Task(**fields["task"])
    cache = Path(fields["cache"]) if fields["cache"] else find_cache("contents")
    return perform_task(task, Contents(open_store(fields["store"]), cache)).to_json().decode()


def perform_task(task: Task, contents: Contents) -> Outcome:
    """The outcome of a task; one that is known is not computed again."""
    try:
        contents.store.check()
        known = find_outcome(task, contents.store)
        return known or _compute(task, contents)
    except EdgewrightError as problem:  # the store cannot be used
        return Outcome(task.key, error=TaskError.of(problem))


def find_outcome(task: Task, store: Store) -> Outcome | None:
    """What is known of a task."""
    content = store.read(locate_result(task.key))
    return None if content is None else read_outcome(content, task.key, is_reused=True)


def _compute(task: Task, contents: Contents) -> Outcome:
    start, processor = time.monotonic(), measure_processor_time()
    value, error = _call(task, contents)
    seconds = time.monotonic() - start
    outcome = Outcome(task.key, value, error, seconds, measure_processor_time() - processor)
    if outcome.is_final:
        contents.store.write(locate_result(task.key), outcome.to_json())
    return outcome


def _call(task: Task, contents: Contents) -> tuple[Any, TaskError | None]:
    try:
        return find_function(task)(Job(task.inputs, contents)), None
    except EdgewrightError as problem:
        return None, TaskError.of(problem)
    except Exception as problem:  # a defect of ours, or a package's: one row, and the others go on
        log.exception("task %s failed", task.name)
        return None, TaskError.of(problem)
