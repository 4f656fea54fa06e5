"""How often a limit is said to be met that other samples do not keep: many models, many draws of samples.

``python -m benchmarks.unseen_kinds --models DIR --data DIR --store DIR``: each model is simulated in three
precisions on samples of two sources (other recordings, crops and pages); some are judged by closeness, and
the verdict is held against the others. Prints the table of docs/builds.md.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

import edgewright as ew
from benchmarks.accuracy import folders_of
from benchmarks.accuracy_models import prepared
from benchmarks.build_kinds import Feed, Kind
from benchmarks.data import Material
from benchmarks.models import EXAMPLES, FETCHED
from benchmarks.unseen_models import APART, list_chosen_by
from edgewright.backends.executor import CpuExecutor
from edgewright.core.errors import EdgewrightError
from edgewright.evaluate.doubts import LEAST_OF_RANGE
from edgewright.evaluate.input_energies import InputEnergies
from edgewright.evaluate.loss import choose_worst, measure_loss
from edgewright.evaluate.measurement import has_8_bit_values
from edgewright.evaluate.metrics import MEASURES
from edgewright.evaluate.metrics.measure import Answer
from edgewright.evaluate.output_kinds import find_value_width
from edgewright.evaluate.output_parts import ValueRanges, find_parts
from edgewright.evaluate.records import Loss
from edgewright.evaluate.tail import Conditions
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.passes.htp.unroll_recurrent import with_steps
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest

Array = NDArray[Any]
MEASURE = MEASURES["closeness"]
# As a build makes them: it leaves room in 16 bits for values larger than those that calibrate.
PRECISIONS = {
    "fp16": QuantizationRequest(float_bw=16),
    "w8a8": QuantizationRequest(),
    "w8a16": QuantizationRequest(act_bw=16, act_quantizer="auto"),
}
LIMITS = (0.5, 1.0, 2.0, 5.0)
AT_RANDOM, OF_ONE_SOURCE = "at random", "of one source, held against the other"
# Models that lose more are never near a limit; samples that calibrate.
MOST_POINTS, CALIBRATING = 12.0, 40
HEAD = """\
| judged | drawn | models and precisions | "met" | of them false | beyond the interval | most often false |
|---:|---|---:|---:|---:|---:|---|"""


@dataclass(frozen=True)
class Case:
    """A model in a precision: sums and ranges of each output by sample, and inputs' energies."""

    name: str
    is_first_source: Array
    energies: Array
    sums: list[Array]
    lows: list[Array]
    highs: list[Array]
    widths: list[Array]
    has_8_bits: bool

    def measure(self, places: Array) -> Loss:
        """What is lost on some samples, as if there were no others."""
        inputs = InputEnergies()
        for energies in self.energies[places]:
            inputs.add({str(place): np.array([root]) for place, root in enumerate(np.sqrt(energies))})
        losses = []
        for sums, lows, highs, width in zip(self.sums, self.lows, self.highs, self.widths, strict=True):
            exact = sums[places].copy()
            for part in np.split(exact, 4, -1)[::2]:
                part[...] = 0
            span = np.maximum(highs[places].max(0) - lows[places].min(0), width)
            conditions = Conditions(inputs.scatter, has_8_bits=self.has_8_bits)
            losses.append(measure_loss(MEASURE, exact, sums[places], span, conditions))
        return choose_worst(losses)

    def shows_little(self, places: Array) -> bool:
        """Whether an output is a probability that hardly changes here: a build proves nothing by that."""
        return any(
            (highs[places].max(0) - lows[places].min(0)).max() < LEAST_OF_RANGE * width
            for lows, highs, width in zip(self.lows, self.highs, self.widths, strict=True)
        )


@dataclass
class Tally:
    """What became of the verdicts "met"."""

    cases: int = 0
    met: int = 0
    false: int = 0
    beyond: int = 0
    by_name: dict[str, int] = field(default_factory=dict)

    def count(self, name: str, said: Loss, truth: float) -> None:
        """One draw, for every limit."""
        for limit in LIMITS:
            if said.high <= limit:
                is_false = truth > limit
                self.met += 1
                self.false += is_false
                self.beyond += truth > limit + said.high - said.points
                self.by_name[name] = self.by_name.get(name, 0) + is_false


def main() -> None:
    """Simulates what was not simulated before, and prints the table."""
    options = _parse_options()
    options.store.mkdir(exist_ok=True)
    kinds = APART if options.apart else list_chosen_by()
    cases = [case for kind in kinds if options.filter in kind.file for case in _open(kind, options)]
    print(HEAD)
    for count in options.judged:
        for way in (AT_RANDOM, OF_ONE_SOURCE):
            tally = Tally()
            for case in cases:
                _judge(case, count, options.draws, way, tally)
            worst = max(tally.by_name.items(), key=lambda item: item[1], default=("-", 0))
            shares = [100 * number / max(tally.met, 1) for number in (tally.false, tally.beyond)]
            print(
                f"| {count} | {way} | {tally.cases} | {tally.met} | {shares[0]:.1f} % | {shares[1]:.1f} % | "
                f"{worst[0]}, {worst[1]} of {options.draws * len(LIMITS)} |",
                flush=True,
            )


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    folders_of(parser)
    parser.add_argument("--samples", type=int, default=200, help="samples of each source")
    parser.add_argument("--judged", type=int, nargs="*", default=[20, 40, 60], help="how many are judged")
    parser.add_argument("--draws", type=int, default=20, help="how often, of each model and precision")
    parser.add_argument("--apart", action="store_true", help="the models that no constant was chosen by")
    parser.add_argument("--complete", action="store_true", help="simulate what failed before once more")
    parser.add_argument("--seconds", type=float, default=60.0, help="that each precision may be run for")
    parser.add_argument("--store", type=Path, required=True, help="a folder for what was simulated")
    return parser.parse_args()


