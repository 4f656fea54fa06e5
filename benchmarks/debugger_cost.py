"""What debugging costs, in float passes over the inputs, beside the cost of the guide's own way.

``python -m benchmarks.debugger_cost --models DIR --data DIR``: oneshot compares all layers of one run;
cumulative adds a pass with golden inputs and a run of what follows each partition. The guide's way makes a
model for each layer: the time of one of them is the difference of a run over two layers and one over one.
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
from benchmarks.builds import Kind
from benchmarks.data import Material
from benchmarks.debugger import CALIBRATING, list_kinds, open_graphs
from benchmarks.models import EXAMPLES
from benchmarks.peers import Feed
from edgewright.analyse.comparison_points import ComparisonPoint, align_layout, list_comparison_points
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
HEAD = (
    "| model | layers | oneshot, passes | golden inputs, passes | partitions | suffix runs, passes | mean "
    "part of the graph | seconds, all | the guide's way: one layer, seconds | all layers, minutes |\n|---|"
    + "---:|"
    * 9
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
    points = list_comparison_points(source, quantized)
    golden = _compare_oneshot(source, quantized, points, feeds)
    oneshot = clock.lap()
    partitions = _run_golden(quantized, points, golden)
    golden_pass = clock.lap()
    part, shares = golden[:suffix_feeds], []
    for point in partitions:
        suffix = cut_suffix(quantized, point.nodes[0], golden[0])
        _run_suffix(suffix, part)
        shares.append(len(suffix) / len(quantized))
    suffixes = clock.lap() * len(feeds) / len(part)
    return Cost(
        *(len(points), oneshot / single, golden_pass / single, len(partitions)),
        *(suffixes / single, float(np.mean(shares)), time.perf_counter() - began),
    )


def _compare_oneshot(
    source: Graph, quantized: Graph, points: Sequence[ComparisonPoint], feeds: Sequence[Feed]
) -> list[dict[str, Array]]:
    """The distance of each layer; returns the values of the float model, in the quantized one's axes."""
    values = [point.value for point in points]
    runs = [ValueRunner(source, CpuBackend(), values), ValueRunner(quantized, HtpSimBackend(), values)]
    noises, golden = {value: Noise() for value in values}, []
    for feed in feeds:
        reference, result = (run(feed) for run in runs)
        shaped = {value: align_layout(reference[value], result[value].shape) for value in values}
        for value, noise in noises.items():
            noise.add(shaped[value], result[value])
        golden.append({**shaped, **feed})
    return golden


def _run_golden(
    quantized: Graph, points: Sequence[ComparisonPoint], golden: Sequence[Mapping[str, Array]]
) -> list[ComparisonPoint]:
    """Each layer with golden inputs, all in one graph; returns those that differ: the partitions."""
    layers = IsolatedLayers(quantized, list(golden[0]))
    alone = [point for point in points if layers.add(point)]
    results = layers.run(HtpSimBackend().prepare, golden)
    return [
        point
        for point in alone
        if any(
            not np.array_equal(sample[point.value].reshape(-1), result[point.value].reshape(-1))
            for sample, result in zip(golden, results, strict=True)
        )
    ]


def _run_suffix(suffix: Graph, golden: Sequence[Mapping[str, Array]]) -> None:
    if any(value not in golden[0] for value in suffix.inputs):
        return
    surface, session = Surface(suffix), HtpSimBackend().prepare(suffix, RunOptions())
    for sample in golden:
        feed = {value: as_stored(suffix, value, sample[value]) for value in suffix.inputs}
        surface.decode_outputs(session.run(surface.encode_inputs(feed)))


def _time_layer_models(model: Path, feed: Feed, layers: Sequence[str], runtime: str, folder: Path) -> float:
    """Seconds of the guide's way for these layers and what is done once."""
    words = ["-f", "onnx", "-m", str(model), "-r", runtime, "--default_verifier", "sqnr"]
    files = []
    for name, array in feed.items():
        file = folder / f"{len(files)}.raw"
        array.tofile(file)
        files.append(str(file))
        words += ["-i", name, ",".join(map(str, array.shape)), str(file), str(array.dtype)]
    (folder / "list.txt").write_text(" ".join(files) + "\n")
    words += ["-l", str(folder / "list.txt"), "-w", str(folder / "work"), "--offline_prepare"]
    words += ["--debugging_algorithm", "layerwise", "--model_per_layer"]
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()) as text:
        code = run_debugger([*words, "--start_layer", layers[0], "--end_layer", layers[-1]])
    if code or "err_" in text.getvalue():
        raise RuntimeError(f"the guide's way fails on {layers}: {text.getvalue()[-2000:]}")
    return time.perf_counter() - began


def _measure(kind: Kind, path: Path, options: argparse.Namespace) -> str:
    feeds = list(kind.make_feeds(Material(tuple(options.data), is_calibrating=True), CALIBRATING, path))
    inputs = list(kind.make_feeds(Material(tuple(options.data)), options.inputs, path))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, quantized = open_graphs(kind, path, feeds, folder)
        cost = measure_cost(source, quantized, inputs, options.suffix_inputs)
        row = f"{cost.layers} | {cost.oneshot:.1f} | {cost.golden:.1f} | {cost.partitions} | "
        row += f"{cost.suffixes:.1f} | {cost.share:.2f} | {cost.seconds:.0f}"
        if not options.runtime:
            return f"{row} | | "
        points = list_comparison_points(source, quantized)
        middle = len(points) // 2
        names = [quantized.source_names.get(p.value, p.value) for p in points[middle : middle + 2]]
        seconds = [
            _time_layer_models(folder / "model.onnx", inputs[0], chosen, options.runtime, folder)
            for chosen in (names[:1], names)
        ]
        one = seconds[1] - seconds[0]
        return f"{row} | {one:.1f} | {one * cost.layers / 60:.0f}"


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
    options = parser.parse_args()
    print(HEAD, flush=True)
    for kind in list_kinds():
        path = kind.find([*options.models, EXAMPLES])
        if kind.file in NAMES and path is not None and options.filter in kind.file:
            print(f"| {kind.file} | {_measure(kind, path, options)} |", flush=True)


if __name__ == "__main__":
    main()
