"""What debugging costs, and whether it names the layer that was spoiled.

``python -m benchmarks.debugger --models DIR --data DIR``: every model is quantized; the encoding of one layer
at a random place is made 26 dB and 2 dB too wide, and the debugger is asked which one it was. The cost of a
oneshot comparison of all layers is given in passes of the float model over the same inputs.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx

import edgewright as ew
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.data import Material
from benchmarks.models import EXAMPLES
from benchmarks.peers import Feed
from edgewright.analyse.comparison_points import list_comparison_points, list_layers
from edgewright.analyse.layers import ValueRunner
from edgewright.analyse.noise import Noise
from edgewright.analyse.odd_encodings import find_odd_encodings, list_shared_values
from edgewright.backends.cpu import CpuBackend
from edgewright.backends.htp import HtpSimBackend
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph

__all__ = ["Trial", "measure"]

CALIBRATING = 8
DECIBELS = (26, 2)


@dataclass(frozen=True)
class Trial:
    """One model: layers that were spoiled and named, layers in all, and passes of a oneshot comparison."""

    model: str
    named: int
    spoiled: int
    layers: int
    passes: float
    inputs: int

    def __str__(self) -> str:
        hits = f"{self.named} of {self.spoiled}"
        return f"| {self.model} | {self.layers} | {hits} | {self.passes:.1f} over {self.inputs} inputs |"


def measure(task: Task, path: Path, folders: tuple[Path, ...], places: int, inputs: int) -> Trial:
    """Spoils some layers of a model, one at a time, and times a comparison of all of them."""
    feeds = list(task.feeds(Material(folders, is_calibrating=True), CALIBRATING, task, path))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        onnx.save(prepared(task, path, feeds[0]), file)
        source = ew.convert(file).fixed_graph()
        quantized = ew.quantize(file, feeds, act_quantizer="tf").fixed_graph()
        values = [p.value for p in list_layers(quantized) if _is_spoilable(quantized, p.value)]
        choice = random.Random(task.name)
        named = spoiled = 0
        for decibels in DECIBELS:
            for value in choice.sample(values, min(places, len(values))):
                odd = find_odd_encodings(source, _spoil(quantized, value, 10 ** (decibels / 20)), feeds)
                named += bool(odd) and odd[0].layer == quantized.source_names.get(value, value)
                spoiled += 1
        given = list(task.feeds(Material(folders), inputs, task, path))
        passes = _count_passes(source, quantized, given)
    return Trial(task.name, named, spoiled, len(values), passes, len(given))


def _is_spoilable(graph: Graph, value: str) -> bool:
    """Whether it has a range of its own: what passes another's on, or has no range, has none."""
    encoding, maker = graph.types[value].encoding, graph.producer(value)
    is_passed = (
        maker is not None and maker.op.keeps_encoding and graph.types[maker.inputs[0]].encoding == encoding
    )
    return encoding is not None and len(encoding.scales) == 1 and not is_passed


def _spoil(graph: Graph, value: str, factor: float) -> Graph:
    twin, encoding = graph.copy(), graph.types[value].encoding
    assert encoding is not None
    scales = tuple(scale * factor for scale in encoding.scales)
    wide = Encoding(scales, encoding.offsets, encoding.axis, encoding.bitwidth)
    for name in list_shared_values(graph, value):
        twin.types[name] = replace(graph.types[name], encoding=wide)
    return twin


def _count_passes(source: Graph, quantized: Graph, feeds: Sequence[Feed]) -> float:
    """The time of a comparison of all layers, in runs of the float model over the same inputs."""
    plain = ValueRunner(source, CpuBackend(), source.outputs)
    plain(feeds[0])
    began = time.perf_counter()
    for feed in feeds:
        plain(feed)
    single = time.perf_counter() - began
    began = time.perf_counter()
    values = [point.value for point in list_comparison_points(source, quantized)]
    runs = [ValueRunner(source, CpuBackend(), values), ValueRunner(quantized, HtpSimBackend(), values)]
    noises = {value: Noise() for value in values}
    for feed in feeds:
        reference, result = (run(feed) for run in runs)
        for value, noise in noises.items():
            noise.add(reference[value], result[value])
    return (time.perf_counter() - began) / single


def main() -> None:
    """Prints a row for each model as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of ONNX files")
    parser.add_argument("--data", action="append", type=Path, default=[], help="a folder of real data")
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    parser.add_argument("--places", type=int, default=1, help="layers to spoil in each model")
    parser.add_argument("--inputs", type=int, default=50, help="inputs of the oneshot comparison")
    options = parser.parse_args()
    print("| model | layers | spoiled layer named first | oneshot, in float passes |")
    print("|---|---|---|---|")
    for task in TASKS:
        path = task.find([*options.models, EXAMPLES])
        if path is None or options.filter not in task.name:
            continue
        try:
            trial = measure(task, path, tuple(options.data), options.places, options.inputs)
        except (FileNotFoundError, ew.EdgewrightError) as problem:
            print(f"| {task.name} | {' '.join(str(problem).split())[:300]} |", flush=True)
            continue
        print(trial, flush=True)


if __name__ == "__main__":
    main()
