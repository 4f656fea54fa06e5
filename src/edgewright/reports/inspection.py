"""What a model contains and what stands in the way of a conversion, as pages."""

from collections.abc import Sequence

from edgewright.core.errors import shown
from edgewright.core.page import Block, Table
from edgewright.core.quantities import format_amount, format_bytes
from edgewright.frontends._common.report import OpCount, Problem
from edgewright.model.inspect import DryRunReport, Inspection
from edgewright.reports.conversion import make_io_table


def make_page(inspection: Inspection, *, has_names: bool = False) -> list[Block]:
    """The report of `edgewright inspect`; with names, where each tensor of the source went."""
    nodes = sum(op.nodes for op in inspection.ops)
    blocks: list[Block] = [
        f"{shown(inspection.file)}: {inspection.format}, {format_bytes(inspection.file_bytes)}",
        f"{nodes} ops, {_describe_weights(inspection)}, {format_amount(inspection.macs)} MACs",
        make_io_table(inspection.contract),
    ]
    if inspection.symbols:
        blocks.append(f"symbolic dimensions: {', '.join(map(shown, inspection.symbols))}")
    if inspection.bound:
        blocks.append(f"inputs whose values shape the graph: {', '.join(map(shown, inspection.bound))}")
    blocks.append(_make_op_table(inspection.ops))
    blocks += _list_obstacles(inspection.problems, inspection.unused_inputs, inspection.unused_outputs)
    blocks += [f"note: {shown(note)}" for note in inspection.notes]
    blocks.append(
        _share(inspection.convertible_nodes, inspection.convertible_macs, is_partial=inspection.is_partial)
    )
    return blocks + (_list_names(inspection, has_names=has_names) if inspection.source_tensors else [])


def _list_names(inspection: Inspection, *, has_names: bool) -> list[Block]:
    gone = sum(not item.tensor for item in inspection.source_tensors)
    line = f"tensors of the source: {len(inspection.source_tensors) - gone} found by name, {gone} removed"
    if not has_names:
        return [f"{line}; --names lists them"]
    rows = tuple((item.name, item.tensor or "-", item.why) for item in inspection.source_tensors)
    return [Table("Tensors of the source", ("name", "here", "why it was removed"), rows), line]


def make_dry_run_page(dry_run: DryRunReport, detail: str) -> list[Block]:
    """The report of --dry_run: a table (info), or every obstacle with its reason and advice (debug)."""
    report = dry_run.report
    problems = (*report.problems, *report.source_ops)
    blocks: list[Block] = [_make_op_table(report.ops)] if detail == "info" else []
    blocks += _list_obstacles(problems, report.unused_inputs, report.unused_outputs, detail)
    blocks += [
        f"input '{shown(name)}' must be a constant: it determines the shape of node '{shown(node)}'"
        for name, node in report.bound.items()
    ]
    if report.shapes_for:
        blocks.append(f"node '{shown(report.shapes_for)}' needs fixed sizes for symbolic dimensions")
    blocks += [f"note: {note}" for note in dry_run.notes]
    is_partial = bool(report.shapes_for or report.bound)
    blocks.append(_share(dry_run.convertible_nodes, dry_run.convertible_macs, is_partial=is_partial))
    blocks.append("the model converts" if dry_run.is_convertible else "the model does not convert as it is")
    return blocks


def _describe_weights(inspection: Inspection) -> str:
    return f"{format_amount(inspection.parameters)} parameters ({format_bytes(inspection.weight_bytes)})"


def _make_op_table(ops: Sequence[OpCount]) -> Table:
    rows = tuple((op.op, op.how, str(op.nodes), format_amount(op.macs) if op.macs else "-") for op in ops)
    return Table("Ops", ("op", "how", "nodes", "MACs"), rows, frozenset({2, 3}))


def _list_obstacles(
    problems: Sequence[Problem], inputs: Sequence[str], outputs: Sequence[str], detail: str = "info"
) -> list[Block]:
    blocks: list[Block] = []
    if problems and detail == "info":
        rows = tuple((item.op, item.node, item.reason) for item in problems)
        blocks.append(Table("Unsupported", ("op", "node", "reason"), rows))
        blocks += dict.fromkeys(f"do: {shown(item.do)}" for item in problems if item.do)
    elif problems:
        for item in problems:
            blocks.append(
                f"unsupported: op '{shown(item.op)}', node '{shown(item.node)}': {shown(item.reason)}"
            )
            blocks += [f"  do: {shown(item.do)}"] if item.do else []
    for kind, names in (("inputs", inputs), ("outputs", outputs)):
        if names:
            blocks.append(f"unused {kind}: {', '.join(shown(name) for name in names)}")
    return blocks


def _share(nodes: float, macs: float, *, is_partial: bool) -> str:
    looked = " that could be checked" if is_partial else ""
    return f"{100 * nodes:.1f} % of the nodes and {100 * macs:.1f} % of the MACs{looked} convert"
