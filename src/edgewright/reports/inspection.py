"""What a model holds and what stands in the way of a conversion, as pages."""

from collections.abc import Sequence

from edgewright.core.errors import shown
from edgewright.frontends._common.report import OpCount, Problem
from edgewright.model.inspect import DryRunReport, Inspection
from edgewright.reports.conversion import contract_table
from edgewright.reports.numbers import amount, byte_size
from edgewright.reports.page import Block, Table

__all__ = ["dry_run_page", "page"]


def page(found: Inspection, *, has_names: bool = False) -> list[Block]:
    """The report of `edgewright inspect`; with names, where each tensor of the source went."""
    nodes = sum(op.nodes for op in found.ops)
    blocks: list[Block] = [
        f"{shown(found.file)}: {found.format}, {byte_size(found.file_bytes)}",
        f"{nodes} ops, {_weights(found)}, {amount(found.macs)} MACs",
        contract_table(found.contract),
    ]
    if found.symbols:
        blocks.append(f"symbolic dimensions: {', '.join(map(shown, found.symbols))}")
    if found.bound:
        blocks.append(f"inputs whose values shape the graph: {', '.join(map(shown, found.bound))}")
    blocks.append(_ops(found.ops))
    blocks += _obstacles(found.problems, found.unused_inputs, found.unused_outputs)
    blocks += [f"note: {shown(note)}" for note in found.notes]
    blocks.append(_share(found.convertible_nodes, found.convertible_macs, is_partial=found.is_partial))
    return blocks + (_names(found, has_names=has_names) if found.source_tensors else [])


def _names(found: Inspection, *, has_names: bool) -> list[Block]:
    gone = sum(not item.tensor for item in found.source_tensors)
    line = f"tensors of the source: {len(found.source_tensors) - gone} found by name, {gone} gone"
    if not has_names:
        return [f"{line}; --names lists them"]
    rows = tuple((item.name, item.tensor or "-", item.why) for item in found.source_tensors)
    return [Table("Tensors of the source", ("name", "here", "why it is gone"), rows), line]


def dry_run_page(found: DryRunReport, detail: str) -> list[Block]:
    """The report of --dry_run: a table (info), or every obstacle with its reason and advice (debug)."""
    report = found.report
    problems = (*report.problems, *report.source_ops)
    blocks: list[Block] = [_ops(report.ops)] if detail == "info" else []
    blocks += _obstacles(problems, report.unused_inputs, report.unused_outputs, detail)
    blocks += [
        f"input '{shown(name)}' must be a constant: it shapes node '{shown(node)}'"
        for name, node in report.bound.items()
    ]
    if report.shapes_for:
        blocks.append(f"node '{shown(report.shapes_for)}' needs symbolic dimensions as numbers")
    blocks += [f"note: {note}" for note in found.notes]
    is_partial = bool(report.shapes_for or report.bound)
    blocks.append(_share(found.convertible_nodes, found.convertible_macs, is_partial=is_partial))
    blocks.append("the model converts" if found.is_convertible else "the model does not convert as it is")
    return blocks


def _weights(found: Inspection) -> str:
    return f"{amount(found.parameters)} parameters ({byte_size(found.weight_bytes)})"


def _ops(ops: Sequence[OpCount]) -> Table:
    rows = tuple((op.op, op.how, str(op.nodes), amount(op.macs) if op.macs else "-") for op in ops)
    return Table("Ops", ("op", "how", "nodes", "MACs"), rows, frozenset({2, 3}))


def _obstacles(
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
    looked = " that could be looked at" if is_partial else ""
    return f"{100 * nodes:.1f} % of the nodes and {100 * macs:.1f} % of the MACs{looked} convert"
