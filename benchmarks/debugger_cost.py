"""What debugging costs, in float passes over the inputs, beside the cost of the guide's own way.

``python -m benchmarks.debugger_cost``: oneshot compares all layers of one run;
cumulative adds a pass with golden inputs and a run of what follows each partition. The guide's way makes a
model for each layer: one in the middle is timed, and multiplied.
"""

import argparse
import contextlib
import io
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.accuracy import folders_of
from benchmarks.build_kinds import Kind
from benchmarks.data import Material
from benchmarks.debugger import CALIBRATING, list_found_kinds, open_graphs
from benchmarks.peers import Feed
from benchmarks.tables import Table, add_write_option
from edgewright.analyse.comparison_points import align_layout, list_comparison_points
from edgewright.analyse.isolated_layers import IsolatedLayers, as_stored, cut_suffix
from edgewright.analyse.layers import ValueRunner
from edgewright.analyse.noise import Noise
from edgewright.backends.base import RunOptions
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.htp import HtpSimBackend
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph
from edgewright.model.surface import Surface
from edgewright.tools.qnn_accuracy_debugger import main as run_debugger

__all__ = ["Cost", "measure_cost"]

NAMES = ("mobilenet_v2_imagenet.onnx", "paraphrase-MiniLM-L3-v2.onnx")
COLUMNS = (
    *("model", "layers", "oneshot, passes", "golden inputs, passes", "partitions", "suffix runs, passes"),
    *("a suffix is, of the graph", "seconds, all"),
    *("the guide's way: one layer, seconds", "all layers, minutes"),
)


@dataclass(frozen=True)
class Cost:
    """Processor time in runs of the float model over the same inputs."""

    layers: int
    oneshot: float
    golden: float
    partitions: int
    suffixes: float
    # The mean part of the graph that a suffix is.
    share: float
    seconds: float


class _Clock:
    """Processor time since it was asked last."""

    def __init__(self) -> None:
        self._last = time.process_time()

    def lap(self) -> float:
        last, self._last = self._last, time.process_time()
        return self._last - last


def measure_cost(source: Graph, quantized: Graph, feeds: Sequence[Feed], suffix_feeds: int) -> Cost:
    """Compares all layers, feeds them golden values, and runs what follows each that differs."""
    began, clock = time.perf_counter(), _Clock()
    plain = ValueRunner(source, CpuBackend(), source.outputs)
    plain(feeds[0])
    clock.lap()
    for feed in feeds:
        plain(feed)
    single = clock.lap()
    sweep = _Sweep(source, quantized, clock)
    golden = [sweep.add(feed) for feed in feeds[:suffix_feeds]]
    for feed in feeds[suffix_feeds:]:
        sweep.add(feed)
    suffixes, shares = 0.0, []
    for point in sweep.points:
        if point.value in sweep.partitions:
            suffix = cut_suffix(quantized, point.nodes[0], golden[0])
            suffixes += _run_suffix(suffix, golden, clock) * len(feeds)
            shares.append(len(suffix) / len(quantized))
    return Cost(
        *(len(sweep.points), sweep.oneshot / single, sweep.golden / single, len(sweep.partitions)),
        *(suffixes / single, float(np.mean(shares)), time.perf_counter() - began),
    )


class _Sweep:
    """One sample after the other: all layers of one run, then each of them with golden inputs."""

    def __init__(self, source: Graph, quantized: Graph, clock: _Clock) -> None:
        self.points = list_comparison_points(source, quantized)
        values = [point.value for point in self.points]
        self._clock, self.oneshot, self.golden = clock, 0.0, 0.0
        clock.lap()
        self._runs = [
            ValueRunner(source, CpuBackend(), values),
            ValueRunner(quantized, HtpSimBackend(), values),
        ]
        self._noises = {value: Noise() for value in values}
        self.oneshot += clock.lap()
        self._alone = IsolatedLayers(quantized, [*values, *quantized.inputs])
        for point in self.points:
            self._alone.add(point)
        self._run_alone = self._alone.open(HtpSimBackend().prepare)
        self.golden += clock.lap()
        # Values of layers that are not exactly as the float model has them.
        self.partitions: set[str] = set()

    def add(self, feed: Feed) -> dict[str, Array]:
        """Measures a sample; returns what the float model has for it, in the quantized one's axes."""
        self._clock.lap()
        reference, result = (run(feed) for run in self._runs)
        golden = {value: align_layout(reference[value], result[value].shape) for value in self._noises}
        for value, noise in self._noises.items():
            noise.add(golden[value], result[value])
        self.oneshot += self._clock.lap()
        known = {**golden, **feed}
        for value, made in self._run_alone(known).items():
            if value not in self.partitions and not np.array_equal(golden[value], made):
                self.partitions.add(value)
        self.golden += self._clock.lap()
        return known


