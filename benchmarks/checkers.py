"""Whether spoiled encodings are found, and what a repair brings back.

``python -m benchmarks.checkers``: every model is quantized to 8 bits; encodings of
some activations and weights at random places are made too wide, too narrow or moved; the checker is asked for
them. Precision: the share of named tensors whose encoding was spoiled; recall: the share of spoiled encodings
(of one tensor, or of several that share it) that are named. The last columns are the worst output against the
float model with the encodings before they were spoiled, with the spoiled and with the repaired ones.
"""

import argparse
import random
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

import edgewright as ew
from benchmarks.accuracy_models import TASKS, Task, prepared
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.tables import Table, add_write_option
from edgewright.analyse.comparison_points import list_layers
from edgewright.analyse.encoding_check import EncodingCheck, check_encodings, measure_outputs
from edgewright.analyse.odd_encodings import list_shared_values
from edgewright.core.numbers import Array
from edgewright.ir.encodings import Encoding
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.quantize.roles import find_roles

__all__ = ["Trial", "measure"]

CALIBRATING = 8
# Of each model: so many activations and weights, at most a third of them.
ACTIVATIONS, WEIGHTS = 4, 2
# Times as wide, times as narrow, and where zero is moved to.
SPOILS = ("wide", "narrow", "moved")


@dataclass(frozen=True)
class Trial:
    """One model: encodings that were spoiled and met, tensors that were named and rightly so, decibels."""

    model: str
    spoiled: int
    met: int
    named: int
    right: int
    clean_db: float
    spoiled_db: float
    repaired_db: float

    def list_cells(self) -> list[str]:
        """The row of the table."""
        precision = self.right / self.named if self.named else 1.0
        recall = self.met / self.spoiled if self.spoiled else 1.0
        decibels = (self.clean_db, self.spoiled_db, self.repaired_db)
        shares = [f"{precision:.2f}", f"{recall:.2f}"]
        return [self.model, str(self.spoiled), *shares, *(f"{each:.1f}" for each in decibels)]


def measure(task: Task, path: Path, folders: tuple[Path, ...]) -> Trial:
    """Spoils some encodings of a model at once, and looks for them."""
    feeds = list(task.feeds(Material(folders, is_calibrating=True), CALIBRATING, task, path))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        onnx.save(prepared(task, path, feeds[0]), file)
        source = ew.convert(file)
        clean = ew.quantize(source, feeds, act_quantizer="tf")
    spoiled, groups = spoil_model(clean.fixed_graph(), random.Random(task.name))
    check, repaired = check_encodings(source, Model.of(spoiled), feeds)
    named = {entry.tensor for entry in check.odd} | list_rule_breakers(spoiled, check)
    met = sum(not named.isdisjoint(group) for group in groups)
    return Trial(
        *(task.name, len(groups), met, len(named), len(named & set().union(*groups))),
        measure_outputs(source, clean, feeds),
        check.output_db,
        measure_outputs(source, repaired, feeds),
    )


def list_rule_breakers(graph: Graph, check: EncodingCheck) -> set[str]:
    """Tensors that the check names because they break a rule of the HTP, whatever that costs."""
    names = {finding.where for finding in check.rules}
    return {value for value in graph.types if graph.source_names.get(value, value) in names}


def spoil_model(graph: Graph, choice: random.Random) -> tuple[Graph, list[set[str]]]:
    """A copy with spoiled encodings, and the tensors that have each of them."""
    twin, groups = graph.copy(), list[set[str]]()
    values = [point.value for point in list_layers(graph) if _is_spoilable(graph, point.value)]
    for value in choice.sample(values, min(ACTIVATIONS, -(-len(values) // 3))):
        # What shares an encoding with one that was spoiled before is spoiled already.
        if twin.types[value] == graph.types[value]:
            _spoil_range(twin, graph, value, choice)
            groups.append(set(list_shared_values(graph, value)))
    weights = [
        node.inputs[place]
        for node in graph.nodes
        for place in find_roles(graph, node).weights
        if graph.types[node.inputs[place]].encoding is not None
    ]
    for value in choice.sample(weights, min(WEIGHTS, -(-len(weights) // 3))):
        _spoil_weights(twin, value)
        groups.append({value})
    return twin, groups


def _is_spoilable(graph: Graph, value: str) -> bool:
    """Whether it has a range of its own: what passes another's on, or has no range, has none."""
    encoding, maker = graph.types[value].encoding, graph.producer(value)
    is_passed = (
        maker is not None and maker.op.keeps_encoding and graph.types[maker.inputs[0]].encoding == encoding
    )
    return encoding is not None and len(encoding.scales) == 1 and not is_passed


def _spoil_range(twin: Graph, graph: Graph, value: str, choice: random.Random) -> None:
    encoding = graph.types[value].encoding
    assert encoding is not None
    how = choice.choice(SPOILS)
    factor = {"wide": choice.uniform(3, 20), "narrow": choice.uniform(0.1, 0.5), "moved": 1.0}[how]
    shift = (1 << encoding.bitwidth) // 3 if how == "moved" else 0
    offset = encoding.offsets[0] + (shift if encoding.offsets[0] < -(1 << encoding.bitwidth) // 2 else -shift)
    other = Encoding((encoding.scales[0] * factor,), (offset,), None, encoding.bitwidth)
    for name in list_shared_values(graph, value):
        twin.types[name] = replace(graph.types[name], encoding=other)


def _spoil_weights(twin: Graph, value: str) -> None:
    """Four times as coarse, rounded again."""
    kind = twin.types[value]
    assert kind.encoding is not None
    wide = replace(kind.encoding, scales=tuple(4 * scale for scale in kind.encoding.scales))
    real: Array = kind.encoding.decode(np.asarray(twin.constants[value]))
    twin.types[value] = replace(kind, encoding=wide)
    twin.constants[value] = wide.encode(real, kind.dtype)


def main() -> None:
    """Prints a row for each model as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", action="append", type=Path, default=[], help="a folder of models")
    parser.add_argument("--data", action="append", type=Path, default=[], help="a folder of real data")
    parser.add_argument("--filter", default="", help="only models whose name holds this")
    add_write_option(parser)
    options = parser.parse_args()
    columns = ("model", "spoiled", "precision", "recall", "clean, dB", "spoiled", "repaired")
    table = Table("checkers", columns, options)
    for task in TASKS:
        path = task.find([*options.models, FETCHED, EXAMPLES])
        if path is None or options.filter not in task.name:
            continue
        try:
            table.add(*measure(task, path, tuple(options.data)).list_cells())
        except (FileNotFoundError, ew.EdgewrightError) as problem:
            print(f"{task.name}: left out, {' '.join(str(problem).split())[:300]}", flush=True)
    table.finish()


if __name__ == "__main__":
    main()
