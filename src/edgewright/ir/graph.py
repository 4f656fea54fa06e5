"""The graph: named values, nodes that compute them, constants that stay in place until needed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from edgewright.core.errors import BadInput, Where
from edgewright.core.numbers import Array
from edgewright.ir.op import Op
from edgewright.ir.sources import SourceFlow
from edgewright.ir.types import TensorType, type_of


@dataclass(eq=False)
class Node:
    """One use of an op. Inputs and outputs are names of values; "" is an optional input left out."""

    name: str
    op: Op
    inputs: list[str]
    outputs: list[str]
    source: str = ""
    subgraphs: tuple["Graph", ...] = ()
    # Facts that later algorithms need and no artifact stores (a folded batch norm's gamma and beta ...).
    notes: dict[str, Array] = field(default_factory=dict)


class Graph:
    """Nodes in an order that can run, and the types of all values.

    Change it through its methods only: they keep the producer and consumer indexes.
    """

    def __init__(self, name: str = "main") -> None:
        self.name = name
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.types: dict[str, TensorType] = {}
        self.constants: dict[str, Array] = {}
        # Source names of values that were renamed (kept for reports and name maps).
        self.source_names: dict[str, str] = {}
        # All tensors of the source model, if it was available.
        self.sources = SourceFlow()
        self._nodes: dict[str, Node] = {}
        self._producers: dict[str, Node] = {}
        self._consumers: dict[str, dict[Node, None]] = {}
        self._fresh = 0
        self._reserved: set[str] = set()

    @property
    def nodes(self) -> list[Node]:
        """A snapshot of the nodes in order: the graph may change while it is walked."""
        return list(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node: Node) -> bool:
        return self._nodes.get(node.name) is node

    def node(self, name: str) -> Node:
        """The node named ``name``."""
        return self._nodes[name]

    def producer(self, value: str) -> Node | None:
        """The node that computes a value; None for inputs and constants."""
        return self._producers.get(value)

    def consumers(self, value: str) -> list[Node]:
        """The nodes that read a value, each once."""
        return list(self._consumers.get(value, ()))

    def is_used_once(self, value: str) -> bool:
        """Whether exactly one node reads a value and it is not a graph output."""
        return len(self._consumers.get(value, ())) == 1 and value not in self.outputs

    def add_input(self, name: str, tensor_type: TensorType) -> str:
        """Declares a graph input."""
        self._claim(name)
        self.inputs.append(name)
        self.types[name] = tensor_type
        return name

    def add_constant(
        self, name: str, array: Array, tensor_type: TensorType | None = None, *, of: str = ""
    ) -> str:
        """Declares a constant; the array is not copied (it may be a view of a mapped file).

        ``of`` is the constant that it was made from: both have the same name in the source model.
        """
        self._claim(name)
        if of:
            self.source_names.setdefault(name, self.source_names.get(of, of))
        self.constants[name] = array
        self.types[name] = tensor_type or type_of(array)
        return name

    def add(self, node: Node, types: Iterable[TensorType] | None = None) -> Node:
        """Appends a node; the types of its outputs are inferred where not given."""
        if node.name in self._nodes:
            node.name = self.fresh_name(node.name)
        given = tuple(types) if types is not None else node.op.types_for(self.input_types(node))
        for value, tensor_type in zip(node.outputs, given, strict=False):
            if value:
                self._claim(value)
                self.types[value] = tensor_type
                self._producers[value] = node
        self._nodes[node.name] = node
        for value in node.inputs:
            self._consumers.setdefault(value, {})[node] = None
        return node

    def remove(self, node: Node) -> None:
        """Removes a node; its outputs are undefined afterwards."""
        del self._nodes[node.name]
        for value in node.outputs:
            self._producers.pop(value, None)
            self.types.pop(value, None)
        for value in node.inputs:
            self._consumers.get(value, {}).pop(node, None)

    def rename_value(self, old: str, new: str) -> None:
        """Renames a computed value or a constant everywhere."""
        self._claim(new)
        if old in self.constants:
            self.constants[new] = self.constants.pop(old)
        else:
            node = self._producers.pop(old)
            node.outputs = [new if value == old else value for value in node.outputs]
            self._producers[new] = node
        self.types[new] = self.types.pop(old)
        self.replace_uses(old, new)

    def set_input(self, node: Node, index: int, value: str) -> None:
        """Makes one input of a node read another value."""
        old = node.inputs[index]
        node.inputs[index] = value
        if old not in node.inputs:
            self._consumers.get(old, {}).pop(node, None)
        self._consumers.setdefault(value, {})[node] = None

    def replace_uses(self, old: str, new: str) -> None:
        """Makes every reader of ``old``, including graph outputs, read ``new``."""
        for node in self.consumers(old):
            for index, value in enumerate(node.inputs):
                if value == old:
                    self.set_input(node, index, new)
        self.outputs = [new if value == old else value for value in self.outputs]

    def replace_op(self, node: Node, op: Op) -> None:
        """Gives a node another op with the same inputs; the types of its outputs are inferred again."""
        node.op = op
        for value, tensor_type in zip(node.outputs, op.types_for(self.input_types(node)), strict=False):
            self.types[value] = tensor_type

    def drop_constant(self, name: str) -> None:
        """Removes a constant that nothing reads."""
        del self.constants[name]
        del self.types[name]

    def input_types(self, node: Node) -> list[TensorType | None]:
        """Types of a node's inputs; None where one is left out."""
        return [self.types[value] if value else None for value in node.inputs]

    def output_types(self, node: Node) -> list[TensorType]:
        """Types of a node's outputs."""
        return [self.types[value] for value in node.outputs if value]

    def free_name(self, wanted: str) -> str:
        """The wanted name for a node if it is free, else one close to it."""
        return wanted if wanted not in self._nodes else self.fresh_name(wanted)

    def fresh_name(self, hint: str) -> str:
        """A name that neither a value nor a node has."""
        while True:
            self._fresh += 1
            name = f"{hint}_{self._fresh}"
            if name not in self.types and name not in self._nodes and name not in self._reserved:
                return name

    def reserve(self, names: Iterable[str]) -> None:
        """Keeps ``fresh_name`` from returning names that will be defined later."""
        self._reserved.update(names)

    def copy(self) -> "Graph":
        """An independent graph that shares only ops and arrays."""
        twin = Graph(self.name)
        twin.inputs, twin.outputs = list(self.inputs), list(self.outputs)
        twin.types, twin.constants = dict(self.types), dict(self.constants)
        twin.source_names, twin._fresh, twin._reserved = (
            dict(self.source_names),
            self._fresh,
            set(self._reserved),
        )
        twin.sources = self.sources
        for node in self._nodes.values():
            subgraphs = tuple(graph.copy() for graph in node.subgraphs)
            clone = replace(node, inputs=list(node.inputs), outputs=list(node.outputs), subgraphs=subgraphs)
            twin._nodes[clone.name] = clone
            twin._producers.update({value: clone for value in clone.outputs if value})
            for value in clone.inputs:
                twin._consumers.setdefault(value, {})[clone] = None
        return twin

    def sort(self) -> None:
        """Sorts the nodes into an order that can run, close to the current one."""
        order: dict[str, Node] = {}
        for node in self._nodes.values():
            self._place(node, order)
        self._nodes = order

    def _place(self, node: Node, order: dict[str, Node]) -> None:
        # An explicit stack: chains of 100,000 nodes exceed Python's recursion limit.
        stack: list[tuple[Node, Iterator[str]]] = [(node, iter(node.inputs))]
        open_nodes = {node.name}
        while stack:
            current, inputs = stack[-1]
            if current.name in order:
                stack.pop()
                continue
            for value in inputs:
                before = self._producers.get(value)
                if before is None or before.name in order:
                    continue
                if before.name in open_nodes:
                    raise BadInput(
                        "the graph has a cycle", Where(node=before.name), do="remove the cycle from the model"
                    )
                open_nodes.add(before.name)
                stack.append((before, iter(before.inputs)))
                break
            else:
                order[current.name] = current
                open_nodes.discard(current.name)
                stack.pop()

    def _claim(self, value: str) -> None:
        if value in self.types:
            raise BadInput(
                f"value '{value}' is defined twice",
                Where(tensor=value),
                do="give the second one another name",
            )


@dataclass(frozen=True)
class Program:
    """Graphs that belong together, as a DLC or a context binary holds them."""

    graphs: tuple[Graph, ...]

    def graph(self, name: str | None = None) -> Graph:
        """The graph with this name; without a name, the only graph."""
        found = [graph for graph in self.graphs if name is None or graph.name == name]
        if len(found) != 1:
            names = ", ".join(f"'{graph.name}'" for graph in self.graphs[:10])
            wanted = "one graph" if name is None else f"a graph '{name}'"
            raise BadInput(
                f"there are {len(self.graphs)} graphs ({names}), expected {wanted}", do="name one of them"
            )
        return found[0]
