"""Runs a TensorFlow model itself in TensorFlow: what a converted model is compared with."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.core.errors import BackendCrash, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.frontends.tensorflow.load import TensorflowSource
from edgewright.frontends.tensorflow.saved_model import DEFAULT_TAG
from edgewright.model.model import Model
from edgewright.run.engines.source_engine import SourceRun, find_input

log = logging.getLogger(__name__)


class TensorflowRun(SourceRun):
    """A TensorFlow model next to the model converted from it."""

    def __init__(self, file: str, model: Model) -> None:
        tensorflow = require("tensorflow", to="compare with TensorFlow")
        super().__init__(f"{file} in TensorFlow {tensorflow.__version__}", model)
        log.warning("'%s' is executed by TensorFlow: run only models that you trust", shown(file))
        self._where = Where(file=file)
        self._source = TensorflowSource.open(file)
        self._tensors = _map_signature(self._source)
        self._graph = tensorflow.Graph()
        with self._graph.as_default():
            self._session: Any = tensorflow.compat.v1.Session(graph=self._graph)
            try:
                _load(tensorflow.compat.v1, self._session, Path(file), self._where)
            except (ValueError, RuntimeError, OSError, tensorflow.errors.OpError) as problem:
                raise self._crash("load", problem) from None
        self._errors = (ValueError, TypeError, RuntimeError, tensorflow.errors.OpError)

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the source for the inputs of the converted model."""
        names = self._source.own_outputs
        try:
            given = {
                self._tensors.get(name, name): self._cast_input(name, find_input(feed, [name]))
                for name in self._source.inputs
            }
            values = self._session.run([self._tensors.get(name, name) for name in names], given)
        except self._errors as problem:
            raise self._crash("run", problem) from None
        return dict(zip(names, (np.asarray(value) for value in values), strict=True))

    def run_all(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """What every op on the way to the outputs makes, in the order of the graph."""
        given = {
            self._tensors.get(name, name): self._cast_input(name, find_input(feed, _spell_name(name)))
            for name in self._source.inputs
        }
        last = [
            self._graph.get_tensor_by_name(self._complete_name(name)).op for name in self._source.own_outputs
        ]
        needed = _collect_ancestors(last)
        tensors = [
            tensor
            for op in self._graph.get_operations()
            if op in needed and op.type not in {"Const", "Placeholder"} and not op._control_flow_context  # noqa: SLF001
            for tensor in op.outputs
            if tensor.dtype.is_floating or tensor.dtype.is_integer
        ]
        try:
            values = self._session.run(tensors, given)
        except self._errors as problem:
            raise self._crash("run", problem) from None
        return {tensor.name: np.asarray(value) for tensor, value in zip(tensors, values, strict=True)}

    def _complete_name(self, name: str) -> str:
        full = self._tensors.get(name, name)
        return full if ":" in full else f"{full}:0"

    def _cast_input(self, name: str, array: Array) -> Array:
        turned = self._turn_to_source(name, array, self._source.inputs[name].rank)
        return turned.astype(self._source.inputs[name].dtype.numpy)

    def _crash(self, did: str, problem: Exception) -> BackendCrash:
        return BackendCrash(f"TensorFlow cannot {did} the model: {shown(problem, 300)}", self._where)


def _spell_name(name: str) -> list[str]:
    return [name, f"{name}:0", name.removesuffix(":0")]


def _collect_ancestors(last: Sequence[Any]) -> set[Any]:
    """The ops that some ops need, themselves with them."""
    ops, front = set[Any](), list(last)
    while front:
        op = front.pop()
        if op not in ops:
            ops.add(op)
            front += [tensor.op for tensor in op.inputs]
    return ops


def _map_signature(source: TensorflowSource) -> dict[str, str]:
    """The tensors behind a signature's keys."""
    signature = source.file.signature
    if signature is None:
        return {}
    return {
        key: end.tensor for tensors in (signature.inputs, signature.outputs) for key, end in tensors.items()
    }


def _load(v1: Any, session: Any, path: Path, where: Where) -> None:
    """Loads the file, whatever its format, into the session's graph."""
    if path.is_dir():
        # The loader of version 2 refuses SavedModels of older Keras.
        v1.saved_model.load(session, [DEFAULT_TAG], str(path))
    elif path.suffix == ".meta":
        v1.train.import_meta_graph(str(path)).restore(session, str(path.with_suffix("")))
    elif path.suffix == ".zip":
        raise UsageError(
            "TensorFlow does not read zipped models", where, do="unpack it and compare with the folder"
        )
    else:
        content = v1.GraphDef()
        content.ParseFromString(path.read_bytes())
        v1.import_graph_def(content, name="")