def _run_suffix(suffix: Graph, golden: Sequence[Mapping[str, Array]], clock: _Clock) -> float:
    """The time of one sample."""
    if any(value not in golden[0] for value in suffix.inputs):
        return 0.0
    surface, session = Surface(suffix), HtpSimBackend().prepare(suffix, RunOptions())
    feeds = [{value: as_stored(suffix, value, sample[value]) for value in suffix.inputs} for sample in golden]
    clock.lap()
    for feed in feeds:
        surface.decode_outputs(session.run(surface.encode_inputs(feed)))
    return clock.lap() / len(feeds)


def _time_layer_model(model: Path, feed: Feed, layer: str, runtime: str, folder: Path) -> float:
    """Seconds from a layer's model that was cut out to its outputs that were compared."""
    words = ["-f", "onnx", "-m", str(model), "-r", runtime, "--default_verifier", "sqnr"]
    files: list[str] = []
    for name, array in feed.items():
        file = folder / f"{len(files)}.raw"
        array.astype(np.float32).tofile(file)
        files.append(str(file))
        words += ["-i", name, ",".join(map(str, array.shape)), str(file)]
    (folder / "list.txt").write_text(" ".join(files) + "\n")
    words += ["-l", str(folder / "list.txt"), "-w", str(folder / "work"), "--offline_prepare"]
    words += ["--debugging_algorithm", "layerwise", "--model_per_layer"]
    with contextlib.redirect_stdout(io.StringIO()) as text:
        code = run_debugger([*words, "--start_layer", layer, "--end_layer", layer])
    if code or "err_" in text.getvalue():
        raise RuntimeError(f"the guide's way fails on {layer}: {text.getvalue()[-2000:]}")
    (first,) = (folder / "work").glob("layerwise_snooping/latest/inference_engine/*/extracted_model.onnx")
    times = [file.stat().st_mtime for file in first.parent.rglob("*") if file.is_file()]
    return max(times) - min(times)


def _measure(kind: Kind, path: Path, options: argparse.Namespace) -> tuple[object, ...]:
    feeds = list(kind.make_feeds(Material(tuple(options.data), is_calibrating=True), CALIBRATING, path))
    inputs = list(kind.make_feeds(Material(tuple(options.data)), options.inputs, path))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, quantized = open_graphs(kind, path, feeds, folder)
        cost = measure_cost(source, quantized, inputs, options.suffix_inputs)
        ours = (
            *(cost.layers, f"{cost.oneshot:.1f}", f"{cost.golden:.1f}", cost.partitions),
            *(f"{cost.suffixes:.1f}", f"{cost.share:.2f}", f"{cost.seconds:.0f}"),
        )
        if not options.runtime:
            return *ours, "", ""
        points = list_comparison_points(source, quantized)
        middle = points[len(points) // 2].value
        layer = quantized.source_names.get(middle, middle)
        one = _time_layer_model(folder / "model.onnx", inputs[0], layer, options.runtime, folder)
        return *ours, f"{one:.1f}", f"{one * cost.layers / 60:.0f}"


def main() -> None:
    """Prints a row for each model as it comes."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--inputs", type=int, default=50, help="inputs to debug with")
    parser.add_argument(
        "--suffix-inputs", type=int, default=50, help="so many of them run from each layer on"
    )
    parser.add_argument(
        "--runtime", default="htp-native", help="what the guide's way runs on; '' leaves it out"
    )
    add_write_option(parser)
    options = parser.parse_args()
    table = Table("debugger-cost", COLUMNS, options)
    for kind, path in list_found_kinds(options):
        if kind.file in NAMES:
            table.add(kind.file, *_measure(kind, path, options))
    table.finish()


if __name__ == "__main__":
    main()
