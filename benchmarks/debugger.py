"""Whether the debugger names the layer whose encoding was spoiled.

``python -m benchmarks.debugger``: every model is quantized; the range of one result
or constant at a random place is made 26 dB and 2 dB too wide, and the debugger is asked which one it was.
"""

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

import edgewright as ew
from benchmarks.accuracy import folders_of
from benchmarks.accuracy_models import TASKS, prepared
from benchmarks.build_kinds import KINDS, Kind, make_landmarks, of_task
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.peers import Feed
from benchmarks.tables import Table, add_write_option
from edgewright.analyse.comparison_points import list_layers
from edgewright.analyse.odd_encodings import (
    EXACT_BITS,
    ODD_DB,
    OddEncoding,
    find_odd_encodings,
    list_shared_values,
)
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph

__all__ = ["SpoiledLayers", "fill_table", "list_found_kinds", "open_graphs", "spoil_random_layers"]

CALIBRATING = 8
DECIBELS = (26, 2)
TEXTS = {
    "rnet.onnx": "faces, cascade",
    "pnet.onnx": "faces, cascade",
    "embedding_model.onnx": "speech, convolutions",
    "whisper_encoder.onnx": "speech, transformer",
    "tinyphi.onnx": "language, transformer",
    "phi3_tiny_dynamo.onnx": "language, transformer",
    "vit_tiny.onnx": "photographs, transformer",
    "open-nsfw.onnx": "photographs, residual blocks",
    "basic_pitch.onnx": "notes of sound",
    "PP-OCRv6_det_small.onnx": "detection of text",
    "ch_PP-OCRv4_det_infer.onnx": "detection of text",
    "ch_PP-OCRv4_rec_infer.onnx": "letters of lines",
    "PP-OCRv6_rec_small.onnx": "letters of lines",
}
# Landmarks, detection and segmentation of the kind that phones run.
TFLITE = (
    *("face_landmark_with_attention", "iris_landmark", "palm_detection_lite", "pose_detection"),
    *("selfie_segmentation", "hand_recrop", "face_detection_full_range_sparse"),
)
COLUMNS = ("model", "kind", "results", "constants", "named first", "clean")


@dataclass(frozen=True)
class SpoiledLayers:
    """One model: encodings that were spoiled and named first, and what was called odd before that."""

    layers: int
    constants: int
    named: int
    spoiled: int
    clean: str
    missed: tuple[str, ...]


def list_found_kinds(options: argparse.Namespace) -> Iterator[tuple[Kind, Path]]:
    """The models that are there and asked for, each with its file."""
    for kind in _list_kinds():
        path = kind.find([*options.models, FETCHED, EXAMPLES])
        if path is not None and options.filter in kind.file:
            yield kind, path


def _list_kinds() -> list[Kind]:
    """All models of the other benchmarks, and some more."""
    kinds = {kind.file: kind for kind in KINDS}
    for task in TASKS:
        kinds.setdefault(task.file, of_task(task.file, TEXTS.get(task.file, "")))
    for name in TFLITE:
        kinds.setdefault(f"{name}.tflite", Kind(f"{name}.tflite", "photographs", make_landmarks))
    return list(kinds.values())


def open_graphs(kind: Kind, path: Path, feeds: Sequence[Feed], folder: Path) -> tuple[Graph, Graph]:
    """The float graph, and the one that these samples quantize."""
    file = path
    if kind.task is not None:
        file = folder / "model.onnx"
        onnx.save(prepared(kind.task, path, feeds[0]), file)
    model = ew.convert(file)
    return model.fixed_graph(), ew.quantize(model, feeds, act_quantizer="tf").fixed_graph()


