"""A task: a function by name and version, and inputs; the hash of the three names its result."""

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from edgewright.core.errors import EnvironmentProblem, UsageError, shown

if TYPE_CHECKING:
    from edgewright.tasks.job import Job

TaskFunction = Callable[["Job"], Any]


@dataclass(frozen=True)
class Task:
    """Work that gives the same answer wherever and however often it is done."""

    # Its module and its name, with a colon between them.
    function: str
    version: int
    # JSON values; files are given by the hash of their content.
    inputs: Mapping[str, Any]

    @cached_property
    def key(self) -> str:
        """The name of its result."""
        parts = {"function": self.function, "version": self.version, "inputs": self.inputs}
        return hashlib.sha256(to_canonical_json(parts)).hexdigest()

    @property
    def name(self) -> str:
        """The name of its function alone."""
        return self.function.rpartition(":")[2]


def register_task(version: int) -> Callable[[TaskFunction], TaskFunction]:
    """Makes a function one for tasks; a new version says that it gives other answers than before."""

    def register(function: TaskFunction) -> TaskFunction:
        _functions[_name_function(function)] = function, version
        return function

    return register


def make_task(function: TaskFunction, **inputs: Any) -> Task:
    """A task of a function, with these inputs."""
    name = _name_function(function)
    if name not in _functions:
        raise UsageError(f"'{name}' is not a function for tasks", do="decorate it with @register_task")
    if function.__module__ == "__main__":
        raise UsageError(
            f"'{name}' is in the program itself, which workers do not import",
            do="move it to a module of its own",
        )
    return Task(name, _functions[name][1], inputs)


def find_function(task: Task) -> TaskFunction:
    """The function of a task in this process, which must be of the version that was asked for."""
    module, _, name = task.function.partition(":")
    try:
        importlib.import_module(module)
    except ImportError as problem:
        raise EnvironmentProblem(
            f"a worker cannot import '{shown(module)}': {shown(problem)}",
            do="install the same packages on all workers",
        ) from problem
    function, version = _functions.get(task.function, (None, 0))
    if function is None or version != task.version:
        raise EnvironmentProblem(
            f"a worker has version {version} of '{shown(name)}', version {task.version} was asked for",
            do="install the same version of edgewright on all workers",
        )
    return function


def to_canonical_json(value: Any) -> bytes:
    """The one way to spell a JSON value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _name_function(function: TaskFunction) -> str:
    return f"{function.__module__}:{function.__qualname__}"


_functions: dict[str, tuple[TaskFunction, int]] = {}
