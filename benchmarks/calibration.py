"""Calibration: time and memory of ours, of a bare float pass with minima and maxima, and of onnxruntime's.

``python -m benchmarks.calibration``: one core for all, rounds that take turns, medians; peaks of
memory each in a process of its own.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import edgewright as ew
from benchmarks.models import inputs_for, model_files
from benchmarks.tables import Table, add_write_option
from edgewright.backends.executor import CpuExecutor
from edgewright.quantize.groups import Groups
from edgewright.quantize.ranges import observe_activations
from edgewright.quantize.request import QuantizationRequest
from edgewright.quantize.schemes import Scheme

__all__ = ["measure_all"]

Feed = dict[str, Any]
# What was measured, the figure, its limit.
Cells = tuple[str, str, str]
SAMPLES, FEW, MANY, ROUNDS = 100, 30, 500, 3
NAMES = ("mobilenet_v2_imagenet", "light_resnet50")
HISTOGRAMS = ("percentile", "mse", "sqnr", "entropy")
FLOOR_LIMIT, MINMAX_LIMIT, HISTOGRAM_LIMIT, MEMORY_LIMIT_MB, GROWTH_LIMIT_MB = 1.2, 1.5, 3.0, 300, 10


def measure_all(paths: Iterable[Path], options: argparse.Namespace) -> None:
    """Prints rows for each of the models that are meant for this."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    table = Table("calibration", ("model", "what", "measured", "asked for"), options)
    for path in {path.stem: path for path in paths if path.stem in NAMES}.values():
        feeds = _feeds(path, SAMPLES)
        rows = [
            *_measure_extremes(path, feeds),
            *_measure_histograms(path, feeds[:FEW]),
            *_measure_memory(path),
        ]
        for cells in rows:
            table.add(path.stem, *cells)
    os.sched_setaffinity(0, cores)
    table.finish()


def _measure_extremes(path: Path, feeds: list[Feed]) -> Iterator[Cells]:
    times = _interleaved(path, feeds, ("plain", "floor", "ours", "onnxruntime"))
    spelled = ", ".join(f"{seconds:.2f}" for seconds in times.values())
    yield f"s of plain inference, the floor, ours, onnxruntime MinMax, {SAMPLES} samples", spelled, ""
    ours, floor = times["ours"], times["floor"]
    yield "ours over the floor", *_judge(ours / floor, FLOOR_LIMIT, is_most=True)
    yield "onnxruntime MinMax over ours", *_judge(times["onnxruntime"] / ours, MINMAX_LIMIT, is_most=False)


def _measure_histograms(path: Path, feeds: list[Feed]) -> Iterator[Cells]:
    times = _interleaved(path, feeds, (*HISTOGRAMS, "onnxruntime-percentile"))
    for name in HISTOGRAMS:
        ratio = times["onnxruntime-percentile"] / times[name]
        what = f"onnxruntime Percentile over our {name}, {FEW} samples"
        yield what, *_judge(ratio, HISTOGRAM_LIMIT, is_most=False)


def _measure_memory(path: Path) -> Iterator[Cells]:
    peaks = {(way, n): _peak(path, way, n) for way in ("plain", "ours", "mse") for n in (SAMPLES, MANY)}
    peers = {way: _peak(path, way, FEW) for way in ("onnxruntime", "onnxruntime-percentile")}
    yield f"peak MB of plain inference, {MANY} samples", f"{peaks['plain', MANY]:.0f}", ""
    for way, name in (("ours", "min-max"), ("mse", "mse")):
        extra = peaks[way, MANY] - peaks["plain", MANY]
        yield (
            f"MB of {name} over plain inference, {MANY} samples",
            *_judge(extra, MEMORY_LIMIT_MB, is_most=True),
        )
        growth = peaks[way, MANY] - peaks[way, SAMPLES]
        what = f"MB of {name} with {MANY} over {SAMPLES} samples"
        yield what, *_judge(growth, GROWTH_LIMIT_MB, is_most=True)
    spelled = ", ".join(f"{megabytes:.0f}" for megabytes in peers.values())
    yield f"peak MB of onnxruntime MinMax, Percentile, {FEW} samples", spelled, ""


def _judge(figure: float, limit: float, *, is_most: bool) -> tuple[str, str]:
    """The cells of a figure and of its limit."""
    is_met = figure <= limit if is_most else figure >= limit
    return (
        f"{figure:.2f}",
        f"{'at most' if is_most else 'at least'} {limit}{'' if is_met else ' **not met**'}",
    )


def _feeds(path: Path, count: int) -> list[Feed]:
    session = _session(str(path))
    return [inputs_for(session, seed) for seed in range(count)]


def _session(model: str | bytes, *, is_plain: bool = False) -> onnxruntime.InferenceSession:
    request = onnxruntime.SessionOptions()
    if is_plain:
        request.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    request.intra_op_num_threads = 1
    request.log_severity_level = 4
    return onnxruntime.InferenceSession(model, request, providers=["CPUExecutionProvider"])


