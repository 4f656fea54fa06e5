"""Compiled op packages as seen by callers: registered as implementations of their ops, or as shape rules."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.abi.worker_process import WorkerProcess
from edgewright.backends.op_package.messages import CODEC
from edgewright.core.errors import BadInput, EdgewrightError, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array, DType
from edgewright.core.signals import close_at_exit
from edgewright.ir.op import Param
from edgewright.ir.types import TensorType
from edgewright.ops.package import ShapeRule, register_meaning

SECONDS = 600.0
# The provider in the place of a library of shape rules.
_SHAPES = ""
_OPEN: dict[tuple[str, str], "_Worker"] = {}
_OPEN_LOCK = threading.Lock()


def load_package(path: Path, provider: str) -> tuple[str, list[str]]:
    """Loads a compiled package and registers its ops; returns its name and theirs."""
    package, ops = _opened(path, provider).ask("open", path=str(path.resolve()), provider=provider)
    for op in ops:
        register_meaning(package, op, _Call(path, provider, op))
    return package, list(ops)


def shape_rule(path: Path, op: str, outputs: int) -> ShapeRule:
    """The shape rule of an op from a library."""
    _opened(path, _SHAPES)

    def rule(inputs: Sequence[TensorType | None], params: Mapping[str, Any]) -> Sequence[TensorType]:
        given = [None if t is None else (t.static_shape(), int(t.dtype)) for t in inputs]
        found = _opened(path, _SHAPES).ask(
            "outputs", op=op, inputs=given, params=_plain(params), count=outputs
        )
        return [TensorType(tuple(shape), _dtype(code, path, op)) for shape, code in found]

    return rule


class _Call:
    """An op of a package, called like a function."""

    def __init__(self, path: Path, provider: str, op: str) -> None:
        self._path = path
        self._provider = provider
        self._op = op

    def __call__(
        self, inputs: Sequence[Array | None], params: Mapping[str, Param], results: Sequence[TensorType]
    ) -> Sequence[Array]:
        # Fixed point is float32 here: the package computes real numbers, the backend encodes.
        real = int(DType.FLOAT_32)
        wanted = [(t.static_shape(), real if t.dtype.is_fixed_point else int(t.dtype)) for t in results]
        given = {name: _value(param) for name, param in params.items()}
        worker = _opened(self._path, self._provider)
        found: list[Array] = worker.ask("run", op=self._op, inputs=list(inputs), params=given, results=wanted)
        return found


class _Worker:
    """A process with one library."""

    def __init__(self, path: Path) -> None:
        module, where = "edgewright.backends.op_package.worker", Where(file=str(path))
        self.child = WorkerProcess(module, "the op package's process", CODEC, SECONDS, where)

    def ask(self, request: str, /, **arguments: Any) -> Any:
        value, problem = self.child.exchange(request, arguments)
        if isinstance(problem, EdgewrightError):
            raise problem
        return value


def _opened(path: Path, provider: str) -> _Worker:
    """A worker that has the library open; where it is gone, after a crash for one, another is started."""
    measure_file(path)
    key = str(path.resolve()), provider
    with _OPEN_LOCK:
        found = _OPEN.get(key)
        if found is None or not found.child.is_alive:
            if not _OPEN:
                close_at_exit(_stop_all)
            if found is not None:
                found.child.stop()
            found = _OPEN[key] = _start_worker(path, provider)
        return found


def _start_worker(path: Path, provider: str) -> _Worker:
    worker = _Worker(path)
    try:
        if provider == _SHAPES:
            worker.ask("open_converter", path=str(path.resolve()))
        else:
            worker.ask("open", path=str(path.resolve()), provider=provider)
    except BaseException:
        worker.child.stop()
        raise
    return worker


def _stop_all() -> None:
    for worker in _OPEN.values():
        worker.child.stop()
    _OPEN.clear()


def _value(param: Param) -> Any:
    return np.asarray(param.value, param.dtype.numpy) if param.is_tensor else param.value


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters without their types, as shape rules get them: lists become arrays of numbers."""
    arrays = {name: np.asarray(value) for name, value in params.items() if isinstance(value, tuple)}
    narrow = {
        name: array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
        for name, array in arrays.items()
    }
    return {**params, **narrow}


def _dtype(code: int, path: Path, op: str) -> DType:
    try:
        return DType(code)
    except ValueError:
        raise BadInput(
            f"the library returns data type {shown(hex(code))}, which QNN does not have",
            Where(file=str(path), op=op),
            do="correct its source",
        ) from None
