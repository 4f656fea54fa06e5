"""What of a model the HTP cannot hold or run: sizes before it is converted, ops and datatypes after."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from edgewright.analyse.records import Finding
from edgewright.build.estimates import GRAPH_LIMIT, estimate_weight_sizes
from edgewright.build.request import BuildRequest
from edgewright.config.build import AUTO
from edgewright.config.spelling import spell_option
from edgewright.core.errors import EdgewrightError, LimitExceeded, UnsupportedOp, Where
from edgewright.frontends._common.report import ImportReport
from edgewright.ir.graph import Graph
from edgewright.model.saving import SaveOptions, make_records
from edgewright.ops.cost import node_macs
from edgewright.ops.recurrent import Recurrent
from edgewright.passes.htp.unroll_recurrent import advise_fewer_steps
from edgewright.passes.partition.htp_gaps import Gap, find_htp_gaps

# What auto may end with: the narrowest and the widest weights.
NARROWEST_AND_WIDEST = ("w8a8", "fp16")
# How ONNX and ONNX Runtime call ops that quantize while they run.
DYNAMIC = "DynamicQuantize"


@dataclass
class ModelChecks:
    """Problems and hints of a model."""

    problems: list[EdgewrightError] = field(default_factory=list)
    hints: list[Finding] = field(default_factory=list)


def check_htp_support(request: BuildRequest, graph: Graph) -> ModelChecks:
    """Everything of a converted graph that the compiler would refuse, without touching its weights."""
    checks = ModelChecks()
    gaps = find_htp_gaps(graph)
    try:
        make_records(graph, request.name, SaveOptions())
    except EdgewrightError as problem:
        checks.problems.append(problem)
        # The graph could not be prepared: 64-bit integers, which a pass makes narrower, say nothing.
        gaps = [gap for gap in gaps if "int_64" not in gap.reason]
    checks.problems += [_make_op_error(request, graph, gap) for gap in gaps]
    checks.hints += _describe_coverage(graph, gaps)
    return checks


def check_weight_size(request: BuildRequest, graph: Graph) -> ModelChecks:
    """Whether the weights fit into a graph of the HTP, in the precisions that may be chosen."""
    checks = ModelChecks()
    sizes = estimate_weight_sizes(graph)
    precisions = NARROWEST_AND_WIDEST if request.precision == AUTO else (request.precision,)
    smallest = min(sizes[name] for name in precisions)
    text = ", ".join(f"{name} {sizes[name] / 2**30:.2f} GiB" for name in sizes)
    if smallest > GRAPH_LIMIT:
        size = f"{smallest / 2**30:.2f} GiB in {' or '.join(precisions)}"
        checks.problems.append(
            LimitExceeded(
                f"the weights take {size}, a graph of the HTP holds 2 GiB ({text})",
                Where(file=str(request.model)),
                do=f"use fewer bits ({spell_option('precision', 'w4a16')}), or split the model in two",
            )
        )
    elif max(sizes[name] for name in ("source", *precisions)) > GRAPH_LIMIT:
        what = f"the float weights are beyond the 2 GiB that a graph of the HTP holds; by precision: {text}"
        checks.hints.append(Finding("warning", "size", what, do="keep to precisions below 2 GiB"))
    return checks


def list_dynamic_findings(report: ImportReport | None) -> Iterator[Finding]:
    """A model that takes its ranges from each sample anew: no fixed-point graph of the HTP does."""
    ops = () if report is None else report.ops
    count = sum(item.nodes for item in ops if item.op.startswith(DYNAMIC))
    if count:
        what = (
            f"{count} ops of the model quantize by the range of each sample, which the HTP has no op for: "
            "they are written out in half precision, whose roundings differ"
        )
        yield Finding(
            "warning", "dynamic-quantization", what, do="build from the float model it was made from"
        )


def _make_op_error(request: BuildRequest, graph: Graph, gap: Gap) -> EdgewrightError:
    node = graph.node(gap.node)
    do = "replace the op in the source model, or end the model before it"
    return UnsupportedOp(
        gap.reason,
        Where(file=request.model.name, op=gap.op, node=node.source or node.name),
        do=advise_fewer_steps(graph) if isinstance(node.op, Recurrent) else do,
    )


def _describe_coverage(graph: Graph, gaps: list[Gap]) -> Iterator[Finding]:
    if not gaps:
        return
    missing = {gap.node for gap in gaps}
    macs = {node.name: node_macs(graph, node) for node in graph.nodes}
    lost = sum(macs[name] for name in missing)
    share = 100 * (1 - lost / max(sum(macs.values()), 1))
    text = f"{len(graph) - len(missing)} of {len(graph)} ops ({share:.1f} % of the MACs) would run on the HTP"
    yield Finding("note", "unsupported-op", text, do="edgewright inspect MODEL lists all ops")
