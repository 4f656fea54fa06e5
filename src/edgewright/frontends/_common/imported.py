"""What an import starts from and what comes of it, whatever the source format."""

from dataclasses import dataclass, field

from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from edgewright.ir.graph import Graph, Node
from edgewright.ir.types import TensorType


@dataclass(frozen=True)
class BoundInput:
    """A graph input: its type, or the value it is bound to."""

    tensor_type: TensorType
    value: Array | None = None


@dataclass(frozen=True)
class NodeNames:
    """A node of the source: its op, what errors call it, and the values it reads ("" left out) and makes."""

    op: str
    label: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    # Values that only its subgraphs read.
    captured: tuple[str, ...] = ()
    # Where the op is defined; "" for the format's own.
    domain: str = ""

    @property
    def full_op(self) -> str:
        """The op with its domain."""
        return f"{self.domain}.{self.op}" if self.domain else self.op


@dataclass(frozen=True)
class Step:
    """What became of one node of the main graph: the IR nodes from ``first`` to ``last``, or a problem."""

    node: NodeNames
    first: int
    last: int
    problem: EdgewrightError | None = None
    is_skipped: bool = False


@dataclass(frozen=True)
class State:
    """A value that one run leaves for the next: an output that becomes an input, and what it starts with."""

    input: str
    output: str
    # As it is stored: integers where its type is in fixed point.
    first: Array
    tensor_type: TensorType


@dataclass
class Imported:
    """What came of an import: a graph, or the reasons why there is none."""

    graph: Graph
    problems: list[EdgewrightError] = field(default_factory=list)
    # Graph inputs whose values must be known before a graph can be built, and the node that needs them.
    bound: dict[str, str] = field(default_factory=dict)
    # A node that needs the shapes of the inputs as numbers, "" where none does.
    shapes_for: str = ""
    states: list[State] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    emitted: list[Node] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether the graph is there: nothing failed, and no value or shape is waited for."""
        return not (self.problems or self.bound or self.shapes_for)
