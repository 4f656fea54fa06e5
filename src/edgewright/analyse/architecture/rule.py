"""What a rule of the architecture check is: one declaration that finds, explains and may rewrite."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from edgewright.analyse.architecture.costs import Costs
from edgewright.ir.graph import Graph, Node


@dataclass(frozen=True)
class CheckedGraph:
    """A graph under check, and what its nodes cost."""

    graph: Graph
    costs: Costs

    @property
    def is_quantized(self) -> bool:
        """Whether most of it is computed in fixed point."""
        kinds = [kind for node in self.graph.nodes for kind in self.graph.output_types(node)]
        fixed = sum(kind.encoding is not None for kind in kinds)
        return fixed > 0 and 2 * fixed >= sum(kind.dtype.is_float for kind in kinds)


@dataclass(frozen=True)
class Hit:
    """A place that a rule is about; without a node it is the graph as a whole."""

    node: Node | None = None
    # What it costs here, estimated from shapes; empty where only the general effect is known.
    effect: str = ""
    # What is said here in place of the rule's own sentences.
    issue: str = ""
    remedy: str = ""
    # How much of the network it touches, 0 to 1: the larger, the sooner it is worth a look.
    weight: float = 0.0


@dataclass
class Rewritten:
    """What a modifier did, by the names of the nodes that it was asked to change."""

    changes: dict[str, str] = field(default_factory=dict)
    # Nodes that must stay, and why.
    refusals: dict[str, str] = field(default_factory=dict)


# Rewrites the nodes of a graph in place.
Modifier = Callable[[Graph, "list[Node]"], Rewritten]


@dataclass(frozen=True)
class Rule:
    """One rule: everything that is known about it."""

    name: str
    # What stands in the columns Issue and Recommendation.
    issue: str
    remedy: str
    # Why it is so on the HTP.
    reason: str
    # What it costs, and where that is known from.
    effect: str
    find: Callable[[CheckedGraph], Iterator[Hit]]
    modify: Modifier | None = None
    # What the modifier does, and how far results may move.
    modification: str = ""
    tolerance: str = ""
    # error: the HTP refuses it; warning: it costs; note: worth knowing.
    grade: str = "warning"


@dataclass(frozen=True)
class Issue:
    """A rule that a node, or the graph, breaks."""

    rule: str
    grade: str
    # The node's name in QNN; empty for the graph.
    node: str
    op: str
    issue: str
    remedy: str
    effect: str
    weight: float
    # Its tensors with their sizes, its parameters and its neighbours, so that it can be found in the source.
    inputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    # What a modifier did or could do, and how; empty where there is none.
    modification: str = ""
    modification_info: str = ""
