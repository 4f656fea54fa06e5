"""All intermediate outputs of a source model: in its own engine where that is installed, else on our CPU."""

import importlib.util
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.cpu.onnx_runtime import onnxruntime
from edgewright.core.errors import BackendCrash, UsageError, Where, shown
from edgewright.core.numbers import Array
from edgewright.core.words import did_you_mean
from edgewright.frontends._common.input_spec import InputSpec
from edgewright.frontends.conversion import ConversionRequest
from edgewright.frontends.framework import Framework
from edgewright.model.convert import convert_in_memory
from edgewright.model.model import Model
from edgewright.model.surface import Surface
from edgewright.run.engines.litert_engine import LitertLayers
from edgewright.run.engines.source_engine import as_in_source
from edgewright.run.engines.tensorflow_engine import TensorflowRun

log = logging.getLogger(__name__)

CHANNELS_FIRST = frozenset({Framework.ONNX, Framework.PYTORCH})
# Runs the converted model where the framework itself cannot be asked.
CONVERTED = "Edgewright's CPU backend"


@dataclass(frozen=True)
class LayerOutputs:
    """What every op of a model made for one set of inputs, in the order of the model, and what ran it."""

    engine: str
    tensors: Mapping[str, Array]


@dataclass(frozen=True)
class LayerRequest:
    """A source model, its inputs by name, and which of its outputs are of interest (all where none is)."""

    file: str
    framework: Framework
    feed: Mapping[str, Array]
    outputs: Sequence[str] = ()
    is_optimized: bool = True
    custom_ops: str | None = None


def run_all_layers(request: LayerRequest) -> LayerOutputs:
    """Runs the model once, keeping everything that can be kept."""
    if request.framework is Framework.ONNX:
        return _run_onnx(request)
    if request.framework is Framework.TFLITE and _is_installed("ai_edge_litert"):
        layers = LitertLayers(request.file)
        return LayerOutputs(layers.name, layers.run(request.feed))
    if request.framework is Framework.TENSORFLOW and _is_installed("tensorflow"):
        return _run_tensorflow(request)
    return _run_converted(request)


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _run_onnx(request: LayerRequest) -> LayerOutputs:
    where = Where(file=request.file)
    try:
        model = onnx.load(request.file)
    except Exception as problem:  # protobuf's errors have no common base
        raise BackendCrash(f"the model cannot be read: {shown(problem, 300)}", where) from None
    values = _list_needed_values(model.graph, _choose_outputs(model.graph, request.outputs))
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(value) for value in values)
    session = _open_session(model, request)
    feed = {
        item.name: _cast_input(item, _find_feed(request.feed, item.name)) for item in session.get_inputs()
    }
    try:
        results = session.run(values, feed)
    except Exception as problem:
        raise BackendCrash(f"ONNX Runtime cannot run the model: {shown(problem, 300)}", where) from None
    tensors = {
        name: np.asarray(array)
        for name, array in zip(values, results, strict=True)
        if isinstance(array, np.ndarray) and array.dtype.kind in "fiub"
    }
    return LayerOutputs(f"ONNX Runtime {onnxruntime.__version__}", tensors)


def _open_session(model: onnx.ModelProto, request: LayerRequest) -> Any:
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    level = onnxruntime.GraphOptimizationLevel
    settings.graph_optimization_level = (
        level.ORT_ENABLE_BASIC if request.is_optimized else level.ORT_DISABLE_ALL
    )
    try:
        if request.custom_ops is not None:
            settings.register_custom_ops_library(request.custom_ops)
        return onnxruntime.InferenceSession(
            model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
        )
    except Exception as problem:
        raise BackendCrash(
            f"ONNX Runtime cannot load the model: {shown(problem, 300)}",
            Where(file=request.file),
            do="" if request.custom_ops else "a model with custom ops needs --onnx_custom_op_lib",
        ) from None


def _choose_outputs(graph: onnx.GraphProto, named: Sequence[str]) -> list[str]:
    own = [item.name for item in graph.output]
    made = {name for node in graph.node for name in node.output if name}
    chosen = [name if name in made else name.removesuffix(":0") for name in named]
    unknown = [name for name in chosen if name not in made]
    if unknown:
        raise UsageError(
            f"--output_tensor names '{shown(unknown[0])}', which no node of the model computes",
            do=did_you_mean(unknown[0], own, f"its outputs are {', '.join(map(shown, own[:10]))}"),
        )
    return chosen or own


def _list_needed_values(graph: onnx.GraphProto, outputs: Sequence[str]) -> list[str]:
    """All that is computed on the way to some outputs, in the order of the nodes."""
    needed, values = set(outputs), list[str]()
    for node in reversed(graph.node):
        if needed.isdisjoint(node.output):
            continue
        values[:0] = [name for name in node.output if name]
        needed.update(node.input)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                needed.update(name for part in inner.node for name in part.input)
    return list(dict.fromkeys(values))


def _find_feed(feed: Mapping[str, Array], name: str) -> Array:
    for known in (name, f"{name}:0", name.removesuffix(":0")):
        if known in feed:
            return feed[known]
    raise UsageError(
        f"input '{shown(name)}' of the model was not given",
        do=did_you_mean(name, list(feed), f'add --input_tensor "{shown(name)}" DIMS FILE'),
    )


def _cast_input(item: Any, array: Array) -> Array:
    word = item.type.removeprefix("tensor(").removesuffix(")")
    dtype = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(word.upper()))
    return array.astype(dtype, copy=False)


def _run_tensorflow(request: LayerRequest) -> LayerOutputs:
    model = _convert(request)
    run = TensorflowRun(request.file, model)
    return LayerOutputs(run.name.rpartition(" in ")[2], run.run_all(request.feed))


def _run_converted(request: LayerRequest) -> LayerOutputs:
    """The converted model on our CPU backend: tensors that conversion removed are not there."""
    model = _convert(request)
    graph = model.graph_for(request.feed).copy()
    made = [value for node in graph.nodes for value in node.outputs if value]
    known = graph.sources.made_of
    graph.outputs = [value for value in dict.fromkeys(made) if value not in graph.inputs]
    surface = Surface(graph)
    feed = {name: _find_feed(request.feed, name) for name in graph.inputs}
    # Real numbers of a fixed-point input are encoded, not cast.
    typed = {
        name: array if graph.types[name].encoding else array.astype(graph.types[name].dtype.numpy)
        for name, array in feed.items()
    }
    results = CpuBackend().prepare(graph, RunOptions()).run(surface.encode_inputs(typed))
    tensors: dict[str, Array] = {}
    for value, array in surface.decode_outputs(results).items():
        source = graph.source_names.get(value, value)
        layout = graph.types[value].layout if request.framework in CHANNELS_FIRST else None
        if not known or source in known:
            tensors[source] = as_in_source(array, layout, array.ndim)
    is_torch = request.framework is Framework.PYTORCH
    why = "shows no tensors between its ops" if is_torch else "is not installed"
    log.warning(
        *("%s %s: '%s' ran converted, on the CPU backend of Edgewright", request.framework.value, why),
        Path(request.file).name,
    )
    return LayerOutputs(CONVERTED, tensors)


def _convert(request: LayerRequest) -> Model:
    shapes = {name: array.shape for name, array in request.feed.items()}
    return convert_in_memory(
        ConversionRequest(request.file, InputSpec(input_shapes=shapes, outputs=tuple(request.outputs)))
    )
