"""How much of an output's noise comes from rounding each part of a graph, for a few passes over the samples.

Every part is rounded by itself, each on a few samples only: what matters is which part is worse by
factors, and one sample tells that nearly as well as all (rank correlation above 0.99 on MobileNetV2). One
session serves many parts: their steps and weights are inputs.
"""

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace

import numpy as np

from edgewright.core.events import announce_progress
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import Op
from edgewright.ir.types import TensorType
from edgewright.ops.cast import Cast
from edgewright.ops.elementwise import ElementWiseMaximum, ElementWiseMinimum, ElementWiseMultiply
from edgewright.ops.elementwise_unary import ElementWiseRound
from edgewright.quantize.executor import Executor, Samples, Session

# Sessions: each rounds its own parts only, which keeps its runs nearly as fast as the float graph's.
SESSIONS = 8
# Steps so fine that single precision does not see them.
FINE = 2.0**-14
LARGEST = 3e38
# Noise over signal that steps so fine do not make.
SEEN = 1e-9
# Inputs that round a value: where it is cut, and what it is multiplied by before and after.
WORDS = ("low", "high", "by", "to")
TIMES = ElementWiseMultiply()


@dataclass(frozen=True)
class Effort:
    """What it may cost: passes over the samples, that of the float outputs included, and runs of one part."""

    passes: int = 10
    # More tell little.
    runs: int = 4


@dataclass(frozen=True)
class Steps:
    """What rounding does to a value: its step, and the ends of its range."""

    size: float
    low: float
    high: float

    def make_inputs(self, value: str) -> dict[str, Array]:
        """The inputs that round a value so."""
        numbers = (self.low, self.high, 1 / self.size, self.size)
        return {
            f"{value}/{word}": np.array([number], np.float32)
            for word, number in zip(WORDS, numbers, strict=True)
        }

    def off(self) -> "Steps":
        """Steps that single precision does not see, without ends."""
        return Steps(self.size * FINE, -LARGEST, LARGEST)


@dataclass(frozen=True)
class Probe:
    """A part to round: values with their steps, or constants with what rounding makes of them."""

    name: str
    steps: Mapping[str, Steps] = field(default_factory=dict)
    constants: Mapping[str, Array] = field(default_factory=dict)
    # A guess of its share beside others that are measured with it.
    weight: float = 1.0


@dataclass(frozen=True)
class Sensitivity:
    """Noise over signal at the outputs, by part, and what it cost to find out."""

    effects: dict[str, float]
    runs: int
    samples: int

    @property
    def passes(self) -> float:
        """The cost in passes of the float graph over all samples."""
        return self.runs / self.samples if self.samples else 0.0


