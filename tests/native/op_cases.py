"""Every op sample in every number form, run by the simulation and by the genuine emulator."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import edgewright as ew
import edgewright.ops
from edgewright.backends.base import RunOptions
from edgewright.backends.registry import find_backend
from edgewright.core.errors import BadInput, EdgewrightError
from edgewright.core.numbers import Array, DType
from edgewright.ir.graph import Graph, Node
from edgewright.ir.op import REGISTRY, Sample
from edgewright.ir.types import TensorType
from edgewright.model.model import Model
from tests.unit.ops.test_samples import filled, types_of

FORMS = ("fp16", "w8a8", "w8a16", "w4a16")
# Ops whose further inputs are weights in every network: as constants they take HTP's usual paths.
WEIGHTED = ("Conv", "FullyConnected", "MatMul", "Norm", "norm", "Prelu", "Lstm", "Gru")
# The library compiles it, and its process ends with SIGSEGV in the first run (2.51).
CRASHES = frozenset({"Buffer"})
# Only these have weights that 4 bits make a difference for.
FOUR_BITS = ("Conv2d", "DepthWiseConv2d", "FullyConnected", "MatMul", "TransposeConv2d")


@dataclass(frozen=True)
class Case:
    """A sample of an op in a number form."""

    sample: Sample
    form: str

    @property
    def id(self) -> str:
        """Op, sample and form in one word."""
        return f"{self.sample.op.qnn_name()}-{self.sample.label}-{self.form}".replace(" ", "_")


@dataclass(frozen=True)
class Outcome:
    """How far simulation and emulator are apart: in steps of 8-bit outputs, else as a share of the range."""

    steps: float = 0.0
    share: float = 0.0
    equal: float = 1.0
    refused: str = ""

    @property
    def is_within(self) -> bool:
        """The limit of 8 bits is one step, of everything else 0.4 % of the range."""
        return self.steps <= 1 and self.share <= 0.004


def cases() -> Iterator[Case]:
    """All samples that QNN can hold, in all forms."""
    for kind in REGISTRY.values():
        for sample in kind.samples():
            if sample.op.qnn_name() in CRASHES or not _is_storable(sample):
                continue
            for form in FORMS:
                if form != "w4a16" or sample.op.qnn_name() in FOUR_BITS:
                    yield Case(sample, form)


def outcome(case: Case) -> Outcome:
    """Runs a case on both; what the library refuses is an outcome too."""
    graph, feed = sample_graph(case.sample)
    if case.form != "fp16" and not any(t.dtype.is_float for t in graph.types.values()):
        return Outcome(refused="no real numbers: the same in every form")
    try:
        fixed = in_form(graph, feed, case.form)
    except BadInput as problem:
        return Outcome(refused=f"the quantizer: {problem.what}")
    if _stays_float(fixed):
        return Outcome(refused="the quantizer leaves it in float32")
    stored = {name: _stored(fixed.types[name], array) for name, array in feed.items()}
    try:
        native = find_backend("htp-native").prepare(fixed, RunOptions())
    except EdgewrightError as refusal:
        if refusal.exit_code in {4, 7} and "the worker" not in str(refusal):
            return Outcome(refused=str(refusal))
        raise
    found = native.run(stored)
    simulated = find_backend("htp-sim").prepare(fixed, RunOptions(threads=1)).run(stored)
    return distance(fixed, simulated, found)


def distance(graph: Graph, simulated: dict[str, Array], found: dict[str, Array]) -> Outcome:
    """The worst output."""
    steps = share = 0.0
    equal = []
    for name, wanted in simulated.items():
        kind = graph.types[name]
        first, second = wanted.astype(np.float64), found[name].astype(np.float64)
        with np.errstate(invalid="ignore"):
            gap = np.abs(first - second)
        gap = np.where(np.isnan(first) & np.isnan(second) | (first == second), 0, gap)
        gap = np.nan_to_num(gap, nan=np.inf)  # a number on one side only
        equal.append(float(np.mean(gap == 0)))
        if kind.dtype in {DType.UFIXED_POINT_8, DType.SFIXED_POINT_8}:
            steps = max(steps, float(gap.max(initial=0)))
        else:
            share = max(share, float(gap.max(initial=0)) / _range(kind, first))
    return Outcome(steps, share, min(equal, default=1.0))


def in_form(graph: Graph, feed: dict[str, Array], form: str) -> Graph:
    """The graph in a number form, by the project's own quantizer."""
    model = Model.of(graph)
    if any(t.encoding is not None for t in graph.types.values()):
        return graph
    if form == "fp16":
        return ew.quantize(model, float_bw=16).fixed_graph()
    weights, activations = int(form[1]), int(form.partition("a")[2])
    return ew.quantize(model, [feed], act_bw=activations, weight_bw=weights, act_quantizer="tf").fixed_graph()


def sample_graph(sample: Sample) -> tuple[Graph, dict[str, Array]]:
    """A graph of the one op; weights are constants, 64-bit integers have 32."""
    graph, feed, names = Graph("sample"), {}, []
    fixes = any(word in sample.op.qnn_name() for word in WEIGHTED)
    for index, (given, array) in enumerate(zip(sample.inputs, filled(sample), strict=True)):
        name = "" if given is None else f"x{index}"
        names.append(name)
        if isinstance(given, TensorType) and not (fixes and index):
            feed[graph.add_input(name, given)] = array
        elif given is not None:
            graph.add_constant(name, array)
    count = len(sample.op.infer(*types_of(sample)))
    graph.add(Node("n", sample.op, names, [f"y{i}" for i in range(count)]))
    graph.outputs = [f"y{i}" for i in range(count)]
    return graph, feed


def _stays_float(graph: Graph) -> bool:
    made = [graph.types[value].dtype for node in graph.nodes for value in node.outputs]
    return DType.FLOAT_32 in made


def _is_storable(sample: Sample) -> bool:
    types = [t for t in types_of(sample) if t is not None]
    types += sample.op.infer(*types_of(sample))
    return all(t.is_static and t.dtype.is_qnn and 0 not in t.shape for t in types)


def _stored(kind: TensorType, array: Array) -> Array:
    if kind.encoding is not None:
        return kind.encoding.encode(array, kind.dtype)
    return array.astype(kind.dtype.numpy)


def _range(kind: TensorType, values: Array) -> float:
    if kind.encoding is not None:
        low, high = kind.encoding.limits(kind.dtype)
        return float(high - low)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 1.0
    return max(float(finite.max() - finite.min()), float(np.abs(finite).max()), 1e-6)