def _judge(case: Case, count: int, draws: int, way: str, tally: Tally) -> None:
    """Draws samples again and again, and holds what is said of them against the others."""
    every = np.arange(len(case.energies))
    given = every if way == AT_RANDOM else every[case.is_first_source]
    if len(given) < count or len(every) < 2 * count or case.measure(every).points > MOST_POINTS:
        return
    random = np.random.default_rng(1)
    tally.cases += 1
    for _ in range(draws):
        judged = random.choice(given, count, replace=False)
        others = np.setdiff1d(every, judged if way == AT_RANDOM else given)
        if not case.shows_little(judged):
            tally.count(case.name, case.measure(judged), case.measure(others).points)


def _open(kind: Kind, options: argparse.Namespace) -> Iterator[Case]:
    path = kind.find([*options.models, FETCHED, EXAMPLES])
    if path is None:
        return
    files = {name: options.store / f"{kind.file}.{name}.npz" for name in PRECISIONS}
    missing = {name: file for name, file in files.items() if not file.exists()}
    if (missing and len(missing) == len(files)) or (options.complete and missing):
        try:
            _simulate(kind, path, options, missing)
        except (EdgewrightError, FileNotFoundError, KeyError, ValueError) as problem:
            print(f"left out: {kind.file}: {' '.join(str(problem).split())[:150]}", flush=True)
    for name, file in files.items():
        if file.exists():
            yield _read_case(f"{kind.file} {name}", file)


def _read_case(name: str, file: Path) -> Case:
    with np.load(file) as stored:
        outputs = range(sum(key.startswith("sums") for key in stored))
        lists = ([stored[f"{key}{place}"] for place in outputs] for key in ("sums", "low", "high", "width"))
        return Case(name, stored["is_first"], stored["energies"], *lists, bool(stored["has_8_bits"]))


def _simulate(kind: Kind, path: Path, options: argparse.Namespace, files: dict[str, Path]) -> None:
    """All precisions of a model; samples of both sources take turns, for the time may be up."""
    folders = tuple(options.data)
    first, second = (
        list(kind.make_feeds(Material(folders, is_calibrating=is_first), options.samples + more, path))
        for is_first, more in ((True, CALIBRATING), (False, 0))
    )
    with tempfile.TemporaryDirectory() as folder:
        graph = _convert(kind, path, first[0], Path(folder))
    # As in a build, what calibrates judges nothing: no value of it is beyond the ranges.
    places = set(np.linspace(0, len(first) - 1, CALIBRATING, dtype=int).tolist())
    calibrating = [sample for place, sample in enumerate(first) if place in places]
    first = [sample for place, sample in enumerate(first) if place not in places]
    samples = [sample for pair in zip(first, second, strict=False) for sample in pair]
    for name, file in files.items():
        data = None if name == "fp16" else calibrating
        made = quantize_graph(graph, PRECISIONS[name], data, CpuExecutor()).graph
        stored = _run(graph, with_steps(made, made.outputs), samples, options.seconds)
        np.savez_compressed(file, **stored)


def _convert(kind: Kind, path: Path, feed: Feed, folder: Path) -> Graph:
    model = path
    if kind.task is not None:
        model = folder / "model.onnx"
        onnx.save(prepared(kind.task, path, feed), model)
    shapes = {name: array.shape for name, array in feed.items()} if path.suffix in {".onnx", ".pt"} else None
    return ew.convert(model, input_shapes=shapes).fixed_graph()


def _run(graph: Graph, made: Graph, samples: list[Feed], seconds: float) -> dict[str, Array]:
    """What one precision adds to the metric, sample by sample, until its time is up."""
    reference, other = Model.of(graph), Model.of(made)
    outputs = [name for name in graph.outputs if graph.types[name].dtype.numpy.kind == "f"]
    few = [reference.run(sample) for sample in samples[:16]]
    parts = {name: find_parts(graph, name, [np.asarray(each[name]) for each in few]) for name in outputs}
    rows: dict[str, list[Any]] = {"energies": []}
    end = time.monotonic() + seconds
    for sample in samples:
        expected, results = reference.run(sample), other.run(sample, backend="htp-sim")
        rows["energies"].append([_measure_energy(array) for array in sample.values()])
        for place, name in enumerate(outputs):
            ranges = ValueRanges(parts[name])
            ranges.widen(np.asarray(expected[name]))
            values = (np.asarray(each[name]) for each in (expected, results))
            answer = Answer(*values, parts=parts[name], width=find_value_width(graph, name))
            for key, row in (("sums", MEASURE.add_up(answer)), ("low", ranges.low), ("high", ranges.high)):
                rows.setdefault(f"{key}{place}", []).append(row)
        if time.monotonic() > end:
            break
    stored = {key: np.array(each) for key, each in rows.items()}
    widths = {f"width{place}": np.array(find_value_width(graph, name)) for place, name in enumerate(outputs)}
    facts = {
        "is_first": np.arange(len(stored["energies"])) % 2 == 0,
        "has_8_bits": np.array(has_8_bit_values(made)),
    }
    return {**stored, **widths, **facts}


def _measure_energy(array: Array) -> float:
    return float(np.mean(np.square(array, dtype=np.float64))) if array.dtype.kind == "f" else 0.0


if __name__ == "__main__":
    main()
