"""What an import made of a model: op by op, with everything that stands in the way."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from edgewright.config.spelling import advise_cut
from edgewright.core.errors import EdgewrightError
from edgewright.frontends._common.imported import Imported, Step
from edgewright.frontends._common.source_model import SourceModel
from edgewright.ir.graph import Node
from edgewright.ir.symbols import batch_symbols
from edgewright.ops.cost import known_macs
from edgewright.ops.rearrange import Reshape, Transpose
from edgewright.ops.source import SourceOp

# How a source op comes across: as one QNN op, as several, as a constant, only as itself, or not at all.
QNN, DECOMPOSED, FOLDED, SOURCE_OP, UNSUPPORTED = "qnn", "decomposed", "folded", "source op", "unsupported"
NOT_CHECKED, WAITING = "behind an unsupported op", "needs known values"
CONVERTED = frozenset({QNN, DECOMPOSED, FOLDED})


@dataclass(frozen=True)
class OpCount:
    """How often an op of the source comes across in one way, and the multiply-accumulates behind it."""

    op: str
    how: str
    nodes: int
    macs: int


@dataclass(frozen=True)
class Problem:
    """One thing that stands in the way, and what to do about it."""

    op: str
    node: str
    reason: str
    do: str


@dataclass(frozen=True)
class ImportReport:
    """The record behind a dry run: counts by op, problems, and what of the I/O has no part in the model."""

    file: str
    ops: tuple[OpCount, ...]
    problems: tuple[Problem, ...]
    # Ops that only the CPU backend can run: no QNN artifact holds them.
    source_ops: tuple[Problem, ...]
    unused_inputs: tuple[str, ...]
    unused_outputs: tuple[str, ...]
    # Inputs that must be constants in a QNN graph, and the node that needs each.
    bound: dict[str, str] = field(default_factory=dict)
    # The node that needs symbolic dimensions as numbers, "" where none does.
    shapes_for: str = ""
    # The batch counts as 1; MACs are not counted where another dimension is symbolic.
    symbolic_nodes: int = 0

    @property
    def nodes(self) -> int:
        """Nodes of the source graph that the outputs depend on."""
        return sum(item.nodes for item in self.ops)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of what is known."""
        return sum(item.macs for item in self.ops)

    @property
    def is_convertible(self) -> bool:
        """Whether a QNN artifact can be written."""
        return not (self.problems or self.source_ops or self.bound or self.shapes_for)

    def share(self, of: str) -> float:
        """The part of the "nodes" or of the "macs" that a QNN artifact can hold, from 0 to 1."""
        total = sum(getattr(item, of) for item in self.ops)
        good = sum(getattr(item, of) for item in self.ops if item.how in CONVERTED)
        # Where nothing could be counted, what does not convert may hold all of it.
        return good / total if total else float(all(item.how in CONVERTED for item in self.ops))


def report_on(source: SourceModel, imported: Imported | None = None) -> ImportReport:
    """Imports a model (unless that was done) and says what became of it."""
    result = imported if imported is not None else source.build({})
    counts: Counter[tuple[str, str]] = Counter()
    macs: Counter[tuple[str, str]] = Counter()
    symbolic, foreign = 0, []
    batch = dict.fromkeys(batch_symbols(source.inputs), 1)
    stop = result.steps[-1] if result.bound or result.shapes_for else None
    for step in result.steps:
        nodes = result.emitted[step.first : step.last]
        key = (step.node.full_op, WAITING if step is stop else _classify_step(step, nodes))
        counts[key] += 1
        for node in nodes:
            known = known_macs(result.graph, node, batch)
            symbolic += known is None
            macs[key] += known or 0
        if key[1] == SOURCE_OP:
            foreign.append(_describe_foreign_op(source, step))
    return ImportReport(
        file=source.name,
        ops=tuple(OpCount(op, how, count, macs[op, how]) for (op, how), count in sorted(counts.items())),
        problems=tuple(_describe_problem(problem) for problem in result.problems),
        source_ops=tuple(foreign),
        unused_inputs=tuple(_list_unused_inputs(source, result.steps)),
        unused_outputs=tuple(_list_unused_outputs(source, result.steps)),
        bound=dict(result.bound),
        shapes_for=result.shapes_for,
        symbolic_nodes=symbolic,
    )


def _classify_step(step: Step, nodes: Sequence[Node]) -> str:
    if step.problem is not None:
        return UNSUPPORTED
    if step.is_skipped:
        return NOT_CHECKED
    if any(isinstance(node.op, SourceOp) for node in nodes):
        return SOURCE_OP
    # Moves around an op (layouts, ranks) are not what it is made of.
    made = [node for node in nodes if not isinstance(node.op, Transpose | Reshape)]
    return FOLDED if not nodes else QNN if len(made) <= 1 else DECOMPOSED


def _describe_problem(error: EdgewrightError) -> Problem:
    where = error.where
    op, node = (where.op, where.node) if where is not None else (None, None)
    return Problem(op or "", node or "", error.what, error.do)


def _describe_foreign_op(source: SourceModel, step: Step) -> Problem:
    return Problem(
        step.node.full_op,
        step.node.label,
        f"{source.framework} op '{step.node.op}' has no QNN equivalent; only the CPU backend runs it",
        advise_cut(),
    )


def _list_unused_inputs(source: SourceModel, steps: Iterable[Step]) -> list[str]:
    used = {name for step in steps for name in (*step.node.inputs, *step.node.captured)}
    return [name for name in source.inputs if name not in used and name not in source.outputs]


def _list_unused_outputs(source: SourceModel, steps: Iterable[Step]) -> list[str]:
    """Results that nobody reads: of the nodes left out, and outputs of the model that were not asked for."""
    kept = {name for step in steps for name in step.node.outputs}
    nodes, outputs = source.nodes(), source.own_outputs
    read = {name for node in nodes for name in (*node.inputs, *node.captured)} | set(outputs)
    loose = [n for node in nodes for n in node.outputs if n and n not in read and n not in kept]
    return [*(name for name in outputs if name not in source.outputs), *loose]
