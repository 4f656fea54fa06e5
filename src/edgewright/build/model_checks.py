"""What of a converted model the HTP cannot hold or run: ops, datatypes, open shapes, sizes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from edgewright.analyse.records import Finding
from edgewright.build.estimates import GRAPH_LIMIT, sizes_by_precision
from edgewright.build.order import BuildOrder
from edgewright.config.build import AUTO
from edgewright.core.errors import EdgewrightError, LimitExceeded, UnsupportedOp, Where
from edgewright.ir.graph import Graph
from edgewright.model.saving import SaveOptions, records_of
from edgewright.ops.recurrent import Recurrent
from edgewright.passes.htp.unroll_recurrent import MOST_STEPS
from edgewright.passes.partition.htp_gaps import Gap, find_htp_gaps

__all__ = ["ModelChecks", "checked_model"]

# What auto may end with: the narrowest and the widest weights.
AUTO_ENDS = ("w8a8", "fp16")


@dataclass
class ModelChecks:
    """Problems and hints of a model."""

    problems: list[EdgewrightError] = field(default_factory=list)
    hints: list[Finding] = field(default_factory=list)


def checked_model(order: BuildOrder, graph: Graph) -> ModelChecks:
    """Everything that would stop the build later, found without touching the weights."""
    found = ModelChecks()
    gaps = find_htp_gaps(graph)
    try:
        records_of(graph, order.name, SaveOptions())
    except EdgewrightError as problem:
        found.problems.append(problem)
        # The graph could not be prepared: 64-bit integers, which a pass makes narrower, say nothing.
        gaps = [gap for gap in gaps if "int_64" not in gap.reason]
    found.problems += [_error(order, graph, gap) for gap in gaps]
    found.hints += _shares(graph, gaps)
    found.hints += _recurrent(graph)
    _check_size(order, graph, found)
    return found


def _error(order: BuildOrder, graph: Graph, gap: Gap) -> EdgewrightError:
    node = graph.node(gap.node)
    return UnsupportedOp(
        gap.reason,
        Where(file=order.model.name, op=gap.op, node=node.source or node.name),
        do="replace the op in the source model, or end the model before it",
    )


def _shares(graph: Graph, gaps: list[Gap]) -> Iterator[Finding]:
    if not gaps:
        return
    missing = {gap.node for gap in gaps}
    macs = {n.name: n.op.macs(graph.input_types(n), graph.output_types(n)) for n in graph.nodes}
    lost = sum(macs[name] for name in missing)
    share = 100 * (1 - lost / max(sum(macs.values()), 1))
    text = f"{len(graph) - len(missing)} of {len(graph)} ops ({share:.1f} % of the MACs) would run on the HTP"
    yield Finding("note", "unsupported-op", text, do="edgewright inspect MODEL lists all ops")


def _recurrent(graph: Graph) -> Iterator[Finding]:
    """Recurrent layers that could not be written out: long ones, and those with rare parts."""
    for node in graph.nodes:
        if isinstance(node.op, Recurrent):
            name = node.source or node.name
            what = f"{node.op.qnn_name()} '{name}' stays one op, which Qualcomm's compiler refuses"
            do = f"give it {MOST_STEPS} steps at most (-d, -s), or end the model before it (--out_node)"
            yield Finding("warning", "unsupported-op", what, name, do)


def _check_size(order: BuildOrder, graph: Graph, found: ModelChecks) -> None:
    sizes = sizes_by_precision(graph)
    wanted = AUTO_ENDS if order.precision == AUTO else (order.precision,)
    smallest = min(sizes[name] for name in wanted)
    text = ", ".join(f"{name} {sizes[name] / 2**30:.2f} GiB" for name in sizes)
    if smallest > GRAPH_LIMIT:
        size = f"{smallest / 2**30:.2f} GiB in {' or '.join(wanted)}"
        found.problems.append(
            LimitExceeded(
                f"the weights take {size}, a graph of the HTP holds 2 GiB ({text})",
                Where(file=str(order.model)),
                do="use fewer bits (--precision w4a16), or split the model in two",
            )
        )
    elif max(sizes[name] for name in ("source", *wanted)) > GRAPH_LIMIT:
        what = f"the float weights are beyond the 2 GiB that a graph of the HTP holds; by precision: {text}"
        found.hints.append(Finding("warning", "size", what, do="keep to precisions below 2 GiB"))
