"""Whether inputs and outputs are connected, and how much of the source lies between them."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from edgewright.config.spelling import spell_option
from edgewright.core.errors import Problems, UsageError, Where, shown
from edgewright.frontends._common.imported import NodeNames
from edgewright.frontends._common.source_model import SourceModel
from edgewright.ir.graph import Graph

# Tensor -> the tensors that are computed from it, or that it is computed from.
Links = Mapping[str, Collection[str]]
# Of a kind; how many more there are is said.
MOST_NOTES = 20


def check_connections(model: SourceModel, graph: Graph) -> list[str]:
    """What a user must know of a graph's ends; inputs that were named and feed nothing are errors."""
    nodes = model.nodes()
    before = _link_back(nodes, model.inputs)
    needed = _follow(model.outputs, before)
    loose = [name for name in dict.fromkeys((*model.inputs, *model.named)) if name not in needed]
    problems = [_refuse_input(model, name) for name in loose if name in model.named]
    if problems:
        raise problems[0] if len(problems) == 1 else Problems(problems)
    notes = [f"input '{shown(name)}' feeds nothing: no output depends on it" for name in loose[:MOST_NOTES]]
    if len(loose) > MOST_NOTES:
        notes.append(f"{len(loose) - MOST_NOTES} more inputs feed nothing")
    return [*notes, *_describe_ends(graph, loose), *_describe_share(model, nodes, needed)]


def list_unread_inputs(model: SourceModel) -> list[str]:
    """The inputs that no output depends on."""
    needed = _follow(model.outputs, _link_back(model.nodes(), model.inputs))
    return [name for name in model.inputs if name not in needed]


def _refuse_input(model: SourceModel, name: str) -> UsageError:
    return UsageError(
        f"input '{shown(name)}' was named, but no output depends on it",
        Where(file=model.name, tensor=name),
        do=f"leave it out, or name outputs that depend on it with {spell_option('outputs')}",
    )


def _describe_ends(graph: Graph, loose: Collection[str]) -> list[str]:
    """What only the graph shows: constants that the source computes from shapes."""
    nodes = [(node.inputs, node.outputs) for node in graph.nodes]
    used = _follow(graph.outputs, _link((value, given) for given, made in nodes for value in made))
    fed = _follow(graph.inputs, _link((value, made) for given, made in nodes for value in given))
    left_out = frozenset(loose)
    unused = [name for name in graph.inputs if name not in used and name not in left_out]
    fixed = [name for name in graph.outputs if name not in fed]
    return [
        *(f"the values of input '{shown(name)}' have no effect: only its shape is read" for name in unused),
        *(f"output '{shown(name)}' depends on no input: it is a constant" for name in fixed),
    ]


def _describe_share(model: SourceModel, nodes: Sequence[NodeNames], needed: set[str]) -> list[str]:
    """A note where less than half of what the source computes from its inputs is part of the graph."""
    after = _link(
        (value, node.outputs) for node in nodes for value in (*node.inputs, *node.captured) if value
    )
    live, fed = _follow(model.starts, after), _follow(model.inputs, after)
    # In some formats inputs are nodes, too.
    live -= {*model.starts, *model.inputs}
    computed = [node for node in nodes if not live.isdisjoint(node.outputs)]
    kept = [n for n in computed if not fed.isdisjoint(n.outputs) and not needed.isdisjoint(n.outputs)]
    if 2 * len(kept) >= len(computed):
        return []
    counts = f"{len(kept)} of the {len(computed)} nodes that the source computes from its inputs"
    return [f"only {counts} lie between the inputs and the outputs of the graph: are these the right ones?"]


def _link_back(nodes: Iterable[NodeNames], given: Collection[str]) -> Links:
    """The graph begins at the inputs: what comes before one of them has no part in it."""
    return _link(
        (value, (*node.inputs, *node.captured))
        for node in nodes
        for value in node.outputs
        if value and value not in given
    )


def _link(pairs: Iterable[tuple[str, Iterable[str]]]) -> Links:
    links: dict[str, list[str]] = {}
    for value, others in pairs:
        links.setdefault(value, []).extend(filter(None, others))
    return links


def _follow(starts: Iterable[str], links: Links) -> set[str]:
    reached = set(starts)
    pending = list(reached)
    while pending:
        fresh = [name for name in links.get(pending.pop(), ()) if name not in reached]
        reached.update(fresh)
        pending += fresh
    return reached