def spoil_random_layers(
    source: Graph, quantized: Graph, feeds: Sequence[Feed], seed: str, places: int
) -> SpoiledLayers:
    """Spoils some encodings, one at a time, and asks for them."""
    layers = [point.value for point in list_layers(quantized) if _has_own_range(quantized, point.value)]
    constants = sorted(_list_constants(source, quantized))
    choice, named, missed = random.Random(seed), 0, []
    trials = [
        (decibels, choice.choice(values))
        for values in (layers, constants)
        if values
        for decibels in DECIBELS
        for _ in range(places)
    ]
    for decibels, value in trials:
        spoiled = _spoil(quantized, value, 10 ** (decibels / 20))
        if _is_named(spoiled, value, find_odd_encodings(source, spoiled, feeds)):
            named += 1
        else:
            missed.append(f"{quantized.source_names.get(value, value)} by {decibels} dB")
    odd = [
        entry.source for entry in find_odd_encodings(source, quantized, feeds) if entry.excess_db >= ODD_DB
    ]
    clean = f"{', '.join(odd)} odd" if odd else "nothing odd"
    return SpoiledLayers(len(layers), len(constants), named, len(trials), clean, tuple(missed))


def _is_named(graph: Graph, value: str, odd: Sequence[OddEncoding]) -> bool:
    """Whether the worst encoding is the value's: others may have it from it, and name it as well."""
    if not odd or odd[0].excess_db < ODD_DB:
        return False
    shared = {value} if value in graph.constants else set(list_shared_values(graph, value))
    return odd[0].tensor in shared


def _has_own_range(graph: Graph, value: str) -> bool:
    """Whether it has a range of its own: what passes another's on, or has no range, has none."""
    encoding, maker = graph.types[value].encoding, graph.producer(value)
    is_passed = (
        maker is not None and maker.op.keeps_encoding and graph.types[maker.inputs[0]].encoding == encoding
    )
    return encoding is not None and len(encoding.scales) == 1 and not is_passed


def _list_constants(source: Graph, quantized: Graph) -> Iterator[str]:
    """Constants that have fewer bits than exact ones, and a signal."""
    for value, array in quantized.constants.items():
        encoding, real = quantized.types[value].encoding, source.constants.get(value)
        if encoding is None or encoding.bitwidth >= EXACT_BITS or real is None:
            continue
        if real.shape == array.shape and np.any(real):
            yield value


def _spoil(graph: Graph, value: str, factor: float) -> Graph:
    """A copy in which a range, and that of all that have it from there, is wider."""
    twin, encoding = graph.copy(), graph.types[value].encoding
    assert encoding is not None
    wide = Encoding(
        tuple(scale * factor for scale in encoding.scales), encoding.offsets, encoding.axis, encoding.bitwidth
    )
    names = [value] if value in graph.constants else list_shared_values(graph, value)
    for name in names:
        twin.types[name] = replace(graph.types[name], encoding=wide)
    if value in graph.constants:
        real = encoding.decode(graph.constants[value])
        twin.constants[value] = wide.encode(real, graph.types[value].dtype)
    return twin


def _measure(kind: Kind, path: Path, options: argparse.Namespace) -> list[str]:
    feeds = list(kind.make_feeds(Material(tuple(options.data), is_calibrating=True), CALIBRATING, path))
    with tempfile.TemporaryDirectory() as folder:
        source, quantized = open_graphs(kind, path, feeds, Path(folder))
    seed = f"{kind.file} {options.seed}"
    result = spoil_random_layers(source, quantized, feeds, seed, options.places)
    figures = f"{result.named} of {result.spoiled}"
    missed = f" (not {'; '.join(result.missed)})" if result.missed else ""
    return [kind.text, str(result.layers), str(result.constants), f"{figures}{missed}", result.clean]


def fill_table(
    table: Table,
    measure: Callable[[Kind, Path, argparse.Namespace], Sequence[object]],
    options: argparse.Namespace,
) -> None:
    """Adds a row for each model as it comes; what cannot be measured is said."""
    for kind, path in list_found_kinds(options):
        try:
            table.add(kind.file, *measure(kind, path, options))
        except (FileNotFoundError, ew.EdgewrightError) as problem:
            print(f"{kind.file}: left out, {' '.join(str(problem).split())[:300]}", flush=True)
    table.finish()


def main() -> None:
    """Prints a row for each model as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--places", type=int, default=2, help="results and constants to spoil in each model")
    parser.add_argument("--seed", type=int, default=0, help="chooses other places")
    add_write_option(parser)
    options = parser.parse_args()
    fill_table(Table("debugger", COLUMNS, options), _measure, options)


if __name__ == "__main__":
    main()
