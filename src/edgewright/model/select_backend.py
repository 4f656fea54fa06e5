"""Which backend suits a model: by ops, tensor sizes, precision and measured time, each with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgewright.backends.gpu.backend import make_gpu
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array, DType
from edgewright.core.page import Block, Displayed
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.model.open_model import open_any_model
from edgewright.model.profile.measure import Effort, profile
from edgewright.model.random_inputs import make_random_inputs
from edgewright.ops.cost import node_macs
from edgewright.passes.partition.htp_gaps import find_htp_gaps

MEGABYTE = 1 << 20
# Points that a candidate can win; the weights are those of the Edge AI course's selector.
OPS, SIZES, PRECISION, POWER, SPEED, MEASURED = 30, 25, 20, 25, 20, 25
# HTP times are measured in the simulation: the emulator takes seconds to compile a model.
_MEASURED_AS = {"cpu": "cpu", "gpu": "gpu", "htp": "htp-sim"}
_SHORT = Effort(runs=10, seconds=1.0, warmup=1)


@dataclass(frozen=True)
class Capability:
    """What a processor of a Snapdragon is good at; the numbers are the course's."""

    largest_tensor: int
    precisions: tuple[str, ...]
    power_efficiency: float
    speed: float


CAPABILITIES = {
    "htp": Capability(8 * MEGABYTE, ("int8", "int16", "fp16"), 0.9, 1.0),
    "gpu": Capability(64 * MEGABYTE, ("fp16",), 0.6, 0.6),
    "cpu": Capability(512 * MEGABYTE, ("fp32",), 0.4, 0.2),
}


@dataclass(frozen=True)
class Candidate:
    """A backend with its points and their reasons; ``is_possible`` says whether it can be chosen."""

    backend: str
    points: float
    reasons: tuple[str, ...]
    is_possible: bool = True
    milliseconds: float | None = None


@dataclass(frozen=True, repr=False)
class BackendChoice(Displayed):
    """The backend that was chosen, and all candidates, the best first."""

    backend: str
    reasons: tuple[str, ...]
    candidates: tuple[Candidate, ...]

    def _list_blocks(self) -> list[Block]:
        return [f"{self.backend}:", *(f"  {reason}" for reason in self.reasons)]


def select_backend(
    model: Model | Path | str,
    *,
    power_critical: bool = False,
    performance_critical: bool = False,
    inputs: Mapping[str, Array] | None = None,
    measure: bool = True,
) -> BackendChoice:
    """Chooses the backend for a model, with reasons.

    Args:
        model: a model or a model file.
        power_critical: whether it runs on a battery.
        performance_critical: whether latency on the device matters.
        inputs: arrays to measure on; random if left out.
        measure: whether to run the model for a second on each; otherwise only its properties count.
    """
    opened = open_any_model(model)
    feed = dict(inputs) if inputs is not None else make_random_inputs(opened)
    facts = _Facts(opened.graph_for(feed))
    times = _measure_backends(opened, feed, facts) if measure else {}
    if facts.has_gpu and measure and "gpu" not in times:
        facts.gpu = "it refuses the model"
    priorities = (power_critical, performance_critical)
    candidates = [_score_backend(name, facts, times, priorities) for name in CAPABILITIES]
    candidates.sort(key=lambda item: (not item.is_possible, -item.points))
    return BackendChoice(candidates[0].backend, candidates[0].reasons, tuple(candidates))


class _Facts:
    """What a graph demands of a processor."""

    def __init__(self, graph: Graph) -> None:
        gaps = find_htp_gaps(graph)
        self.missing = sorted({gap.op for gap in gaps})
        cost = {node.name: node_macs(graph, node) + 1 for node in graph.nodes}
        self.share = 1 - sum(cost[gap.node] for gap in gaps) / max(sum(cost.values()), 1)
        self.largest = max((_count_bytes(graph, name) for name in graph.types), default=0)
        self.precision = _find_main_precision(graph)
        # What stands against the GPU; "" where nothing does.
        self.gpu = _find_gpu_problem(graph)

    @property
    def has_gpu(self) -> bool:
        return not self.gpu


