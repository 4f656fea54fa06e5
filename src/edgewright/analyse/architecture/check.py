"""Holds a graph to all rules, and applies those that can be applied."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from edgewright.analyse.architecture import convolutions, elementwise, memory, moves, precision
from edgewright.analyse.architecture.costs import Costs
from edgewright.analyse.architecture.rule import CheckedGraph, Hit, Issue, Rewritten, Rule
from edgewright.core.errors import UsageError, shown
from edgewright.core.words import did_you_mean
from edgewright.ir.graph import Graph, Node
from edgewright.ir.verify import verify

RULES = {
    rule.name: rule
    for family in (precision, convolutions, elementwise, moves, memory)
    for rule in family.RULES
}


@dataclass(frozen=True)
class ModifiedGraph:
    """A graph after its modifications, and the issues of the graph as it was, with what became of them."""

    graph: Graph
    issues: tuple[Issue, ...]
    applied: int


def check_architecture(graph: Graph) -> tuple[Issue, ...]:
    """All issues: those of the whole graph first, then by the order of the nodes."""
    model = CheckedGraph(graph, Costs(graph))
    pairs = [(rule, hit) for rule in RULES.values() for hit in rule.find(model)]
    order = {node.name: place for place, node in enumerate(graph.nodes)}
    pairs.sort(key=lambda pair: -1 if pair[1].node is None else order[pair[1].node.name])
    return tuple(_describe_issue(model, rule, hit) for rule, hit in pairs)


def list_modifiable(names: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of these names that can be applied; a name that is none of them is an error."""
    names = list(names)
    known = {name: rule for name, rule in RULES.items() if rule.modify is not None}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"rule '{shown(unknown[0])}' has no modification, expected some of: {', '.join(known)}",
            do=did_you_mean(unknown[0], known, "--modify show lists what can be applied"),
        )
    return tuple(known[name] for name in dict.fromkeys(names))


def modify_graph(graph: Graph, rules: Sequence[Rule]) -> ModifiedGraph:
    """A copy with the modifications of the rules, one rule after another."""
    copy = graph.copy()
    issues = list(check_architecture(graph))
    applied = 0
    for rule in rules:
        assert rule.modify is not None
        nodes = [hit.node for hit in rule.find(CheckedGraph(copy, Costs(copy))) if hit.node is not None]
        rewritten = rule.modify(copy, nodes) if nodes else Rewritten()
        applied += len(rewritten.changes)
        issues = [_note_modification(issue, rule, rewritten) for issue in issues]
    if applied:
        verify(copy)
    return ModifiedGraph(copy, tuple(issues), applied)


def _note_modification(issue: Issue, rule: Rule, rewritten: Rewritten) -> Issue:
    if issue.rule != rule.name:
        return issue
    if issue.node in rewritten.changes:
        return replace(issue, modification="Applied", modification_info=rewritten.changes[issue.node])
    why = rewritten.refusals.get(issue.node, "another modification took it away")
    return replace(issue, modification="Not applied", modification_info=why)


def _describe_issue(model: CheckedGraph, rule: Rule, hit: Hit) -> Issue:
    general = (hit.issue or rule.issue, hit.remedy or rule.remedy, hit.effect or rule.effect, hit.weight)
    if hit.node is None:
        return Issue(rule.name, rule.grade, "", "", *general)
    node, graph = hit.node, model.graph
    return Issue(
        *(rule.name, rule.grade, node.name, node.op.display_name(), *general),
        inputs=_list_sizes(graph, node.inputs),
        outputs=_list_sizes(graph, node.outputs),
        params={param.name: str(param.value) for param in node.op.params()},
        before=tuple(_list_names(graph.producer(value) for value in node.inputs)),
        behind=tuple(_list_names(r for value in node.outputs for r in graph.consumers(value))),
    )


def _list_sizes(graph: Graph, values: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {value: tuple(map(str, graph.types[value].shape)) for value in values if value}


def _list_names(nodes: Iterable[Node | None]) -> Iterator[str]:
    yield from dict.fromkeys(node.name for node in nodes if node is not None)
