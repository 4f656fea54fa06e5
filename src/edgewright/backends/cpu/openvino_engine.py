"""OpenVINO as the engine of the CPU backend, and the choice between the two by time."""

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import onnx

from edgewright.backends.base import RunOptions, Session
from edgewright.backends.cpu.engine import OpenedModel
from edgewright.backends.cpu.engine_model import WrittenModel
from edgewright.backends.cpu.session import CpuSession
from edgewright.core.errors import EdgewrightError, UnsupportedFeature, shown
from edgewright.core.machine_use import read_thread_limit
from edgewright.core.numbers import Array
from edgewright.core.optional import require
from edgewright.ir.graph import Graph

log = logging.getLogger(__name__)

# Runs of each engine when they are compared, and the longest time for them, in seconds.
RUNS, LONGEST = 7, 2.0
# Of an output's range: an engine that is further from the other is not chosen for its speed.
MOST_DIFFERENT = 1e-3


@dataclass(frozen=True)
class OpenVinoEngine:
    """OpenVINO on this machine's processor; bf16 only where it is asked for."""

    precision: str = "f32"
    is_standard = True

    def open(self, model: WrittenModel, options: RunOptions) -> OpenedModel:
        """The compiled model; what OpenVINO does not take is refused as a whole, never computed elsewhere."""
        openvino = require("openvino", to="run models with --engine openvino")
        if model.has_fixed_point:
            raise UnsupportedFeature(
                "the model is quantized, which OpenVINO rounds in its own way",
                do="use --engine onnxruntime",
            )
        settings = {
            "INFERENCE_PRECISION_HINT": self.precision,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": options.threads or read_thread_limit(),
            "NUM_STREAMS": 1,
        }
        try:
            core = openvino.Core()
            compiled = core.compile_model(core.read_model(_write_whole_model(model)), "CPU", settings)
        except Exception as problem:
            lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
            raise UnsupportedFeature(
                f"OpenVINO does not take the model: {shown(lines[-1] if lines else 'it says nothing')}",
                do="use --engine onnxruntime",
            ) from problem
        return _CompiledModel(compiled)


class _CompiledModel:
    """A compiled model with a request for each thread that runs it."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self._requests = threading.local()

    def run(self, outputs: list[str], feed: dict[str, Any]) -> list[Array]:
        request = getattr(self._requests, "request", None)
        if request is None:
            request = self._requests.request = self._compiled.create_infer_request()
        results = request.infer(feed)
        return [np.array(results[name]) for name in outputs]

    def end_profiling(self) -> str:
        """No times of nodes: those are ONNX Runtime's."""
        with NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            file.write("[]")
        return file.name


def _write_whole_model(model: WrittenModel) -> bytes:
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    for tensor in proto.graph.initializer:
        if tensor.name in model.external:
            array = np.ascontiguousarray(model.external[tensor.name]).reshape(tuple(tensor.dims))
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    content: bytes = proto.SerializeToString()
    return content


class OpenVinoBackend:
    """The CPU backend on OpenVINO."""

    library_names = ("libQnnCpu.so", "QnnCpu.dll")
    has_exact_ends = True

    def __init__(self, precision: str = "f32") -> None:
        require("openvino", to="run models with --engine openvino")
        self._engine = OpenVinoEngine(precision)
        self.name = "cpu (OpenVINO)" if precision == "f32" else f"cpu (OpenVINO, {precision})"

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """A session for the graph; what bf16 costs in accuracy is measured and said."""
        session = CpuSession(graph, options, engine=self._engine)
        feed = _make_feed(graph) if self._engine.precision != "f32" else None
        if feed is not None:
            difference = _find_difference(CpuSession(graph, options).run(feed), session.run(feed))
            precision = self._engine.precision
            log.warning("%s: the largest difference to f32 is %.1e of the range", precision, difference)
        return session


class FasterEngineBackend:
    """The CPU backend on whichever engine is faster for a graph, measured when it is prepared."""

    name = "cpu (faster engine)"
    library_names = ("libQnnCpu.so", "QnnCpu.dll")
    has_exact_ends = True

    def prepare(self, graph: Graph, options: RunOptions) -> Session:
        """The faster session; the log has both times, and how far the results are apart."""
        plain = CpuSession(graph, options)
        feed = _make_feed(graph)
        if feed is None:
            log.info("engine auto is onnxruntime: the graph has open dimensions")
            return plain
        try:
            other = OpenVinoBackend().prepare(graph, options)
            results = [_measure(session, feed) for session in (plain, other)]
        except EdgewrightError as problem:
            log.info("engine auto is onnxruntime: %s", problem.what)
            return plain
        (first, expected), (second, computed) = results
        difference = _find_difference(expected, computed)
        is_other = second < first and difference <= MOST_DIFFERENT
        word = "openvino" if is_other else "onnxruntime"
        log.info(
            "engine auto is %s: onnxruntime %.3f ms, openvino %.3f ms, largest difference %.1e of the range",
            *(word, first * 1000, second * 1000, difference),
        )
        return other if is_other else plain


def _make_feed(graph: Graph) -> dict[str, Array] | None:
    random = np.random.default_rng(0)
    feed: dict[str, Array] = {}
    for name in graph.inputs:
        kind = graph.types[name]
        if not kind.is_static:
            return None
        # Zero and one are indices of nearly everything.
        numbers = random.random(kind.static_shape())
        feed[name] = (numbers if kind.dtype.is_float else numbers < 0.5).astype(kind.dtype.numpy)
    return feed


def _measure(session: Session, feed: Mapping[str, Array]) -> tuple[float, dict[str, Array]]:
    """The median time of a run, and its results."""
    results = session.run(feed)
    times: list[float] = []
    while len(times) < RUNS and sum(times) < LONGEST:
        start = time.perf_counter()
        session.run(feed)
        times.append(time.perf_counter() - start)
    return median(times), results


def _find_difference(expected: Mapping[str, Array], computed: Mapping[str, Array]) -> float:
    """The largest one, as a share of an output's range; infinite where other numbers are none."""
    worst = 0.0
    for name, array in expected.items():
        wide, other = (values.astype(np.float64) for values in (array, computed[name]))
        is_number = np.isfinite(wide)
        if not np.array_equal(wide[~is_number], other[~is_number], equal_nan=True):
            return np.inf
        if is_number.any():
            spread = max(np.ptp(wide[is_number]), 1e-9)
            largest = float(np.abs(wide - other)[is_number].max() / spread)
            worst = max(worst, np.inf if np.isnan(largest) else largest)
    return worst


def make_bf16() -> OpenVinoBackend:
    """With products in bfloat16, which has 8 bits: only where it is asked for."""
    return OpenVinoBackend("bf16")