def _score_backend(
    name: str, facts: _Facts, times: Mapping[str, float], priorities: tuple[bool, bool]
) -> Candidate:
    can = CAPABILITIES[name]
    share = facts.share if name == "htp" else 1.0
    points, reasons = OPS * share, [_explain_ops(name, facts)]
    fits = facts.largest <= can.largest_tensor
    points += SIZES * fits
    size, limit = facts.largest / MEGABYTE, can.largest_tensor / MEGABYTE
    reasons.append(
        f"its largest tensor has {size:.2f} MB, {'within' if fits else 'more than'} {limit:.0f} MB"
    )
    is_liked = facts.precision in can.precisions
    points += PRECISION * is_liked
    reasons.append(f"it computes in {facts.precision}, {name} {'is' if is_liked else 'is not'} made for that")
    for is_priority, weight, share_of, word in zip(
        priorities, (POWER, SPEED), (can.power_efficiency, can.speed), ("power", "speed"), strict=True
    ):
        if is_priority:
            points += weight * share_of
            reasons.append(f"{word} matters: {share_of:.0%} of the best on a device")
    if name in times:
        points += MEASURED * min(times.values()) / times[name]
        as_ = " in the simulation" if name == "htp" else ""
        reasons.append(f"{times[name]:.3g} ms a run on this machine{as_}")
    is_htp_possible = name == "htp" and facts.precision != "fp32" and not facts.missing
    possible = name == "cpu" or is_htp_possible or (name == "gpu" and facts.has_gpu)
    return Candidate(name, points, tuple(reasons), possible, times.get(name))


def _explain_ops(name: str, facts: _Facts) -> str:
    if name == "gpu":
        return facts.gpu or "it is on this machine, and takes the model"
    if name == "cpu" or not facts.missing:
        if name == "htp" and facts.precision == "fp32":
            return "it has all ops, but in fixed point or half precision: quantize the model for it"
        return "it has all ops"
    listed = ", ".join(facts.missing[:5])
    return f"it lacks {listed}: {facts.share:.0%} of the work can run there; +cpu (--allow_cpu_ops) splits it"


def _measure_backends(model: Model, feed: Mapping[str, Array], facts: _Facts) -> dict[str, float]:
    names = {n: b for n, b in _MEASURED_AS.items() if n != "htp" or facts.precision != "fp32"}
    if not facts.has_gpu:
        del names["gpu"]
    measured = profile(model, feed, backends=tuple(names.values()), effort=_SHORT)
    return {n: item.p50_ms for n, item in zip(names, measured.backends, strict=True) if item.runs}


def _find_gpu_problem(graph: Graph) -> str:
    if any(kind.dtype.is_fixed_point for kind in graph.types.values()):
        return "it takes float models only"
    try:
        backend = make_gpu()
    except EdgewrightError as problem:
        return problem.what
    return f"no GPU, but a driver in software: {backend.name}" if backend.is_software else ""


def _count_bytes(graph: Graph, name: str) -> int:
    kind = graph.types[name]
    if not kind.is_static or kind.dtype == DType.STRING:
        return 0
    count = 1
    for dim in kind.static_shape():
        count *= dim
    return count * kind.dtype.numpy.itemsize


def _find_main_precision(graph: Graph) -> str:
    """The precision that most of the work is done in."""
    cost: dict[str, int] = {}
    for node in graph.nodes:
        kind = graph.types[node.outputs[0]].dtype
        word = f"fp{kind.numpy.itemsize * 8}" if kind.is_float else f"int{min(kind.numpy.itemsize * 8, 16)}"
        cost[word] = cost.get(word, 0) + node_macs(graph, node) + 1
    return max(cost, key=lambda word: cost[word], default="fp32")