def _plain(path: Path, feeds: list[Feed]) -> None:
    session = _session(str(path))
    for feed in feeds:
        session.run(None, feed)


def _floor(path: Path, feeds: list[Feed]) -> None:
    """One float pass in which the model itself finds the extremes of every activation."""
    model = onnx.load(path)
    inferred = onnx.shape_inference.infer_shapes(model)
    kinds = {info.name: info.type.tensor_type.elem_type for info in inferred.graph.value_info}
    names = [o for node in model.graph.node for o in node.output if kinds.get(o) == onnx.TensorProto.FLOAT]
    del model.graph.output[:]
    for name in names:
        for kind in ("ReduceMin", "ReduceMax"):
            result = f"{name}/{kind}"
            model.graph.node.append(helper.make_node(kind, [name], [result], keepdims=0))
            model.graph.output.append(helper.make_tensor_value_info(result, onnx.TensorProto.FLOAT, []))
    session = _session(model.SerializeToString())
    found = [session.run(None, feed) for feed in feeds]
    np.asarray(found, np.float32).reshape(len(feeds), -1)


def _ours(path: Path, feeds: list[Feed], scheme: str = "min-max") -> None:
    """What the quantizer does with samples, up to the ranges; the conversion of the model is not counted."""
    graph = _converted(path)
    request = QuantizationRequest(act_quantizer=scheme)
    groups = Groups(graph, request, {})
    seen = observe_activations(graph, groups, request, feeds, CpuExecutor(threads=1))
    _ranges(seen, request.act_scheme, request)


def _ranges(seen: Any, scheme: Scheme, request: QuantizationRequest) -> None:
    from edgewright.quantize.observers import Histogram

    if scheme.needs_histogram:
        scheme.choose_ranges(Histogram.stack(list(seen.values())), request.make_act_grid(8))


CONVERTED: dict[Path, Any] = {}


def _converted(path: Path) -> Any:
    if path not in CONVERTED:
        CONVERTED[path] = ew.convert(path).graph
    return CONVERTED[path]


def _onnxruntime(path: Path, feeds: list[Feed], method: str = "MinMax") -> None:
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, create_calibrator

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._feeds: Iterator[Feed] = iter(feeds)

        def get_next(self) -> Feed | None:
            return next(self._feeds, None)

    with tempfile.TemporaryDirectory() as folder:
        calibrator = create_calibrator(
            str(path),
            augmented_model_path=str(Path(folder) / "augmented.onnx"),
            calibrate_method=CalibrationMethod[method],
        )
        # The session that the tool makes for itself, but for the number of threads.
        calibrator.infer_session = _session(calibrator.augmented_model_path, is_plain=True)
        with redirect_stdout(StringIO()):
            calibrator.collect_data(Reader())
            calibrator.compute_data()


WAYS: dict[str, Callable[[Path, list[Feed]], None]] = {
    "plain": _plain,
    "floor": _floor,
    "ours": _ours,
    "onnxruntime": _onnxruntime,
    "onnxruntime-percentile": lambda path, feeds: _onnxruntime(path, feeds, "Percentile"),
    **{name: (lambda path, feeds, name=name: _ours(path, feeds, name)) for name in HISTOGRAMS},
}


def _interleaved(path: Path, feeds: list[Feed], ways: tuple[str, ...]) -> dict[str, float]:
    readings: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way in ways:
            gc.collect()
            began = time.process_time()
            WAYS[way](path, feeds)
            readings[way].append(time.process_time() - began)
    return {name: median(times) for name, times in readings.items()}


def _peak(path: Path, way: str, count: int) -> float:
    """Peak memory in MB of a process that does just this."""
    command = [sys.executable, "-m", "benchmarks.calibration", "--child", way, str(path), str(count)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(run.stdout.splitlines()[-1]))


class _Streamed:
    """Feeds that are made when they are asked for: samples themselves take no memory."""

    def __init__(self, path: Path, count: int) -> None:
        self._session, self._count = _session(str(path)), count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Feed]:
        for seed in range(self._count):
            yield inputs_for(self._session, seed)


def _child(way: str, path: Path, count: int) -> None:
    WAYS[way](path, _Streamed(path, count))  # type: ignore[arg-type]
    status = Path("/proc/self/status").read_text()
    print(json.dumps(int(status.split("VmHWM:")[1].split()[0]) / 1024))


def main() -> None:
    """All models, or a child's part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of ONNX files")
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    add_write_option(parser)
    options = parser.parse_args()
    if options.child:
        way, path, count = options.child
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        _child(way, Path(path), int(count))
        return
    measure_all([path for path in model_files(options.models) if options.filter in path.stem], options)


if __name__ == "__main__":
    main()