def measure_sensitivity(
    graph: Graph,
    probes: Sequence[Probe],
    watched: Sequence[Sequence[str]],
    samples: Samples,
    executor: Executor,
    effort: Effort = Effort(),  # noqa: B008 - frozen
) -> Sensitivity:
    """Measures what rounding each part does to the watched values: outputs, each behind wider ones.

    The first value of each that sees any noise counts: an output of two numbers tells little of one sample.
    With few samples and many parts, neighbours are measured together and share what was found.
    """
    count = len(samples) if isinstance(samples, Sized) else sum(1 for _ in samples)
    budget = (effort.passes - 1) * count
    size = max(1, -(-len(probes) // max(1, budget)))
    stretches = [probes[at : at + size] for at in range(0, len(probes), size)]
    repeats = min(effort.runs, count, max(1, budget // max(1, len(stretches))))
    places = {i * count // repeats for i in range(repeats)}
    chosen = [sample for place, sample in enumerate(samples) if place in places]
    measuring = _Measuring(graph, watched, chosen, executor)
    effects: dict[str, float] = {}
    with announce_progress("measuring sensitivity", total=len(stretches)) as step:
        for part in _split_probes(stretches, SESSIONS):
            for stretch, effect in zip(part, measuring.measure_effects(part), strict=True):
                effects.update(_list_shared(stretch, effect))
                step()
    return Sensitivity(effects, len(chosen) * (1 + len(stretches)), count)


class _Measuring:
    def __init__(
        self,
        graph: Graph,
        watched: Sequence[Sequence[str]],
        samples: Sequence[Mapping[str, Array]],
        executor: Executor,
    ) -> None:
        self._graph, self._watched, self._samples, self._executor = graph, watched, samples, executor
        self._values = list(dict.fromkeys(value for way in watched for value in way))
        session = executor.prepare(graph, [value for value in self._values if value not in graph.inputs])
        self._expected = [{**sample, **session.run(sample)} for sample in samples]

    def measure_effects(self, stretches: Sequence[Sequence[Probe]]) -> list[float]:
        """Noise over signal of each stretch, from one session."""
        probed = _Probed(self._graph, [probe for stretch in stretches for probe in stretch])
        names = {value: probed.names.get(value, value) for value in self._values}
        session = self._executor.prepare(probed.graph, list(names.values()))
        return [self._measure_effect(session, probed, names, stretch) for stretch in stretches]

    def _measure_effect(
        self, session: Session, probed: "_Probed", names: Mapping[str, str], stretch: Sequence[Probe]
    ) -> float:
        settings = probed.make_settings(stretch)
        sums = {value: np.zeros(2) for value in names}
        for sample, expected in zip(self._samples, self._expected, strict=True):
            outputs = session.run({**sample, **settings})
            for value, name in names.items():
                sums[value] += _measure_noise(expected[value], outputs[name])
        ratios = {value: noise / signal if signal > 0 else 0.0 for value, (noise, signal) in sums.items()}
        return float(np.mean([_find_first(ratios, way) for way in self._watched]))


class _Probed:
    """A copy of a graph that rounds values to steps, and takes constants, that are inputs."""

    def __init__(self, graph: Graph, probes: Sequence[Probe]) -> None:
        self.graph = graph.copy()
        # Names of what stands for a value once it is rounded.
        self.names: dict[str, str] = {}
        self._off: dict[str, Array] = {}
        for probe in probes:
            for value in probe.constants:
                if value in self.graph.constants:
                    self._open(value)
            for value, steps in probe.steps.items():
                self._round(value, steps)
        self.graph.sort()

    def make_settings(self, probes: Sequence[Probe]) -> dict[str, Array]:
        """Inputs that switch rounding on for some parts and off for the others."""
        inputs = dict(self._off)
        for probe in probes:
            inputs |= {value: self._cast_constant(value, array) for value, array in probe.constants.items()}
            for value, steps in probe.steps.items():
                inputs |= steps.make_inputs(value)
        return inputs

    def _cast_constant(self, value: str, array: Array) -> Array:
        """In the datatype of the source, which may be half precision."""
        return array.astype(self.graph.types[value].dtype.numpy, copy=False)

    def _open(self, value: str) -> None:
        array, kind = self.graph.constants[value], self.graph.types[value]
        self.graph.drop_constant(value)
        self.graph.inputs.append(value)
        self.graph.types[value] = replace(kind, encoding=None)
        self._off[value] = array

    def _round(self, value: str, steps: Steps) -> None:
        kind, off = self.graph.types[value], steps.off().make_inputs(value)
        low, high, by, to = (self.graph.add_input(name, TensorType((1,), DType.FLOAT_32)) for name in off)
        self._off |= off
        readers = self.graph.fresh_name(f"{value}/real")
        self.graph.replace_uses(value, readers)
        real = kind.with_dtype(DType.FLOAT_32)
        # Half precision has no room for the steps of 16 bits.
        last = self._add(Cast(dtype=DType.FLOAT_32), [value], real) if kind.dtype != real.dtype else value
        for op, operand in ((ElementWiseMaximum(), low), (ElementWiseMinimum(), high), (TIMES, by)):
            last = self._add(op, [last, operand], real)
        last = self._add(ElementWiseRound(), [last], real)
        if kind.dtype == real.dtype:
            self.graph.add(Node(readers, TIMES, [last, to], [readers]), [kind])
        else:
            last = self._add(TIMES, [last, to], real)
            self.graph.add(Node(readers, Cast(dtype=kind.dtype), [last], [readers]), [kind])
        self.names[value] = readers

    def _add(self, op: Op, inputs: list[str], kind: TensorType) -> str:
        name = self.graph.fresh_name(f"{inputs[0]}/{op.qnn_name()}")
        self.graph.add(Node(name, op, inputs, [name]), [kind])
        return name


def _find_first(ratios: Mapping[str, float], way: Sequence[str]) -> float:
    return next((ratios[value] for value in way if ratios[value] > SEEN), ratios[way[-1]])


def _measure_noise(expected: Array, rounded: Array) -> tuple[float, float]:
    wide = expected.astype(np.float64)
    noise = float(np.square(wide - rounded).sum())
    return (noise, float(np.square(wide).sum())) if np.isfinite(noise) else (0.0, 0.0)


def _list_shared(stretch: Sequence[Probe], effect: float) -> dict[str, float]:
    total = sum(probe.weight for probe in stretch)
    return {p.name: effect * (p.weight / total if total > 0 else 1 / len(stretch)) for p in stretch}


def _split_probes(stretches: Sequence[Sequence[Probe]], count: int) -> Iterator[Sequence[Sequence[Probe]]]:
    size = max(1, -(-len(stretches) // count))
    for at in range(0, len(stretches), size):
        yield stretches[at : at + size]
