"""Inference as in the Edge AI course: encode inputs, run, decode outputs, in buffers that can be reused."""

import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from edgewright.backends.base import RunOptions, Session
from edgewright.backends.registry import find_backend
from edgewright.core.errors import ShapeMismatch, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.ir.shape_advice import advise_shape
from edgewright.ir.types import TensorType
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model
from edgewright.model.select_backend import select_backend
from edgewright.run.runnable import open_context_source

Arrays = Array | Mapping[str, Array]


class QNNInference:
    """A model prepared on a backend, or a context binary on the backend that it was compiled for.

    A model with one input takes an array, one with several a dictionary; outputs are returned the same
    way. ``reuse_buffers``: results are written into the same arrays each time, so copy what you keep.
    Several threads may use one object.
    """

    def __init__(
        self, model_path: Model | Path | str, backend: str = "htp", *, reuse_buffers: bool = False
    ) -> None:
        self.model_path = model_path
        self.backend, self._graph, self._session = _prepare_model(model_path, backend)
        self._reuse = reuse_buffers
        self._types = self._graph.types
        # One set of buffers for each thread: they would overwrite each other's values.
        self._local = threading.local()

    @property
    def is_quantized(self) -> bool:
        """Whether an input or an output is stored as integers that stand for real numbers."""
        names = (*self._graph.inputs, *self._graph.outputs)
        return any(self._types[name].encoding is not None for name in names)

    @property
    def input_scale(self) -> float:
        """The scale of the only input; 1 where it is not quantized."""
        return self._pair(self._graph.inputs, "inputs")[0]

    @property
    def input_offset(self) -> int:
        """The integer that stands for zero in the only input."""
        return self._pair(self._graph.inputs, "inputs")[1]

    @property
    def output_scale(self) -> float:
        """The scale of the only output; 1 where it is not quantized."""
        return self._pair(self._graph.outputs, "outputs")[0]

    @property
    def output_offset(self) -> int:
        """The integer that stands for zero in the only output."""
        return self._pair(self._graph.outputs, "outputs")[1]

    def inference(self, input_data: Arrays) -> Arrays:
        """Real numbers in, real numbers out."""
        return self.postprocess_output(self._session.run(self._encode_inputs(input_data)))

    def preprocess_input(self, data: Arrays) -> Arrays:
        """Inputs as the model stores them: quantized where the model is, float32 elsewhere."""
        stored = self._encode_inputs(data)
        kept = stored if self._reuse else {name: array.copy() for name, array in stored.items()}
        return self._return_outputs(kept, isinstance(data, Mapping))

    def postprocess_output(self, output: Arrays) -> Arrays:
        """Outputs as real numbers."""
        named = self._name_arrays(output, self._graph.outputs)
        real = {name: self._decode_output(name, array) for name, array in named.items()}
        return self._return_outputs(real, len(real) > 1)

    def _encode_inputs(self, data: Arrays) -> dict[str, Array]:
        named = self._name_arrays(data, self._graph.inputs)
        return {name: self._encode_input(name, np.asarray(array)) for name, array in named.items()}

    def _encode_input(self, name: str, array: Array) -> Array:
        kind = self._types[name]
        if kind.is_static and array.shape != kind.static_shape():
            raise ShapeMismatch(
                f"input has the shape {list(array.shape)}, expected {list(kind.static_shape())}",
                Where(tensor=name),
                do=advise_shape(array.shape, kind.static_shape()),
            )
        if array.dtype == kind.dtype.numpy or kind.encoding is None:
            return array.astype(kind.dtype.numpy, copy=False)
        return self._quantize_into_buffer(name, array, kind, kind.encoding)

    def _quantize_into_buffer(self, name: str, array: Array, kind: TensorType, encoding: Encoding) -> Array:
        """The same integers as from `Encoding.encode`, without new memory."""
        real = self._take_buffer(f"{name} real", array.shape, np.float32)
        stored = self._take_buffer(f"{name} stored", array.shape, kind.dtype.numpy)
        low, high = encoding.limits(kind.dtype)
        np.divide(array, np.float32(encoding.scales[0]), out=real, casting="same_kind")
        np.rint(real, out=real)
        np.subtract(real, encoding.offsets[0], out=real)
        np.clip(real, low, high, out=real)
        np.copyto(stored, real, casting="unsafe")
        return stored

    def _decode_output(self, name: str, array: Array) -> Array:
        encoding = self._types[name].encoding
        if encoding is None or array.dtype != self._types[name].dtype.numpy:
            return array
        real = self._take_buffer(f"{name} out", array.shape, np.float32)
        np.add(array, encoding.offsets[0], out=real, casting="unsafe", dtype=np.float32)
        np.multiply(real, np.float32(encoding.scales[0]), out=real)
        return real if self._reuse else real.copy()

    def _take_buffer(self, name: str, shape: tuple[int, ...], dtype: np.dtype[np.generic] | type) -> Array:
        buffers: dict[str, Array] = self._local.__dict__
        buffer = buffers.get(name)
        if buffer is None or buffer.shape != shape:
            buffer = buffers[name] = np.empty(shape, dtype)
        return buffer

    def _name_arrays(self, data: Arrays, names: list[str]) -> Mapping[str, Array]:
        if not isinstance(data, Mapping):
            if len(names) != 1:
                listed = ", ".join(map(shown, names))
                raise UsageError(f"one array was given for {len(names)} tensors", do=f"name them: {listed}")
            return {names[0]: data}
        missing = [name for name in names if name not in data]
        if missing:
            raise UsageError(
                f"'{shown(missing[0])}' is missing", do=f"give all of {', '.join(map(shown, names))}"
            )
        return {name: data[name] for name in names}

    @staticmethod
    def _return_outputs(named: Mapping[str, Array], is_named: bool) -> Arrays:
        return dict(named) if is_named or len(named) != 1 else next(iter(named.values()))

    def _pair(self, names: list[str], word: str) -> tuple[float, int]:
        if len(names) != 1:
            raise UsageError(
                f"the model has {len(names)} {word}, expected one",
                do="call model.encodings() for all of them",
            )
        encoding = self._types[names[0]].encoding
        return (1.0, 0) if encoding is None else (encoding.scales[0], -encoding.offsets[0])


def _prepare_model(model: Model | Path | str, backend: str) -> tuple[str, Graph, Session]:
    if not isinstance(model, Model) and Path(model).suffix == ".bin":
        source = open_context_source(Path(model))
        if len(source.graphs) != 1:
            raise UsageError(
                f"'{shown(model)}' has {len(source.graphs)} graphs, expected one",
                do="use ew.load_context(path).run(inputs, graph=NAME)",
            )
        return source.backend, source.graphs[0], source.prepare(source.graphs[0], RunOptions())
    opened = open_any_model(model)
    chosen = select_backend(opened).backend if backend == "auto" else backend
    graph = opened.fixed_graph()
    return chosen, graph, find_backend(chosen).prepare(graph, RunOptions())
